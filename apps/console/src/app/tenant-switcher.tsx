import { listTenants } from '@quartermaster/client';
import { Select } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { holdsWithin, useMe } from '../data/me.ts';
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
  if (data !== undefined) return data.items.map(({ id, displayName }) => ({ id, displayName }));
  // Without the scope to list tenants, one knows at least where one may do something.
  const known = new Map(me.places.map((place) => [place.tenantId, place.tenantDisplayName]));
  return [...known].map(([id, displayName]) => ({ id, displayName }));
}

/** Limits every screen to one tenant. The choice is in the address. */
export function TenantSwitcher(): ReactNode {
  const tenant = useUrlParameter('tenant');
  const setState = useSetUrlState();
  const tenants = useTenants();
  const choices = tenants.map(({ id, displayName }) => ({ value: id, label: displayName ?? id }));
  const isListed = tenant === undefined || choices.some(({ value }) => value === tenant);
  return (
    <Select
      aria-label="Tenant"
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
