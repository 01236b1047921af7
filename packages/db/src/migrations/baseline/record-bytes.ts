import { sql } from 'kysely';
import { isPostgres, required, type Schema } from './schema.ts';

/*
 * Counts the bytes of a tenant's records, so that they are limited like those of its spans. Triggers count, because then no write
 * can be forgotten: records are written in many places, and some statements write or remove thousands (ADR 14).
 *
 * A later migration that rebuilds one of these tables, or adds a column with content to it, has to create its triggers again.
 */

/** Bytes of a record besides its texts: its times and ids, and its entries in indexes. */
const RECORD_BYTES = 500;

/** The same for a row that only belongs to a record, such as one alias of a provider. */
const PART_BYTES = 150;

export type Counted = { bytes: number; texts: readonly string[] };

/** The tables whose rows count, and their columns with texts that callers choose or cause. */
export const COUNTED: Record<string, Counted> = {
  service_accounts: record('name', 'display_name', 'description', 'metadata', 'search_text'),
  service_account_metadata: part('key', 'value_digest'),
  credentials: record('name', 'scopes', 'secret', 'header', 'scheme', 'bound_url', 'search_text'),
  memberships: record('email'),
  sub_tenants: record('id'),
  providers: record(
    'name',
    'display_name',
    'description',
    'aliases',
    'base_url',
    'headers',
    'metadata',
    'health_reason',
  ),
  provider_aliases: part('alias_key', 'alias_family'),
  inventory_items: record(
    'name',
    'name_key',
    'name_family',
    'title',
    'description',
    'attributes',
    'drift',
    'renamed_from',
  ),
  recommendations: record('subject', 'reason', 'change', 'dismissal', 'former', 'items_before'),
  manifest_declarations: part('provider_key', 'name', 'name_key', 'name_family'),
  gateways: record('name', 'name_key', 'display_name', 'url'),
  gateway_providers: part('provider_id'),
  gateway_sessions: record('subject', 'gateway_url', 'metadata'),
  gateway_session_grants: part('provider_name', 'digest'),
  operator_tasks: record('title', 'last_error', 'progress', 'note'),
};

function record(...texts: string[]): Counted {
  return { bytes: RECORD_BYTES, texts };
}

function part(...texts: string[]): Counted {
  return { bytes: PART_BYTES, texts };
}

/** Creates the counter, and the triggers of all counted tables. */
export async function createRecordByteCounters(db: Schema): Promise<void> {
  await db.schema
    .createTable('record_bytes')
    .addColumn('tenant_id', 'text', required)
    // On PostgreSQL each write adds a row, so that writes of a tenant do not wait for each other. SQLite has one writer, so
    // one row for each tenant is enough.
    .addColumn('id', 'bigint', (column) =>
      isPostgres(db) ? column.notNull().generatedByDefaultAsIdentity() : column.notNull().defaultTo(0),
    )
    .addColumn('bytes', 'bigint', required)
    .addPrimaryKeyConstraint('record_bytes_pk', ['tenant_id', 'id'])
    .execute();
  for (const [table, counted] of Object.entries(COUNTED)) {
    const statements = isPostgres(db) ? postgresTriggers(table, counted) : sqliteTriggers(table, counted);
    for (const statement of statements) await sql.raw(statement).execute(db);
  }
}

const ADD_TO_ROW = 'on conflict (tenant_id, id) do update set bytes = bytes + excluded.bytes';

/** The bytes of a row. @param row the name of the row in SQL */
function bytesOf({ bytes, texts }: Counted, row: string): string {
  return [bytes, ...texts.map((column) => `coalesce(octet_length(${row}.${column}), 0)`)].join(' + ');
}

export function sumOf(counted: Counted, row: string): string {
  return `sum(${bytesOf(counted, row)})`;
}

function sqliteTriggers(table: string, counted: Counted): string[] {
  const [before, after] = [bytesOf(counted, 'old'), bytesOf(counted, 'new')];
  const add = (tenant: string, bytes: string) =>
    `begin insert into record_bytes (tenant_id, bytes) values (${tenant}, ${bytes}) ${ADD_TO_ROW}; end`;
  return [
    `create trigger ${table}_bytes_added after insert on ${table} ${add('new.tenant_id', after)}`,
    `create trigger ${table}_bytes_removed after delete on ${table} ${add('old.tenant_id', `-(${before})`)}`,
    `create trigger ${table}_bytes_changed after update of ${counted.texts.join(', ')} on ${table}
      when (${after}) <> (${before}) ${add('new.tenant_id', `(${after}) - (${before})`)}`,
  ];
}

/** Insertions and removals are counted by statement. Updates are counted by row, because only those can be limited to columns. */
function postgresTriggers(table: string, counted: Counted): string[] {
  const [before, after] = [bytesOf(counted, 'old'), bytesOf(counted, 'new')];
  const sumUp = (rows: string, sign: string) =>
    `insert into record_bytes (tenant_id, bytes) select tenant_id, ${sign}${sumOf(counted, rows)} from ${rows} group by tenant_id`;
  const change = `insert into record_bytes (tenant_id, bytes) values (new.tenant_id, (${after}) - (${before}))`;
  const counting = (name: string, statement: string) =>
    `create function ${table}_bytes_${name}() returns trigger language plpgsql as $$ begin ${statement}; return null; end $$`;
  const trigger = (name: string, when: string) =>
    `create trigger ${table}_bytes_${name} after ${when} execute function ${table}_bytes_${name}()`;
  return [
    counting('added', sumUp('added', '')),
    trigger('added', `insert on ${table} referencing new table as added for each statement`),
    counting('removed', sumUp('removed', '-')),
    trigger('removed', `delete on ${table} referencing old table as removed for each statement`),
    counting('changed', change),
    trigger(
      'changed',
      `update of ${counted.texts.join(', ')} on ${table} for each row when ((${after}) <> (${before}))`,
    ),
  ];
}
