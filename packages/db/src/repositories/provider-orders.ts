import type { Provider } from '@quartermaster/contracts/providers.ts';
import { sql } from 'kysely';
import type { Database } from '../database.ts';
import { inKeysetRange } from '../listing.ts';
import { inScope, type Page, type PageRequest } from '../queries.ts';
import { firstKeys, type SortOrder, selectFromAll, sortsAfter } from '../sorted-keys.ts';
import type { TenantScope } from '../tenancy.ts';
import { findListedProviders, type ProviderFilter, providerConditions } from './providers.ts';

/** What providers can be sorted by, besides their creation. */
export type ProviderOrder = 'name' | 'kind' | 'status' | 'health' | 'inventory_synced_at';

/** The name that people see. */
const NAME = sql<string>`coalesce(lower(display_name), name_key)`;

/** Providers with the same value are sorted by name. */
const ORDERS: Record<ProviderOrder, SortOrder> = {
  name: { value: NAME, isAscending: true },
  kind: { value: sql`kind || ' ' || ${NAME}`, isAscending: true },
  status: { value: sql`status || ' ' || ${NAME}`, isAscending: true },
  health: {
    value: sql`case health when 'failing' then '1' when 'doubtful' then '2' when 'unknown' then '3' else '4' end || ${NAME}`,
    isAscending: true,
  },
  inventory_synced_at: { value: sql`coalesce(inventory_synced_at, '')` },
};

/** Whether there are more than `most` providers in `scope`. */
export async function areMoreProvidersThan(db: Database, scope: TenantScope, most: number): Promise<boolean> {
  const found = await db.selectFrom('providers').select('id').where(inScope(scope)).limit(1).offset(most).execute();
  return found.length > 0;
}

/** Sorts by another order than that of creation. It reads all providers in `scope`: the caller makes sure that there are few. */
export async function listSortedProviders(
  db: Database,
  scope: TenantScope,
  { order, ...filter }: ProviderFilter & { order: ProviderOrder },
  { limit, after }: PageRequest,
): Promise<Page<Provider>> {
  const sortOrder = ORDERS[order];
  const conditions = [...providerConditions(filter), sortsAfter(sortOrder, after)];
  const keys = await selectFromAll(db, scope, {
    table: 'providers',
    rows: (range) => {
      let query = db
        .selectFrom('providers')
        .select(['tenant_id', 'created_at', 'id', sortOrder.value.as('value')])
        .where(inScope(range.scope));
      for (const condition of conditions) query = query.where(condition);
      return query.$call(inKeysetRange(range)).execute();
    },
  });
  const shown = await firstKeys(keys, sortOrder, limit + 1);
  const last = shown[limit - 1];
  const items = await findListedProviders(
    db,
    scope,
    shown.slice(0, limit).map(({ id }) => id),
  );
  return { items, next: shown.length > limit && last !== undefined ? [last.value, last.id] : null };
}
