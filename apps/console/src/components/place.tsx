import type { ReactNode } from 'react';

type Props = { tenantId: string | null; subTenantId?: string | null };

/** The tenant and sub-tenant that a record belongs to. */
export function placeOf({ tenantId, subTenantId }: Props): ReactNode {
  if (tenantId === null) return <span className="dim">platform</span>;
  return <span className="dim">{[tenantId, subTenantId].filter((part) => part != null).join(' / ')}</span>;
}
