import { getMe, type Me, type Scope } from '@quartermaster/client';
import { getMeQueryKey } from '@quartermaster/client/@tanstack/react-query.gen.ts';
import { queryOptions } from '@tanstack/react-query';
import { createContext, use } from 'react';
import { showUser } from './client.ts';
import { holds, type Place } from './rights.ts';
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
