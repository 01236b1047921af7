import { hash } from 'node:crypto';
import type { Grant } from '@quartermaster/contracts/gateway-sessions.ts';
import { sql } from 'kysely';
import { inBatches } from '../batches.ts';
import type { Database } from '../database.ts';
import { isPostgres } from '../dialects/postgres.ts';
import { declaredKeys, nameKey } from '@quartermaster/naming/name-key.ts';
import { inScope } from '../queries.ts';
import { preparedStatement, together } from '../prepared-statement.ts';
import type { TenantScope } from '../tenancy.ts';
import type { GrantedItem } from './granted-items.ts';
import { addStoredBytes } from './tenant-usage.ts';

/** Index rows written with one statement. */
const INSERT_BATCH_SIZE = 500;

/** Keys of one look-up: SQLite takes at most 32,766 parameters in a statement. */
const LOOKUP_BATCH_SIZE = 1000;

/** Younger sets are not removed, because a session may be about to use them. In milliseconds. */
const MIN_UNUSED_AGE_MS = 3600 * 1000;

/** The bytes that are counted for the index row of an item: its columns, and its entries in two indexes. */
const INDEX_ROW_BYTES = 100;

/** Items of a provider, to find the sessions that grant them. */
export type GrantedSubjects = { providerId: string; providerName: string; items: readonly GrantedItem[] };

type SessionKey = { tenantId: string; id: string };

/** A grant whose set of items is stored under a digest. */
type StoredGrant = { grant: Grant; digest: string };

/**
 * Stores the granted sets of items that are missing. A set of items of one provider is stored once, with its index rows, however
 * many sessions grant it. The bytes of new sets are counted for the tenant.
 *
 * @param beforeStoring is called with the bytes of each new set before it is stored; it refuses the set by throwing
 */
export async function ensureGrantedItems(
  db: Database,
  { tenantId }: Pick<SessionKey, 'tenantId'>,
  grants: readonly Grant[],
  beforeStoring: (bytes: number) => Promise<void>,
  now: Date,
): Promise<StoredGrant[]> {
  const digested = grants.map((grant) => {
    const items = JSON.stringify(grant.items);
    return { grant, items, digest: hash('sha256', items, 'base64url') };
  });
  // This read makes a concurrent removal by housekeeping a serialization failure on Postgres.
  const known = await together(
    db,
    digested.map(
      ({ grant: { providerId }, digest }) =>
        () =>
          storedItems(db, { tenantId, providerId, digest }),
    ),
  );
  for (const [index, one] of digested.entries()) {
    if (known[index]?.length === 0) await insertItems(db, { tenantId, ...one, beforeStoring }, now);
  }
  return digested.map(({ grant, digest }) => ({ grant, digest }));
}

/** Stores the grants of a session, whose items are stored. */
export async function insertGrants(
  db: Database,
  { tenantId, id }: SessionKey,
  grants: readonly StoredGrant[],
): Promise<void> {
  if (grants.length === 0) return;
  const rows = grants.map(({ grant, digest }, position) => {
    const provider = { provider_id: grant.providerId, provider_name: grant.providerName };
    return { tenant_id: tenantId, session_id: id, position, ...provider, digest };
  });
  await newSessionGrants(db, { rows });
}

type SessionGrantRow = Record<'tenant_id' | 'session_id' | 'provider_id' | 'provider_name' | 'digest', string> & {
  position: number;
};

const newSessionGrants = preparedStatement((db, { rows }: { rows: readonly SessionGrantRow[] }) =>
  db.insertInto('gateway_session_grants').values(rows),
);

type ItemsKey = { tenantId: string; providerId: string; digest: string };

const storedItems = preparedStatement((db, { tenantId, providerId, digest }: ItemsKey) =>
  db
    .selectFrom('gateway_grants')
    .select('digest')
    .where('tenant_id', '=', tenantId)
    .where('provider_id', '=', providerId)
    .where('digest', '=', digest),
);

type NewItems = StoredGrant & {
  tenantId: string;
  /** The items of the grant as JSON. */
  items: string;
  beforeStoring: (bytes: number) => Promise<void>;
};

async function insertItems(
  db: Database,
  { tenantId, grant, items, digest, beforeStoring }: NewItems,
  now: Date,
): Promise<void> {
  const { providerId } = grant;
  const bytes = bytesOf(Buffer.byteLength(items), grant.items.length);
  await beforeStoring(bytes);
  const [inserted] = await db
    .insertInto('gateway_grants')
    .values({
      tenant_id: tenantId,
      provider_id: providerId,
      digest,
      items,
      item_count: grant.items.length,
      created_at: now.toISOString(),
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning('digest')
    .execute();
  if (!inserted) return;
  await addStoredBytes(db, tenantId, bytes, now);
  for await (const batch of inBatches(await sortedItemKeys(grant.items), INSERT_BATCH_SIZE)) {
    const keys = JSON.stringify(batch);
    const each = isPostgres(db) ? sql`json_array_elements_text(${keys}::json) as value` : sql`json_each(${keys})`;
    await sql`
      insert into gateway_grant_items (tenant_id, provider_id, item_key, digest)
      select ${tenantId}, ${providerId}, value, ${digest} from ${each} where true on conflict do nothing`.execute(db);
  }
}

/**
 * The keys of items, in the order of the index: an insert then changes each page of the index once, which takes SQLite half the
 * time.
 */
async function sortedItemKeys(items: readonly GrantedItem[]): Promise<string[]> {
  const keys: string[] = [];
  for await (const batch of inBatches(items, INSERT_BATCH_SIZE)) {
    for (const { kind, name } of batch) keys.push(itemKey(kind, nameKey(kind, name, null)));
  }
  return keys.toSorted();
}

const grantsOfSession = preparedStatement((db, { tenantId, id }: SessionKey) =>
  db
    .selectFrom('gateway_session_grants as granted')
    .innerJoin('gateway_grants as stored', (join) =>
      join
        .onRef('stored.tenant_id', '=', 'granted.tenant_id')
        .onRef('stored.provider_id', '=', 'granted.provider_id')
        .onRef('stored.digest', '=', 'granted.digest'),
    )
    .select(['granted.provider_id', 'granted.provider_name', 'stored.items'])
    .where('granted.tenant_id', '=', tenantId)
    .where('granted.session_id', '=', id)
    .orderBy('granted.position'),
);

/** The grants of a session, in the order of its gateway's providers. */
export async function readGrants(db: Database, session: SessionKey): Promise<Grant[]> {
  const rows = await grantsOfSession(db, { tenantId: session.tenantId, id: session.id });
  return rows.map((row) => ({
    providerId: row.provider_id,
    providerName: row.provider_name,
    items: JSON.parse(row.items) as Grant['items'],
  }));
}

/** The sets that contain one of the items, found by an index under every variant of a model's name. */
export async function findGrantsOfItems(
  db: Database,
  scope: TenantScope,
  { providerId, providerName, items }: GrantedSubjects,
): Promise<{ tenantId: string; digest: string }[]> {
  const keys = new Set<string>();
  // A block may cover thousands of items, and each key is a hash.
  for await (const batch of inBatches(items, LOOKUP_BATCH_SIZE)) {
    for (const { kind, name } of batch) {
      const variants = [
        nameKey(kind, name, null),
        ...declaredKeys(kind, nameKey(kind, name, providerName), providerName),
      ];
      for (const variant of variants) keys.add(itemKey(kind, variant));
    }
  }
  const found = new Map<string, { tenantId: string; digest: string }>();
  for await (const batch of inBatches([...keys], LOOKUP_BATCH_SIZE)) {
    const rows = await db
      .selectFrom('gateway_grant_items')
      .select(['tenant_id', 'digest'])
      .where(inTenantsOf(scope))
      .where('provider_id', '=', providerId)
      .where('item_key', 'in', batch)
      .execute();
    for (const row of rows) {
      found.set(`${row.tenant_id}\n${row.digest}`, { tenantId: row.tenant_id, digest: row.digest });
    }
  }
  return [...found.values()];
}

/** Removes up to `limit` sets that no session refers to any more, with their index rows. Returns how many sets it removed. */
export async function deleteUnusedGrants(db: Database, scope: TenantScope, limit: number, now: Date): Promise<number> {
  const unused = await db
    .selectFrom('gateway_grants as stored')
    .select(['stored.tenant_id', 'stored.provider_id', 'stored.digest', 'stored.item_count'])
    .select(sql<number>`octet_length(${sql.ref('stored.items')})`.as('items_bytes'))
    .where('stored.created_at', '<', new Date(now.getTime() - MIN_UNUSED_AGE_MS).toISOString())
    .where(inTenantsOf(scope, 'stored'))
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('gateway_session_grants as granted')
            .select('granted.digest')
            .whereRef('granted.tenant_id', '=', 'stored.tenant_id')
            .whereRef('granted.provider_id', '=', 'stored.provider_id')
            .whereRef('granted.digest', '=', 'stored.digest'),
        ),
      ),
    )
    .limit(limit)
    .execute();
  for (const { tenant_id, provider_id, digest, items_bytes, item_count } of unused) {
    for (const table of ['gateway_grant_items', 'gateway_grants'] as const) {
      await db
        .deleteFrom(table)
        .where('tenant_id', '=', tenant_id)
        .where('provider_id', '=', provider_id)
        .where('digest', '=', digest)
        .execute();
    }
    await addStoredBytes(db, tenant_id, -bytesOf(items_bytes, item_count), now);
  }
  return unused.length;
}

/** The tables of grants have no sub-tenant column; the sessions that refer to them do. */
function inTenantsOf(scope: TenantScope, table?: string) {
  return inScope(
    scope.map(({ tenantId }) => ({ tenantId, subTenantId: null })),
    table,
  );
}

function bytesOf(itemsBytes: number, itemCount: number): number {
  return itemsBytes + itemCount * INDEX_ROW_BYTES;
}

/** A short digest, since names may be long and two indexes contain the key. */
function itemKey(kind: string, name: string): string {
  return hash('sha256', `${kind}\n${name}`, 'base64url').slice(0, 22);
}
