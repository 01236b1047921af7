import SqliteDatabase from 'better-sqlite3';
import { Client } from 'pg';
import type { TestServer } from '../support/server.ts';

/** Columns that a refused request may change: the times of last use. */
const EXEMPT_COLUMNS = ['last_used_at', 'last_seen_at'];

/**
 * Tables that the service writes in the background, the idempotency keys that a refused request claims and releases, the bytes that
 * triggers count for rows of other tables, and the noted changes themselves.
 */
const EXEMPT_TABLES =
  /^(sqlite_|kysely_|noted_changes|audit_(chain|heads|unsealed)$|record_bytes$|idempotency_keys$|rate_limit_windows$)/;

/** Reads whose audit events are summed and written later, like those of refusals. */
const SUMMED_READS = [
  'list_traces',
  'list_trace_spans',
  'search_credentials',
  'list_service_account_keys',
  'further_reads',
  'further_refusals',
];
const SUMMED_TABLE = 'audit_events';
const isSummed = (outcome: string, operation: string) =>
  `(${outcome} = 'denied' or ${operation} in ('${SUMMED_READS.join(`', '`)}'))`;

/** Notes of every row that is inserted, updated or deleted. Triggers write them in the same transaction. */
export type Changes = {
  /** The number of the newest note. */
  now: () => Promise<number>;
  /** The changes since a number, such as `update of providers`. */
  since: (number: number) => Promise<string[]>;
  close: () => Promise<void>;
};

export function noteChanges({ databaseUrl }: TestServer): Promise<Changes> {
  return databaseUrl.startsWith('sqlite:') ? onSqlite(databaseUrl.replace('sqlite:', '')) : onPostgres(databaseUrl);
}

const NEWEST = 'select coalesce(max(number), 0) as number from noted_changes';
const SINCE = 'select distinct change from noted_changes where number >';

async function onSqlite(file: string): Promise<Changes> {
  const db = new SqliteDatabase(file);
  db.exec('create table noted_changes (number integer primary key autoincrement, change text)');
  const tables = db.prepare(`select name from sqlite_master where type = 'table'`).pluck().all() as string[];
  for (const table of tables.filter((name) => !EXEMPT_TABLES.test(name))) {
    const columns = db.prepare(`select name from pragma_table_info('${table}')`).pluck().all() as string[];
    const differ = columns.filter((column) => !EXEMPT_COLUMNS.includes(column));
    const conditions = {
      insert: table === SUMMED_TABLE ? `when not ${isSummed('new.outcome', 'new.operation')}` : '',
      update: `when ${differ.map((name) => `old."${name}" is not new."${name}"`).join(' or ')}`,
      delete: '',
    };
    for (const [event, when] of Object.entries(conditions)) {
      db.exec(`create trigger noted_${event}_${table} after ${event} on "${table}" ${when}
        begin insert into noted_changes (change) values ('${event} of ${table}'); end`);
    }
  }
  const newest = db.prepare(NEWEST).pluck();
  const since = db.prepare(`${SINCE} ?`).pluck();
  return {
    now: async () => newest.get() as number,
    since: async (number) => since.all(number) as string[],
    close: async () => void db.close(),
  };
}

async function onPostgres(url: string): Promise<Changes> {
  const client = new Client({ connectionString: url });
  await client.connect();
  const exempt = `array['${EXEMPT_COLUMNS.join(`', '`)}']`;
  await client.query(`create table noted_changes (number bigint generated always as identity, change text);
    create function note_change() returns trigger language plpgsql as $$ begin
      if tg_op = 'UPDATE' then
        if to_jsonb(new) - ${exempt} = to_jsonb(old) - ${exempt} then return null; end if;
      end if;
      if tg_op = 'INSERT' and tg_table_name = '${SUMMED_TABLE}' then
        if ${isSummed(`to_jsonb(new) ->> 'outcome'`, `to_jsonb(new) ->> 'operation'`)} then return null; end if;
      end if;
      insert into noted_changes (change) values (lower(tg_op) || ' of ' || tg_table_name);
      return null;
    end $$`);
  const tables = await client.query<{ name: string }>(`select c.relname as name from pg_class c
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition`);
  for (const { name } of tables.rows.filter((row) => !EXEMPT_TABLES.test(row.name))) {
    await client.query(`create trigger noted after insert or update or delete on "${name}"
      for each row execute function note_change()`);
  }
  return {
    now: async () => Number((await client.query<{ number: string }>(NEWEST)).rows[0]?.number),
    since: async (number) =>
      (await client.query<{ change: string }>(`${SINCE} $1`, [number])).rows.map(({ change }) => change),
    close: () => client.end(),
  };
}
