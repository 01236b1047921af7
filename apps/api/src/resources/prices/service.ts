import { MAX_PRICES, type Price, type SetPriceInput } from '@quartermaster/contracts/prices.ts';
import type { Database } from '@quartermaster/db/database.ts';
import {
  countPrices,
  deletePrice as deletePriceRow,
  findPrice,
  findPriceOfPattern,
  PLATFORM_PRICES,
  type PriceOwner,
  upsertPrice,
} from '@quartermaster/db/repositories/prices.ts';
import { covers } from '@quartermaster/db/tenancy.ts';
import { requirePlatformAdministrator } from '../../auth/authorize.ts';
import type { CallerContext } from '../../auth/context.ts';
import { existingPlace } from '../../auth/places.ts';
import { auditedWrite, changedFields, deletedFields } from '../../platform/audit/audited-write.ts';
import { ApiError, requireFound } from '../../platform/errors.ts';

/** What the audit says of a price that is deleted. */
const FIELDS = [
  'modelPattern',
  'validFrom',
  'inputPrice',
  'outputPrice',
  'cacheReadPrice',
  'cacheWritePrice',
] as const satisfies readonly (keyof Price)[];

/** Sets a price, or replaces the one of the same owner, pattern and day. */
export async function setPrice(ctx: CallerContext, body: SetPriceInput): Promise<Price> {
  const { owner: ownerKind, tenantId, ...price } = body;
  return auditedWrite(ctx, async (trx, record, now) => {
    const owner = await ownerOf(ctx, trx, { owner: ownerKind, tenantId });
    const former = await findPriceOfPattern(trx, owner, price);
    const fields = former === undefined ? Object.keys(price) : changedFields(former, price);
    if (former !== undefined && fields.length === 0) return former;
    if (former === undefined && (await countPrices(trx, owner)) >= MAX_PRICES) {
      const who = owner.tenantId === null ? 'The platform' : 'The tenant';
      throw new ApiError('price_limit_reached', `${who} has set ${MAX_PRICES} prices. Delete some first.`);
    }
    const saved = await upsertPrice(trx, owner, price, now);
    const changed = { fields, before: former ?? null, after: saved };
    record({ place: placeOf(owner), target: { type: 'price', id: saved.id }, changed });
    return saved;
  });
}

export async function deletePrice(ctx: CallerContext, id: string): Promise<Price> {
  return auditedWrite(ctx, async (trx, record) => {
    const scope = [...ctx.reach, ...PLATFORM_PRICES];
    const found = requireFound(await findPrice(trx, scope, id), 'price_not_found');
    if (found.tenantId === null) requirePlatformAdministrator(ctx);
    const deleted = requireFound(await deletePriceRow(trx, scope, id), 'price_not_found');
    const changed = deletedFields(deleted, FIELDS);
    record({ place: placeOf(deleted), target: { type: 'price', id }, changed });
    return deleted;
  });
}

/** Prices hold for a whole tenant, so a caller who reaches only a sub-tenant sets none. */
async function ownerOf(
  ctx: CallerContext,
  trx: Database,
  { owner, tenantId }: Pick<SetPriceInput, 'owner' | 'tenantId'>,
): Promise<PriceOwner> {
  if (owner === 'platform') {
    requirePlatformAdministrator(ctx);
    return { tenantId: null };
  }
  const place = await existingPlace(ctx, trx, { tenantId });
  if (!covers(ctx.reach, { tenantId: place.tenantId, subTenantId: null })) {
    throw new ApiError('tenant_forbidden', 'You need the scope for the whole tenant, not only for a sub-tenant.');
  }
  return { tenantId: place.tenantId };
}

function placeOf({ tenantId }: PriceOwner) {
  return tenantId === null ? null : { tenantId, subTenantId: null };
}
