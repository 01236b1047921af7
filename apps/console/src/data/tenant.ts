import { useMemo } from 'react';
import { useUrlParameter } from './url-state.ts';

/** The tenant that the whole console is limited to; none: everything in the caller's reach. `tenant_id` of every list. */
export function useTenantFilter(): { tenant_id?: string } {
  const tenant = useUrlParameter('tenant');
  return useMemo(() => (tenant === undefined ? {} : { tenant_id: tenant }), [tenant]);
}
