/** The place of a record: a tenant, or one of its sub-tenants. A null sub-tenant means the tenant as a whole. */
export type TenantPlace = { tenantId: string; subTenantId: string | null };

/**
 * The records that a query may see: the union of these places. Every repository function that touches tenant data takes a
 * scope, so that a query without a tenant condition does not type-check. A null tenant means all tenants. A null sub-tenant
 * means the tenant and all its sub-tenants. The empty list covers nothing.
 */
export type TenantScope = readonly { tenantId: string | null; subTenantId: string | null }[];

/** All tenants: the scope of platform administrators, and of the service's own jobs. */
export const EVERYWHERE: TenantScope = [{ tenantId: null, subTenantId: null }];

/**
 * The scope of one place. The scope of a tenant as a whole covers all of its sub-tenants, because null means "no sub-tenant"
 * in a place, but "any" in a scope.
 */
export function scopeOf(place: TenantPlace): TenantScope {
  return [{ tenantId: place.tenantId, subTenantId: place.subTenantId }];
}

/** The scope of a tenant with all of its sub-tenants. */
export function wholeTenant(tenantId: string): TenantScope {
  return [{ tenantId, subTenantId: null }];
}

/** Whether a scope covers a whole place. */
export function covers(scope: TenantScope, place: TenantPlace): boolean {
  return scope.some(
    (held) =>
      (held.tenantId === null || held.tenantId === place.tenantId) &&
      (held.subTenantId === null || held.subTenantId === place.subTenantId),
  );
}

/** The part of a scope in the given tenant, sub-tenant, or both. Null does not restrict. The result may be empty. */
export function narrowScope(
  scope: TenantScope,
  named: { tenantId: string | null; subTenantId: string | null },
): TenantScope {
  return scope
    .filter((held) => isCompatible(held.tenantId, named.tenantId) && isCompatible(held.subTenantId, named.subTenantId))
    .map((held) => ({
      tenantId: held.tenantId ?? named.tenantId,
      subTenantId: held.subTenantId ?? named.subTenantId,
    }));
}

function isCompatible(a: string | null, b: string | null): boolean {
  return a === null || b === null || a === b;
}

/**
 * Whether a record at `place`, such as a manifest or a gateway, may refer to a provider by name. It may for providers of its own
 * place and of the whole tenant. Sub-tenants can rename their own providers, so a record of the whole tenant refers to those by
 * id only.
 */
export function mayNameProvider(
  place: Pick<TenantPlace, 'subTenantId'>,
  provider: Pick<TenantPlace, 'subTenantId'>,
): boolean {
  return provider.subTenantId === null || provider.subTenantId === place.subTenantId;
}
