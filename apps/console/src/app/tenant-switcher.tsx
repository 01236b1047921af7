import { listTenants } from '@quartermaster/client';
import { Select } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useMe } from '../data/me.ts';
import { holdsWithin } from '../data/rights.ts';
import { readAll } from '../data/pages.ts';
import { useSetUrlState, useUrlParameter } from '../data/url-state.ts';

const EVERYWHERE = 'everywhere';
const MAX_TENANTS = 1000;

/** The tenant of the address, if the caller certainly cannot see it. An administrator of the platform sees deleted ones, too. */
export function useTenantOutOfReach(): string | null {
  const { platformAdministrator, places } = useMe();
  const tenant = useUrlParameter('tenant');
  const isOutOfReach = !platformAdministrator && places.every(({ tenantId }) => tenantId !== tenant);
  return tenant !== undefined && isOutOfReach ? tenant : null;
}

/** The tenants in reach, for the switcher and for forms. */
export function useTenants() {
  return useKnownTenants().tenants;
}

/** `areAll`: there are no other tenants in reach, apart from deleted ones. */
function useKnownTenants() {
  const me = useMe();
  const { data } = useQuery({
    queryKey: ['tenants-for-names'],
    queryFn: ({ signal }) =>
      readAll(async (cursor) => {
        const query = { limit: 100, ...(cursor !== undefined && { cursor }) };
        return (await listTenants({ query, signal, throwOnError: true })).data;
      }, MAX_TENANTS),
    staleTime: 60_000,
    enabled: holdsWithin(me, 'tenants:read'),
  });
  if (data !== undefined) {
    return { tenants: data.items.map(({ id, displayName }) => ({ id, displayName })), areAll: data.isComplete };
  }
  // Without the scope to list tenants, one knows at least where one may do something.
  const known = new Map(me.places.map((place) => [place.tenantId, place.tenantDisplayName]));
  return { tenants: [...known].map(([id, displayName]) => ({ id, displayName })), areAll: false };
}

/** Limits every screen to one tenant. The choice is in the address. */
export function TenantSwitcher(): ReactNode {
  const tenant = useUrlParameter('tenant');
  const setState = useSetUrlState();
  const { tenants, areAll } = useKnownTenants();
  const choices = tenants.map(({ id, displayName }) => ({ value: id, label: displayName ?? id }));
  const isListed = tenant === undefined || choices.some(({ value }) => value === tenant);
  return (
    <Select
      aria-label="Tenant"
      // Otherwise the screens of a mistyped tenant look as if it had no problems.
      error={!isListed && areAll ? 'There is no such tenant, or it was deleted' : undefined}
      data={[
        { value: EVERYWHERE, label: 'All tenants' },
        ...(isListed ? [] : [{ value: tenant, label: tenant }]),
        ...choices,
      ]}
      value={tenant ?? EVERYWHERE}
      onChange={(value) =>
        setState({ tenant: value === EVERYWHERE ? undefined : (value ?? undefined) }, { push: true })
      }
      allowDeselect={false}
      searchable={choices.length > 6}
      limit={100}
      nothingFoundMessage="No such tenant"
    />
  );
}
