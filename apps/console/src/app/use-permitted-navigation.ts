import { useMe } from '../data/me.ts';
import { holdsWithin } from '../data/rights.ts';
import { useUrlParameter } from '../data/url-state.ts';
import { NAVIGATION } from './navigation.ts';
import { useTenantOutOfReach } from './tenant-switcher.tsx';

/** The navigation with only the screens that the caller may open in the chosen tenant. A tenant out of reach hides none of them. */
export function usePermittedNavigation(): typeof NAVIGATION {
  const me = useMe();
  const chosen = useUrlParameter('tenant');
  const tenant = useTenantOutOfReach() === null ? chosen : undefined;
  return NAVIGATION.map(({ title, entries }) => ({
    title,
    entries: entries.filter(({ scope }) => holdsWithin(me, scope, tenant)),
  })).filter(({ entries }) => entries.length > 0);
}
