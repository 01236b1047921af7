import { hash } from 'node:crypto';
import type { InventoryKind } from '@quartermaster/contracts/inventory.ts';
import type { Selectable } from 'kysely';
import type { Database } from '../database.ts';
import { newId } from '../ids.ts';
import { caseFolded } from '@quartermaster/naming/case-folded.ts';
import { inScope, placeColumns, placeOf, valueRows } from '../queries.ts';
import { multiRowStatement } from '../prepared-statement.ts';
import type { Tables } from '../tables.ts';
import type { TenantPlace, TenantScope } from '../tenancy.ts';

/** The combination that usage is added up for, at one place. */
export type UsageSubject = {
  /** '' if the tenant had reached its limit of providers. */
  providerId: string;
  kind: InventoryKind;
  name: string;
  nameKey: string;
  agent: string;
  account: string;
};

export type UsageSeries = TenantPlace & UsageSubject & { id: string };

/** The sum of all names and agents beyond the limit of a tenant. */
export const OTHER = 'other';

/** A digest of what identifies a series, short enough for an index. */
export function seriesKey(place: Pick<TenantPlace, 'subTenantId'>, subject: UsageSubject): string {
  const { providerId, kind, nameKey, agent, account } = subject;
  const text = JSON.stringify([place.subTenantId ?? '', providerId, kind, nameKey, agent, account]);
  return hash('sha256', text, 'base64url').slice(0, 22);
}

/** The ids of the series that exist, by their keys. */
export async function findSeriesIds(
  db: Database,
  { tenantId }: Pick<TenantPlace, 'tenantId'>,
  keys: readonly string[],
): Promise<Map<string, string>> {
  const rows = await selectByKeys(
    db,
    keys.map((key) => ({ key })),
    { tenantId },
  );
  // Two series may have the same key. Usage is always added to the older one.
  return new Map(rows.toSorted((a, b) => (a.id < b.id ? 1 : -1)).map(({ id, series_key }) => [series_key, id]));
}

const selectByKeys = multiRowStatement((db, rows: readonly { key: string }[], { tenantId }: { tenantId: string }) =>
  db
    .selectFrom('usage_series')
    .select(['id', 'series_key'])
    .where('tenant_id', '=', tenantId)
    .where(
      'series_key',
      'in',
      rows.map(({ key }) => key),
    ),
);

/** Inserts series. Returns their ids by their keys. */
export async function insertSeries(
  db: Database,
  place: TenantPlace,
  subjects: readonly UsageSubject[],
  now: Date,
): Promise<Map<string, string>> {
  const rows = subjects.map((subject) => ({ ...subject, id: newId('use', now), key: seriesKey(place, subject) }));
  await insertRows(db, rows, { ...placeColumns(place), now: now.toISOString() });
  return new Map(rows.map(({ key, id }) => [key, id]));
}

type InsertedRow = UsageSubject & { id: string; key: string };

const insertRows = multiRowStatement(
  (
    db,
    rows: readonly InsertedRow[],
    { tenant_id, sub_tenant_id, now }: ReturnType<typeof placeColumns> & { now: string },
  ) =>
    db.insertInto('usage_series').values(
      rows.map((row) => ({
        tenant_id,
        sub_tenant_id,
        id: row.id,
        series_key: row.key,
        provider_id: row.providerId,
        kind: row.kind,
        name: row.name,
        name_key: row.nameKey,
        agent: row.agent,
        account: row.account,
        created_at: now,
      })),
    ),
);

/** How many series a tenant has. */
export async function countSeries(db: Database, { tenantId }: Pick<TenantPlace, 'tenantId'>): Promise<number> {
  const { count } = await seriesCount(db, tenantId).executeTakeFirstOrThrow();
  return Number(count);
}

/** Counts the series of a tenant that belong to an account, and those in a sub-tenant. */
export async function countSeriesShares(
  db: Database,
  place: TenantPlace,
  account: string,
): Promise<{ ofAccount: number; ofSubTenant: number }> {
  const { tenant_id, sub_tenant_id } = placeColumns(place);
  const count = () => seriesCount(db, tenant_id);
  const ofAccount = await count().where('account', '=', account).executeTakeFirstOrThrow();
  const ofSubTenant = await count().where('sub_tenant_id', '=', sub_tenant_id).executeTakeFirstOrThrow();
  return { ofAccount: Number(ofAccount.count), ofSubTenant: Number(ofSubTenant.count) };
}

function seriesCount(db: Database, tenantId: string) {
  return db
    .selectFrom('usage_series')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('tenant_id', '=', tenantId);
}

export type UsageFilter = {
  providerId?: string | null | undefined;
  kind?: string | null | undefined;
  name?: string | null | undefined;
  agent?: string | null | undefined;
  account?: string | null | undefined;
};

/** Series of a scope that pass the filters, after `after` in the order of their tenants and ids. */
export async function listSeries(
  db: Database,
  scope: TenantScope,
  { providerId, kind, name, agent, account }: UsageFilter,
  { after, limit }: { after: Pick<UsageSeries, 'tenantId' | 'id'> | null; limit: number },
): Promise<UsageSeries[]> {
  let query = db.selectFrom('usage_series').selectAll().where(inScope(scope));
  if (after) {
    query = query.where((eb) =>
      eb(eb.refTuple('tenant_id', 'id'), '>', eb.tuple(eb.val(after.tenantId), eb.val(after.id))),
    );
  }
  if (providerId != null) query = query.where('provider_id', '=', providerId);
  if (kind != null) query = query.where('kind', '=', kind as Row['kind']);
  if (agent != null) query = query.where('agent', '=', agent);
  if (account != null) query = query.where('account', '=', account);
  if (name != null) {
    // Names of models are compared case-insensitively.
    query = query.where((eb) =>
      eb.or([eb('name', '=', name), eb.and([eb('kind', '=', 'model'), eb('name_key', '=', caseFolded(name))])]),
    );
  }
  return (await query.orderBy('tenant_id').orderBy('id').limit(limit).execute()).map(toSeries);
}

/** All series of a provider and kind. */
export async function findSeriesOfProvider(
  db: Database,
  { tenantId }: Pick<TenantPlace, 'tenantId'>,
  { providerId, kind }: { providerId: string; kind: InventoryKind },
): Promise<UsageSeries[]> {
  const rows = await db
    .selectFrom('usage_series')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('provider_id', '=', providerId)
    .where('kind', '=', kind)
    .execute();
  return rows.map(toSeries);
}

/** Renames series of a tenant. If two have the same name then, queries add the two up. */
export async function renameSeries(
  db: Database,
  { tenantId }: Pick<TenantPlace, 'tenantId'>,
  renamed: readonly UsageSeries[],
): Promise<void> {
  const rows = renamed.map((series) => ({
    id: series.id,
    name: series.name,
    nameKey: series.nameKey,
    key: seriesKey(series, series),
  }));
  await renameRows(db, rows, { tenantId });
}

type RenamedRow = Pick<UsageSubject, 'name' | 'nameKey'> & { id: string; key: string };

const renameRows = multiRowStatement((db, rows: readonly RenamedRow[], { tenantId }: { tenantId: string }) => {
  const values = rows.map(({ id, name, nameKey, key }) => [id, name, nameKey, key]);
  type Renamed = Pick<Row, 'id' | 'name' | 'name_key' | 'series_key'>;
  return db
    .with('renamed(id, name, name_key, series_key)', () => valueRows<Renamed>(values))
    .updateTable('usage_series')
    .from('renamed')
    .set(({ ref }) => ({
      name: ref('renamed.name'),
      name_key: ref('renamed.name_key'),
      series_key: ref('renamed.series_key'),
    }))
    .where('usage_series.tenant_id', '=', tenantId)
    .whereRef('usage_series.id', '=', 'renamed.id');
});

type Row = Selectable<Tables['usage_series']>;

function toSeries(row: Row): UsageSeries {
  return {
    ...placeOf(row),
    id: row.id,
    providerId: row.provider_id,
    kind: row.kind,
    name: row.name,
    nameKey: row.name_key,
    agent: row.agent,
    account: row.account,
  };
}
