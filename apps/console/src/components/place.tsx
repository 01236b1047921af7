import type { ReactNode } from 'react';

type Place = { tenantId: string | null; subTenantId?: string | null };

/** The tenant and sub-tenant that a record belongs to. */
export function placeOf(place: Place): ReactNode {
  return <span className="dim">{placeName(place)}</span>;
}

export function placeName({ tenantId, subTenantId }: Place): string {
  if (tenantId === null) return 'platform';
  return [tenantId, subTenantId].filter((part) => part != null).join(' / ');
}
