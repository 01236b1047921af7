import { getMe, type Me, type Scope } from '@quartermaster/client';
import { getMeQueryKey } from '@quartermaster/client/@tanstack/react-query.gen.ts';
import { queryOptions } from '@tanstack/react-query';
import { createContext, use } from 'react';
import { showUser } from './client.ts';
import { requireSession } from './session.ts';

const STALE_MS = 60_000;

/** A function, because the generated key remembers the address that the client has at the time. */
export const meQuery = () =>
  queryOptions({
    queryKey: getMeQueryKey(),
    queryFn: async ({ client, queryKey, signal }) => {
      const former = client.getQueryData<Me>(queryKey);
      if (former === undefined) await requireSession(signal);
      const { data } = await getMe({ signal, throwOnError: true });
      // What this page has read, and what was typed here, belongs to the former user.
      if (former !== undefined && former.id !== data.id) return reloadPage();
      showUser(data.id);
      return data;
    },
    staleTime: STALE_MS,
    // Another user may have signed in in another tab.
    refetchOnWindowFocus: 'always',
    retry: false,
  });

/** Never returns, so that nothing is shown until the page loads again. */
function reloadPage(): Promise<never> {
  window.location.reload();
  return new Promise(() => {});
}

/** The shell sets it. Dozens of components of a screen need it, so that a query of its own in each would be slow. */
export const MeContext = createContext<Me | null>(null);

/** Who is signed in. The shell asks before it shows any screen, so that it is always known here. */
export function useMe(): Me {
  const me = use(MeContext);
  if (me === null) throw new Error('the page was shown before the caller was known');
  return me;
}

/** The memberships that the caller has not accepted yet. Until then they give no right. */
export function invitationsOf({ memberships }: Me): Me['memberships'] {
  return memberships.filter(({ status }) => status === 'pending');
}

/** Where a record belongs to. */
export type Place = { tenantId: string | null; subTenantId?: string | null };

/**
 * Whether the caller holds a scope: at a place, or anywhere if none is given. The server decides in any case; this only
 * tells which buttons would be refused.
 */
export function holds(me: Me, scope: Scope, place?: Place): boolean {
  const has = (scopes: readonly Scope[]) => scopes.includes(scope) || scopes.includes('*');
  if (me.platformAdministrator && has(me.platformScopes)) return true;
  return me.places.some((held) => {
    if (!has(held.scopes)) return false;
    if (place === undefined || place.tenantId === null) return true;
    if (held.tenantId !== place.tenantId) return false;
    return held.subTenantId === null || held.subTenantId === (place.subTenantId ?? null);
  });
}

/** Whether the caller holds a scope anywhere in a tenant, or in any tenant if none is given: enough to read a list. */
export function holdsWithin(me: Me, scope: Scope, tenantId?: string): boolean {
  if (tenantId === undefined || (me.platformAdministrator && holds(me, scope))) return holds(me, scope);
  return me.places.some(
    (held) => held.tenantId === tenantId && (held.scopes.includes(scope) || held.scopes.includes('*')),
  );
}

/** Where the caller may create records, if that is only one place. */
export function useOnlyPlace(): { tenantId: string; subTenantId: string } | null {
  const { places, platformAdministrator } = useMe();
  const [only, second] = places;
  if (only === undefined || second !== undefined || platformAdministrator) return null;
  return { tenantId: only.tenantId, subTenantId: only.subTenantId ?? '' };
}

/** The reason why a button is disabled, or null if the caller may press it. */
export function useMissingScope(scope: Scope | null, place?: Place): string | null {
  const me = useMe();
  if (scope === null || holds(me, scope, place)) return null;
  const where = place?.tenantId ? ` in ${place.tenantId}` : '';
  return `You need the scope ${scope}${where}.`;
}
