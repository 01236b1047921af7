import type { Database } from '@quartermaster/db/database.ts';
import { findMissingPlace } from '@quartermaster/db/repositories/tenants.ts';
import { covers, narrowScope, type TenantPlace, type TenantScope } from '@quartermaster/db/tenancy.ts';
import { ApiError, missingValue, ValidationFailure } from '../platform/errors.ts';
import type { CallerContext } from './context.ts';

type OptionalId = string | null | undefined;

/** The tenant and sub-tenant that a query may name. */
export type TenancyQuery = { tenant_id?: OptionalId; sub_tenant_id?: OptionalId };

/** The tenant scope of a read: the caller's reach, narrowed to the tenant and sub-tenant that the query names. */
export function scopeOfQuery(ctx: CallerContext, query: TenancyQuery): TenantScope {
  return narrowScope(ctx.reach, { tenantId: query.tenant_id || null, subTenantId: query.sub_tenant_id || null });
}

/** Like {@link scopeOfQuery}, for a search, which names the tenant and sub-tenant in its body. */
export function scopeOfSearch(
  ctx: CallerContext,
  body: { tenantId?: OptionalId; subTenantId?: OptionalId },
): TenantScope {
  return narrowScope(ctx.reach, { tenantId: body.tenantId || null, subTenantId: body.subTenantId || null });
}

/**
 * The place of a new record: the place that the body names, else the caller's own. The place has to exist, because only the
 * creation of a service account creates places.
 *
 * @throws 422 if the body names no place and the caller has several, or if the place does not exist; 403 if it is out of reach
 */
export async function existingPlace(
  ctx: CallerContext,
  db: Database,
  body: { tenantId?: OptionalId; subTenantId?: OptionalId },
): Promise<TenantPlace> {
  const place = placeOfBody(ctx, body);
  const missing = await findMissingPlace(db, place);
  if (missing === 'tenant') {
    throw missingValue('tenant_not_found', ['body', 'tenantId'], 'tenant does not exist', place.tenantId);
  }
  if (missing === 'sub_tenant') {
    const message = 'sub-tenant does not exist; the first service account that is created in a sub-tenant creates it';
    throw missingValue('tenant_not_found', ['body', 'subTenantId'], message, place.subTenantId);
  }
  return place;
}

/** Like {@link existingPlace}, but the place need not exist. */
export function placeOfBody(
  ctx: CallerContext,
  body: { tenantId?: OptionalId; subTenantId?: OptionalId },
): TenantPlace {
  const tenantId = body.tenantId ?? onlyTenant(ctx, body);
  const subTenantId = body.subTenantId ?? onlySubTenant(ctx, tenantId, body);
  const place = { tenantId, subTenantId };
  if (!covers(ctx.reach, place)) {
    throw new ApiError('tenant_forbidden', 'This tenant or sub-tenant is outside your reach.');
  }
  return place;
}

function onlyTenant(ctx: CallerContext, body: unknown): string {
  const tenantIds = new Set(placesOf(ctx).map((place) => place.tenantId));
  const [only] = tenantIds;
  if (only === undefined || tenantIds.size > 1) throw missing('tenantId', body);
  return only;
}

function onlySubTenant(ctx: CallerContext, tenantId: string, body: unknown): string | null {
  const wide = ctx.reach.some(
    (place) => (place.tenantId === null || place.tenantId === tenantId) && place.subTenantId === null,
  );
  if (wide) return null;
  const subTenantIds = new Set(
    ctx.reach.filter((place) => place.tenantId === tenantId).map((place) => place.subTenantId),
  );
  const [only] = subTenantIds;
  if (only === undefined || subTenantIds.size > 1) throw missing('subTenantId', body);
  return only;
}

/** The places of the caller's own grants within reach. Platform administrators reach everything, but also have own grants. */
function placesOf(ctx: CallerContext): TenantPlace[] {
  const everywhere = ctx.reach.some((place) => place.tenantId === null);
  const grants: readonly TenantPlace[] = ctx.principal.grants;
  return grants.filter((grant) => everywhere || covers(ctx.reach, grant));
}

function missing(field: string, body: unknown): ValidationFailure {
  return new ValidationFailure([{ loc: ['body', field], msg: 'Field required', type: 'missing', input: body }]);
}
