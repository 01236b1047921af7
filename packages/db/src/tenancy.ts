/** A place where records stand: a tenant, or one of its sub-tenants (null: the tenant as a whole). */
export type TenantPlace = { tenantId: string; subTenantId: string | null };

/**
 * What a query may see: the union of its places. Every repository function that touches tenant data takes one, so that
 * a query without a tenant condition does not type-check. A null tenant stands for all tenants, a null sub-tenant for
 * the tenant and all its sub-tenants; the empty list covers nothing.
 */
export type TenantScope = readonly { tenantId: string | null; subTenantId: string | null }[];

/** What platform administrators see, and what the service itself sees where no caller asks. */
export const EVERYWHERE: TenantScope = [{ tenantId: null, subTenantId: null }];

/**
 * A record's place as the scope of a query. Mind that a record of a tenant as a whole so covers all sub-tenants of it:
 * in a place null means "of no sub-tenant", in a scope "of any".
 */
export function scopeOf(place: TenantPlace): TenantScope {
  return [{ tenantId: place.tenantId, subTenantId: place.subTenantId }];
}

/** Whether all of `place` is within `scope`. */
export function covers(scope: TenantScope, place: TenantPlace): boolean {
  return scope.some(
    (held) =>
      (held.tenantId === null || held.tenantId === place.tenantId) &&
      (held.subTenantId === null || held.subTenantId === place.subTenantId),
  );
}

/** The part of `scope` that lies in the named tenant, sub-tenant, or both; null names none. May be nothing. */
export function narrowed(
  scope: TenantScope,
  named: { tenantId: string | null; subTenantId: string | null },
): TenantScope {
  return scope
    .filter((held) => agree(held.tenantId, named.tenantId) && agree(held.subTenantId, named.subTenantId))
    .map((held) => ({
      tenantId: held.tenantId ?? named.tenantId,
      subTenantId: held.subTenantId ?? named.subTenantId,
    }));
}

function agree(a: string | null, b: string | null): boolean {
  return a === null || b === null || a === b;
}

/**
 * Whether a record at `place` (a manifest, a gateway) may mean a provider by its name: one of its own place, or of its whole
 * tenant. Who may rename a provider is decided where the provider stands, so the whole tenant means the providers of its
 * sub-tenants by their ids alone.
 */
export function mayNameProvider(
  place: Pick<TenantPlace, 'subTenantId'>,
  provider: Pick<TenantPlace, 'subTenantId'>,
): boolean {
  return provider.subTenantId === null || provider.subTenantId === place.subTenantId;
}
