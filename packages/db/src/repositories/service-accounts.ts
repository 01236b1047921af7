import { hash } from 'node:crypto';
import type { SearchServiceAccountsInput, ServiceAccount } from '@quartermaster/contracts/service-accounts.ts';
import canonicalize from 'canonicalize';
import { type Insertable, type Selectable, sql } from 'kysely';
import { inBatches } from '../batches.ts';
import type { Database } from '../database.ts';
import { inKeysetRange, type KeysetRange, listRows } from '../listing.ts';
import { caseFolded } from '@quartermaster/naming/case-folded.ts';
import {
  containsText,
  inScope,
  type Page,
  type PageRequest,
  placeColumns,
  placeOf,
  timesOf,
  toFlag,
} from '../queries.ts';
import { preparedStatement } from '../prepared-statement.ts';
import type { Tables } from '../tables.ts';
import type { TenantPlace, TenantScope } from '../tenancy.ts';
import { findAccountTelemetry } from './account-telemetry.ts';
import { forgetApiKeys } from './api-keys.ts';

export type NewServiceAccount = Pick<
  ServiceAccount,
  'id' | 'name' | 'displayName' | 'description' | 'status' | 'platformAdministrator' | 'metadata'
>;
export type ServiceAccountChange = Partial<Pick<ServiceAccount, 'displayName' | 'description' | 'metadata' | 'status'>>;
export type ServiceAccountFilter = Omit<SearchServiceAccountsInput, 'tenantId' | 'subTenantId' | 'limit' | 'cursor'>;

type Row = Selectable<Tables['service_accounts']>;

/** Metadata members of one insert. A statement takes a limited number of parameters; 16 KiB of metadata can exceed it. */
const BATCH_SIZE = 500;

/**
 * The accounts with this id that are not deleted. Ids are only unique in a tenant. Returns at most two, since that is
 * ambiguous.
 */
export async function findServiceAccounts(
  db: Database,
  scope: TenantScope,
  id: string,
  now: Date,
): Promise<ServiceAccount[]> {
  const rows = await db
    .selectFrom('service_accounts')
    .selectAll()
    .where('id', '=', id)
    .where('status', '<>', sql.lit('deleted'))
    .where(inScope(scope))
    .limit(2)
    .execute();
  return withKeys(db, rows, now);
}

/** Newest first. Deleted accounts are only listed if the filter asks for their status. */
export async function searchServiceAccounts(
  db: Database,
  scope: TenantScope,
  filter: ServiceAccountFilter,
  page: PageRequest,
  now: Date,
): Promise<Page<ServiceAccount>> {
  const { ids, name, query, status, metadata, createdAfter, createdBefore } = filter;
  const unindexedFilters = [name, query, status, metadata];
  const { rows, next } = await listRows(db, scope, page, {
    table: 'service_accounts',
    // Ids have their own index, and match few rows.
    hasUnindexedFilter: ids == null && unindexedFilters.some((one) => one != null),
    times: { after: createdAfter, before: createdBefore },
    rows: (range) => accountRows(db, filter, range).execute(),
  });
  return { items: await withKeys(db, rows, now), next };
}

function accountRows(db: Database, filter: ServiceAccountFilter, range: KeysetRange) {
  let query = db.selectFrom('service_accounts').selectAll().where(inScope(range.scope));
  query =
    filter.status == null
      ? query.where('status', '<>', sql.lit('deleted'))
      : query.where('status', '=', filter.status as 'active');
  if (filter.ids != null) query = query.where('id', 'in', filter.ids.length > 0 ? filter.ids : ['']);
  if (filter.name != null) query = query.where('name', '=', filter.name);
  if (filter.query != null) query = query.where(containsText('search_text', filter.query));
  if (filter.createdAfter != null) query = query.where('created_at', '>', filter.createdAfter);
  for (const [key, value] of Object.entries(filter.metadata ?? {})) {
    query = query.where((eb) =>
      eb.exists(
        eb
          .selectFrom('service_account_metadata as member')
          .select('member.key')
          .whereRef('member.tenant_id', '=', 'service_accounts.tenant_id')
          .whereRef('member.service_account_id', '=', 'service_accounts.id')
          .where('member.key', '=', key)
          .where('member.value_digest', '=', digestOf(value)),
      ),
    );
  }
  return query.$call(inKeysetRange(range));
}

const newAccount = preparedStatement((db, { row }: { row: Insertable<Tables['service_accounts']> }) =>
  db.insertInto('service_accounts').values(row).returningAll(),
);

/** @throws DuplicateKeyError if an account of the tenant has or had this id */
export async function insertServiceAccount(
  db: Database,
  place: TenantPlace,
  account: NewServiceAccount,
  now: Date,
): Promise<ServiceAccount> {
  const { id, name, status, platformAdministrator, metadata, displayName, description } = account;
  const [row] = await newAccount(db, {
    row: {
      ...placeColumns(place),
      id,
      name,
      status,
      description,
      display_name: displayName,
      platform_administrator: toFlag(platformAdministrator),
      metadata: JSON.stringify(metadata),
      last_used_at: null,
      search_text: searchText(account),
      created_at: now.toISOString(),
      updated_at: now.toISOString(),
    },
  });
  if (!row) throw new Error('the account was not inserted');
  await insertMetadataMembers(db, place.tenantId, id, metadata);
  return toServiceAccount(row, undefined, undefined);
}

/** Updates an account. Its tenant and id identify it. */
export async function updateServiceAccount(
  db: Database,
  scope: TenantScope,
  account: ServiceAccount,
  change: ServiceAccountChange,
  now: Date,
): Promise<ServiceAccount | undefined> {
  const { displayName, description, metadata, status } = change;
  const row = await db
    .updateTable('service_accounts')
    .set({
      ...(displayName !== undefined && { display_name: displayName }),
      ...(description !== undefined && { description }),
      ...(status !== undefined && { status }),
      ...(metadata !== undefined && { metadata: JSON.stringify(metadata) }),
      search_text: searchText({ ...account, ...change }),
      updated_at: now.toISOString(),
    })
    .where('tenant_id', '=', account.tenantId)
    .where('id', '=', account.id)
    .where('status', '<>', sql.lit('deleted'))
    .where(inScope(scope))
    .returningAll()
    .executeTakeFirst();
  if (!row) return undefined;
  if (status !== undefined) forgetApiKeys(db, { tenantId: account.tenantId, accountId: account.id });
  if (metadata !== undefined) await setMetadataMembers(db, account.tenantId, account.id, metadata);
  const [updated] = await withKeys(db, [row], now);
  return updated;
}

/** Whether there is, or ever was, a service account with platform administrator rights. */
export async function hasPlatformAdministrator(db: Database): Promise<boolean> {
  const row = await db
    .selectFrom('service_accounts')
    .select('id')
    .where('platform_administrator', '=', 1)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

async function setMetadataMembers(
  db: Database,
  tenantId: string,
  accountId: string,
  metadata: Record<string, unknown>,
): Promise<void> {
  await db
    .deleteFrom('service_account_metadata')
    .where('tenant_id', '=', tenantId)
    .where('service_account_id', '=', accountId)
    .execute();
  await insertMetadataMembers(db, tenantId, accountId, metadata);
}

type MemberRow = Insertable<Tables['service_account_metadata']>;

const newMembers = preparedStatement((db, { rows }: { rows: readonly MemberRow[] }) =>
  db.insertInto('service_account_metadata').values(rows),
);

async function insertMetadataMembers(
  db: Database,
  tenantId: string,
  accountId: string,
  metadata: Record<string, unknown>,
): Promise<void> {
  const members = Object.entries(metadata).map(([key, value]) => ({
    tenant_id: tenantId,
    service_account_id: accountId,
    key,
    value_digest: digestOf(value),
  }));
  for await (const rows of inBatches(members, BATCH_SIZE)) await newMembers(db, { rows });
}

/** A digest of a JSON value's canonical form (RFC 8785). Equal values have equal digests. */
function digestOf(value: unknown): string {
  return hash('sha256', canonicalize(value) ?? '');
}

function searchText(account: Pick<ServiceAccount, 'id' | 'name' | 'displayName' | 'description'>): string {
  return caseFolded([account.id, account.name, account.displayName, account.description].filter(Boolean).join('\n'));
}

type KeyCounts = { keyCount: number; activeKeyCount: number; soonestKeyExpiryAt: string | null };

type KeyOwners = { time: string; tenantIds: readonly string[]; ownerIds: readonly string[] };

const keyCounts = preparedStatement((db, { time, tenantIds, ownerIds }: KeyOwners) => {
  const active = sql<boolean>`revoked_at is null and (expires_at is null or expires_at > ${time})`;
  return db
    .selectFrom('credentials')
    .select(['tenant_id', 'owner_id'])
    .select((eb) => eb.fn.countAll<number>().as('keys'))
    .select(sql<number>`sum(case when ${active} then 1 else 0 end)`.as('active_keys'))
    .select(sql<string | null>`min(case when ${active} then expires_at end)`.as('soonest'))
    .where('owner_type', '=', 'service_account')
    .where('tenant_id', 'in', tenantIds)
    .where('owner_id', 'in', ownerIds)
    .groupBy(['tenant_id', 'owner_id']);
});

/** Adds the key counts and the telemetry to the accounts of a page, with one query each. */
async function withKeys(db: Database, rows: Row[], now: Date): Promise<ServiceAccount[]> {
  if (rows.length === 0) return [];
  const counts = await keyCounts(db, {
    time: now.toISOString(),
    tenantIds: [...new Set(rows.map((row) => row.tenant_id))],
    ownerIds: [...new Set(rows.map((row) => row.id))],
  });
  const telemetry = await findAccountTelemetry(db, {
    tenantIds: [...new Set(rows.map((row) => row.tenant_id))],
    accountIds: [...new Set(rows.map((row) => row.id))],
  });
  const byAccount = new Map(
    counts.map((count) => [
      `${count.tenant_id}\n${count.owner_id}`,
      { keyCount: Number(count.keys), activeKeyCount: Number(count.active_keys), soonestKeyExpiryAt: count.soonest },
    ]),
  );
  return rows.map((row) => {
    const name = `${row.tenant_id}\n${row.id}`;
    return toServiceAccount(row, byAccount.get(name), telemetry.get(name));
  });
}

/** The key counts of an account. Keys of an inactive account do not count as active. */
function keysOf(row: Row, keys: KeyCounts | undefined): KeyCounts {
  const { keyCount = 0, activeKeyCount = 0, soonestKeyExpiryAt = null } = keys ?? {};
  return row.status === 'active'
    ? { keyCount, activeKeyCount, soonestKeyExpiryAt }
    : { keyCount, activeKeyCount: 0, soonestKeyExpiryAt: null };
}

function toServiceAccount(
  row: Row,
  keys: KeyCounts | undefined,
  telemetry: ServiceAccount['telemetry'] | undefined,
): ServiceAccount {
  return {
    id: row.id,
    ...placeOf(row),
    name: row.name,
    displayName: row.display_name,
    description: row.description,
    status: row.status,
    platformAdministrator: row.platform_administrator === 1,
    metadata: JSON.parse(row.metadata) as ServiceAccount['metadata'],
    lastUsedAt: row.last_used_at,
    ...keysOf(row, keys),
    telemetry: telemetry ?? null,
    ...timesOf(row),
  };
}
