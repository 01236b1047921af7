import { sqlitePath } from '@quartermaster/db/database.ts';
import SqliteDatabase from 'better-sqlite3';
import type { TestServer } from '../support/server.ts';

/** What a refused request may leave: when somebody was last seen, and that it was refused. */
const EXEMPT_COLUMNS = ['last_used_at', 'last_seen_at'];
const EXEMPT_ROWS: Record<string, string> = { audit_events: `new.outcome = 'denied'` };

/** Notes every row that is inserted, changed or deleted, in the transaction that does it. */
export class Changes {
  readonly #db: SqliteDatabase.Database;
  readonly #newest: SqliteDatabase.Statement;
  readonly #since: SqliteDatabase.Statement;

  constructor({ databaseUrl }: TestServer) {
    this.#db = new SqliteDatabase(sqlitePath(databaseUrl, '/') ?? '');
    this.#db.exec('create table noted_changes (number integer primary key autoincrement, change text)');
    const names = this.#db.prepare(`select name from sqlite_master where type = 'table'`).pluck().all() as string[];
    for (const name of names.filter((one) => !/^(sqlite_|kysely_|noted_changes)/.test(one))) this.#watch(name);
    this.#newest = this.#db.prepare('select coalesce(max(number), 0) from noted_changes').pluck();
    this.#since = this.#db.prepare('select distinct change from noted_changes where number > ?').pluck();
  }

  /** Where the notes stand. */
  now(): number {
    return this.#newest.get() as number;
  }

  /** What changed since: `update of providers`. */
  since(number: number): string[] {
    return this.#since.all(number) as string[];
  }

  close(): void {
    this.#db.close();
  }

  #watch(table: string): void {
    const columns = this.#db.prepare(`select name from pragma_table_info('${table}')`).pluck().all() as string[];
    const differ = columns
      .filter((column) => !EXEMPT_COLUMNS.includes(column))
      .map((column) => `old."${column}" is not new."${column}"`)
      .join(' or ');
    const exempt = EXEMPT_ROWS[table];
    const unless = exempt === undefined ? '' : `when not (${exempt})`;
    for (const [event, when] of [
      ['insert', unless],
      ['update', `when ${differ}`],
      ['delete', ''],
    ] as const) {
      this.#db.exec(`create trigger noted_${event}_${table} after ${event} on "${table}" ${when}
        begin insert into noted_changes (change) values ('${event} of ${table}'); end`);
    }
  }
}
