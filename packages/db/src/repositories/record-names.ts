import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../database.ts';
import { inScope } from '../queries.ts';
import type { TenantScope } from '../tenancy.ts';

type Name = RawBuilder<string | null>;

const NONE: Name = sql`null`;
const NOT_DELETED = sql<number>`0`;
const DISPLAYED: Name = sql`coalesce(record.display_name, record.name)`;
const IS_DELETED = sql<number>`case when record.status = 'deleted' then 1 else 0 end`;

/** The name of a record's parent, which is in the same place. */
function ofParent(parent: 'gateways' | 'providers', id: string): Name {
  return sql`(select coalesce(parent.display_name, parent.name) from ${sql.table(parent)} as parent
    where parent.tenant_id = record.tenant_id and parent.id = ${sql.ref(`record.${id}`)})`;
}

type Source = {
  table: RawBuilder<unknown>;
  name: Name;
  /** The record whose screen shows it. */
  parent?: Name;
  isDeleted?: RawBuilder<number>;
};

/** A tenant as if it were a record in itself. */
const TENANTS = sql`(select id as tenant_id, '' as sub_tenant_id, id, display_name, deleted_at from tenants)`;

/** Where the names of records are. */
const TYPES = {
  provider: { table: sql.table('providers'), name: DISPLAYED, isDeleted: IS_DELETED },
  inventory_item: { table: sql.table('inventory_items'), name: sql`record.name`, parent: sql`record.provider_id` },
  runtime_observation: {
    table: sql.table('runtime_observations'),
    name: sql`record.name`,
    parent: sql`record.provider_id`,
  },
  // `model:gpt-5`, or one word if it is about the provider itself.
  recommendation: { table: sql.table('recommendations'), name: sql`record.subject`, parent: sql`record.provider_id` },
  gateway: { table: sql.table('gateways'), name: DISPLAYED, isDeleted: IS_DELETED },
  gateway_session: {
    table: sql.table('gateway_sessions'),
    name: ofParent('gateways', 'gateway_id'),
    parent: sql`record.gateway_id`,
  },
  manifest: { table: sql.table('manifests'), name: sql`record.name`, isDeleted: IS_DELETED },
  operator_task: { table: sql.table('operator_tasks'), name: sql`record.title` },
  service_account: { table: sql.table('service_accounts'), name: DISPLAYED, isDeleted: IS_DELETED },
  api_key: {
    table: sql.table('credentials'),
    name: sql`coalesce(record.name, record.prefix)`,
    parent: sql`record.owner_id`,
  },
  provider_credential: {
    table: sql.table('credentials'),
    name: ofParent('providers', 'owner_id'),
    parent: sql`record.owner_id`,
  },
  price: { table: sql.table('prices'), name: sql`record.model_pattern` },
  tenant: {
    table: TENANTS,
    name: sql`coalesce(record.display_name, record.id)`,
    isDeleted: sql`case when record.deleted_at is null then 0 else 1 end`,
  },
} as const satisfies Record<string, Source>;
export type NamedRecordType = keyof typeof TYPES;

export type RecordName = {
  tenantId: string;
  id: string;
  name: string | null;
  parentId: string | null;
  isDeleted: boolean;
};

type Row = { tenant_id: string; id: string; name: string | null; parent_id: string | null; is_deleted: number };

/** The names of records of one type. Records outside of `scope` are left out. */
export async function findRecordNames(
  db: Database,
  scope: TenantScope,
  type: NamedRecordType,
  records: readonly { tenantId: string; id: string }[],
): Promise<RecordName[]> {
  if (records.length === 0) return [];
  const { table, name, parent = NONE, isDeleted = NOT_DELETED }: Source = TYPES[type];
  // The tenants are a condition of their own, because the primary keys begin with them.
  const { rows } = await sql<Row>`
    select record.tenant_id, record.id, ${name} as name, ${parent} as parent_id, ${isDeleted} as is_deleted
    from ${table} as record
    where ${inScope(scope, 'record')}
      and record.tenant_id in (${sql.join([...new Set(records.map(({ tenantId }) => tenantId))])})
      and record.id in (${sql.join(records.map(({ id }) => id))})`.execute(db);
  return rows.map((row) => ({
    tenantId: row.tenant_id,
    id: row.id,
    name: row.name,
    parentId: row.parent_id,
    isDeleted: Number(row.is_deleted) === 1,
  }));
}
