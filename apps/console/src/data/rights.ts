import type { Me, Scope } from '@quartermaster/client';

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
