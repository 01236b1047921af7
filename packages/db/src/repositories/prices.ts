import type { Price } from '@quartermaster/contracts/prices.ts';
import { caseFolded } from '@quartermaster/naming/case-folded.ts';
import type { Selectable } from 'kysely';
import type { Database } from '../database.ts';
import { newId } from '../ids.ts';
import { inScope, newestFirst, type Page, type PageRequest, pageOf, timesOf } from '../queries.ts';
import type { Tables } from '../tables.ts';
import type { TenantScope } from '../tenancy.ts';

/** The tenant in rows of prices that the platform set. No tenant has this id. */
const PLATFORM = '';

/** The scope of prices that the platform set, which hold for every tenant. */
export const PLATFORM_PRICES: TenantScope = [{ tenantId: PLATFORM, subTenantId: null }];

export type PriceOwner = Pick<Price, 'tenantId'>;
type NewPrice = Pick<
  Price,
  'modelPattern' | 'validFrom' | 'inputPrice' | 'outputPrice' | 'cacheReadPrice' | 'cacheWritePrice'
>;

/** Prices that the tenants of a scope set, newest first. */
export async function listPrices(db: Database, scope: TenantScope, page: PageRequest): Promise<Page<Price>> {
  const rows = await db.selectFrom('prices').selectAll().where(inScope(scope)).$call(newestFirst(page)).execute();
  return pageOf(rows, page.limit, toPrice, (row) => [row.created_at, row.id]);
}

/** All prices that the tenants of a scope set. */
export async function findAllPrices(db: Database, scope: TenantScope): Promise<Price[]> {
  const rows = await db.selectFrom('prices').selectAll().where(inScope(scope)).execute();
  return rows.map(toPrice);
}

export async function findPrice(db: Database, scope: TenantScope, id: string): Promise<Price | undefined> {
  const row = await db.selectFrom('prices').selectAll().where('id', '=', id).where(inScope(scope)).executeTakeFirst();
  return row && toPrice(row);
}

/** The price that an owner set for a pattern and a day. */
export async function findPriceOfPattern(
  db: Database,
  { tenantId }: PriceOwner,
  { modelPattern, validFrom }: Pick<Price, 'modelPattern' | 'validFrom'>,
): Promise<Price | undefined> {
  const row = await db
    .selectFrom('prices')
    .selectAll()
    .where('tenant_id', '=', tenantId ?? PLATFORM)
    .where('pattern_key', '=', caseFolded(modelPattern))
    .where('valid_from', '=', validFrom)
    .executeTakeFirst();
  return row && toPrice(row);
}

export async function countPrices(db: Database, { tenantId }: PriceOwner): Promise<number> {
  const { count } = await db
    .selectFrom('prices')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('tenant_id', '=', tenantId ?? PLATFORM)
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** Inserts a price, or replaces the one of the same owner, pattern and day. */
export async function upsertPrice(db: Database, { tenantId }: PriceOwner, price: NewPrice, now: Date): Promise<Price> {
  const time = now.toISOString();
  const amounts = {
    model_pattern: price.modelPattern,
    input_price: price.inputPrice,
    output_price: price.outputPrice,
    cache_read_price: price.cacheReadPrice,
    cache_write_price: price.cacheWritePrice,
    updated_at: time,
  };
  const row = await db
    .insertInto('prices')
    .values({
      tenant_id: tenantId ?? PLATFORM,
      sub_tenant_id: '',
      id: newId('price', now),
      pattern_key: caseFolded(price.modelPattern),
      valid_from: price.validFrom,
      created_at: time,
      ...amounts,
    })
    .onConflict((conflict) => conflict.columns(['tenant_id', 'pattern_key', 'valid_from']).doUpdateSet(amounts))
    .returningAll()
    .executeTakeFirstOrThrow();
  return toPrice(row);
}

export async function deletePrice(db: Database, scope: TenantScope, id: string): Promise<Price | undefined> {
  const row = await db
    .deleteFrom('prices')
    .where('id', '=', id)
    .where(inScope(scope))
    .returningAll()
    .executeTakeFirst();
  return row && toPrice(row);
}

function toPrice(row: Selectable<Tables['prices']>): Price {
  return {
    id: row.id,
    tenantId: row.tenant_id === PLATFORM ? null : row.tenant_id,
    modelPattern: row.model_pattern,
    validFrom: row.valid_from,
    inputPrice: row.input_price,
    outputPrice: row.output_price,
    cacheReadPrice: row.cache_read_price,
    cacheWritePrice: row.cache_write_price,
    ...timesOf(row),
  };
}
