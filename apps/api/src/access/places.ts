import type { Database } from '@quartermaster/db/database.ts';
import { placeExists } from '@quartermaster/db/repositories/tenants.ts';
import { covers, narrowed, type TenantPlace, type TenantScope } from '@quartermaster/db/tenancy.ts';
import { ApiError, missingValue, ValidationFailure } from '../errors.ts';
import type { CallerContext } from '../trpc.ts';

type Named = string | null | undefined;

/** Where a query may say which tenant and sub-tenant it means. */
export type TenancyQuery = { tenant_id?: Named; sub_tenant_id?: Named };

/** What a read covers: the caller's reach, narrowed to the tenant and sub-tenant that the query names. */
export function scopeOfQuery(ctx: CallerContext, query: TenancyQuery): TenantScope {
  return narrowed(ctx.reach, { tenantId: query.tenant_id || null, subTenantId: query.sub_tenant_id || null });
}

/** The same for a search, which names them in its body. */
export function scopeOfSearch(ctx: CallerContext, body: { tenantId?: Named; subTenantId?: Named }): TenantScope {
  return narrowed(ctx.reach, { tenantId: body.tenantId || null, subTenantId: body.subTenantId || null });
}

/**
 * Where a new record shall stand: the place that the body names, else the caller's own. The tenant and sub-tenant must
 * exist: only the creation of a service account makes them.
 *
 * @throws 422 where the caller has several places and names none, or names one that does not exist; 403 out of reach
 */
export async function existingPlace(
  ctx: CallerContext,
  db: Database,
  body: { tenantId?: Named; subTenantId?: Named },
): Promise<TenantPlace> {
  const place = placeOfBody(ctx, body);
  const missing = await placeExists(db, place);
  if (missing === 'tenant') {
    throw missingValue('tenant_not_found', ['body', 'tenantId'], 'tenant does not exist', place.tenantId);
  }
  if (missing === 'sub_tenant') {
    throw missingValue('tenant_not_found', ['body', 'subTenantId'], 'sub-tenant does not exist', place.subTenantId);
  }
  return place;
}

/** The same, for a write that makes what does not exist. */
export function placeOfBody(ctx: CallerContext, body: { tenantId?: Named; subTenantId?: Named }): TenantPlace {
  const tenantId = body.tenantId ?? onlyTenant(ctx, body);
  const subTenantId = body.subTenantId ?? onlySubTenant(ctx, tenantId, body);
  const place = { tenantId, subTenantId };
  if (!covers(ctx.reach, place)) {
    throw new ApiError('tenant_forbidden', 'The tenant or sub-tenant named is out of your reach.');
  }
  return place;
}

function onlyTenant(ctx: CallerContext, body: unknown): string {
  const own = new Set(placesOf(ctx).map((place) => place.tenantId));
  const [only] = own;
  if (only === undefined || own.size > 1) throw missing('tenantId', body);
  return only;
}

function onlySubTenant(ctx: CallerContext, tenantId: string, body: unknown): string | null {
  const wide = ctx.reach.some(
    (place) => (place.tenantId === null || place.tenantId === tenantId) && place.subTenantId === null,
  );
  if (wide) return null;
  const own = new Set(ctx.reach.filter((place) => place.tenantId === tenantId).map((place) => place.subTenantId));
  const [only] = own;
  if (only === undefined || own.size > 1) throw missing('subTenantId', body);
  return only;
}

/** Where the caller stands: a platform administrator reaches everything, and yet has a tenant of their own. */
function placesOf(ctx: CallerContext): TenantPlace[] {
  const everywhere = ctx.reach.some((place) => place.tenantId === null);
  const grants: readonly TenantPlace[] = ctx.principal.grants;
  return grants.filter((grant) => everywhere || covers(ctx.reach, grant));
}

function missing(field: string, body: unknown): ValidationFailure {
  return new ValidationFailure([{ loc: ['body', field], msg: 'Field required', type: 'missing', input: body }]);
}
