import { closeSync, openSync } from 'node:fs';
import SqliteDatabase from 'better-sqlite3';
import type { QueryResult } from 'kysely';
import { DatabaseUnavailableError, DuplicateKeyError } from '../errors.ts';

/** How long SQLite itself waits for another process's lock, in milliseconds. It blocks the event loop meanwhile. */
export const BUSY_TIMEOUT_MS = 50;

/** Prepared statements kept for each connection: preparing costs ten times what compiling does. */
const STATEMENTS_KEPT = 500;

const UNAVAILABLE = /^SQLITE_(BUSY|LOCKED|FULL|IOERR|READONLY|CANTOPEN|NOMEM)/;
const DUPLICATE = /^SQLITE_CONSTRAINT_(PRIMARYKEY|UNIQUE)$/;

/** One open file with its prepared statements. */
export class SqliteHandle {
  readonly #db: SqliteDatabase.Database;
  readonly #statements = new Map<string, SqliteDatabase.Statement>();

  constructor(path: string) {
    try {
      makeFile(path);
      this.#db = new SqliteDatabase(path);
      this.#set('journal_mode', 'wal', 'wal');
      this.#set('synchronous', 'full', 2);
      this.#set('foreign_keys', 'on', 1);
      // What is deleted or overwritten is zeroed in the file, and not only forgotten.
      this.#set('secure_delete', 'on', 1);
      this.#set('busy_timeout', String(BUSY_TIMEOUT_MS), BUSY_TIMEOUT_MS);
    } catch (error) {
      throw cannotOpen(path, error);
    }
  }

  run(sql: string, parameters: readonly unknown[]): QueryResult<never> {
    try {
      const statement = this.#prepare(sql);
      const bound = parameters.map(bindable);
      if (statement.reader) return { rows: statement.all(bound) as never[] };
      const { changes, lastInsertRowid } = statement.run(bound);
      return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid) };
    } catch (error) {
      throw translated(error);
    }
  }

  get inTransaction(): boolean {
    return this.#db.inTransaction;
  }

  close(): void {
    this.#db.close();
  }

  #prepare(sql: string): SqliteDatabase.Statement {
    const kept = this.#statements.get(sql);
    if (kept) return kept;
    const statement = this.#db.prepare(sql);
    if (this.#statements.size >= STATEMENTS_KEPT) {
      const [oldest] = this.#statements.keys();
      if (oldest !== undefined) this.#statements.delete(oldest);
    }
    this.#statements.set(sql, statement);
    return statement;
  }

  /** Sets a pragma and asserts that it holds: SQLite ignores what it does not like. */
  #set(name: string, value: string, expected: string | number): void {
    this.#db.pragma(`${name} = ${value}`);
    const actual = this.#db.pragma(name, { simple: true });
    if (actual !== expected) {
      this.#db.close();
      throw new Error(`SQLite's ${name} is ${String(actual)}, not ${expected}`);
    }
  }
}

/** For its owner alone; SQLite gives the files beside it the same mode. */
function makeFile(path: string): void {
  // SQLite's name for no file at all.
  if (path === ':memory:') return;
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
}

/** What keeps a file from being opened, named with its path. */
function cannotOpen(path: string, error: unknown): unknown {
  if (!(error instanceof Error && 'code' in error)) return error;
  return new DatabaseUnavailableError({ cause: new Error(`${path}: ${error.message}`, { cause: error }) });
}

function bindable(value: unknown): unknown {
  if (typeof value === 'boolean') return value ? 1 : 0;
  if (value === undefined) throw new TypeError('undefined cannot be bound to a query');
  return value;
}

function translated(error: unknown): unknown {
  const code = error instanceof SqliteDatabase.SqliteError ? error.code : '';
  if (DUPLICATE.test(code)) return new DuplicateKeyError({ cause: error });
  if (UNAVAILABLE.test(code)) return new DatabaseUnavailableError({ cause: error });
  return error;
}
