import { closeSync, existsSync, openSync, readSync, realpathSync, statSync } from 'node:fs';
import SqliteDatabase from 'better-sqlite3';
import type { QueryResult } from 'kysely';
import { BoundedMap } from '../bounded-map.ts';
import { DatabaseUnavailableError, DatabaseUnfitError, DuplicateKeyError } from '../errors.ts';

/** How long SQLite itself waits for another process's lock, in milliseconds. It blocks the event loop during that time. */
export const BUSY_TIMEOUT_MS = 50;

/** The most prepared statements that are cached for each connection. Preparing takes ten times as long as compiling. */
const MAX_PREPARED_STATEMENTS = 500;

const UNAVAILABLE = /^SQLITE_(BUSY|LOCKED|FULL|IOERR|READONLY|CANTOPEN|NOMEM)/;
const DUPLICATE = /^SQLITE_CONSTRAINT_(PRIMARYKEY|UNIQUE)$/;

/** A connection to a SQLite file, with its cache of prepared statements. */
export class SqliteHandle {
  readonly #db: SqliteDatabase.Database;
  readonly #statements = new BoundedMap<string, SqliteDatabase.Statement>(MAX_PREPARED_STATEMENTS);

  constructor(path: string) {
    try {
      makeFile(path);
      refuseForeignLog(path);
      this.#db = new SqliteDatabase(path);
      this.#set('journal_mode', 'wal', 'wal');
      this.#set('synchronous', 'full', 2);
      this.#set('foreign_keys', 'on', 1);
      // Deleted and overwritten data are zeroed in the file.
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

  /**
   * Sets from how many pages in the write-ahead log this connection copies them into the database file, within a commit. The
   * default of SQLite is 1,000 pages.
   */
  checkpointFrom(pages: number): void {
    this.#set('wal_autocheckpoint', String(pages), pages);
  }

  /**
   * How many pages of the write-ahead log are not in the database file yet. It takes about 5 us.
   *
   * @returns null if SQLite cannot tell, for example because the disk fails
   */
  pagesToCheckpoint(): number | null {
    try {
      const [state] = this.#prepare('pragma wal_checkpoint(noop)').all() as { log: number; checkpointed: number }[];
      return state === undefined ? null : state.log - state.checkpointed;
    } catch {
      return null;
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
    this.#statements.set(sql, statement);
    return statement;
  }

  /** Sets a pragma, and checks that it took effect: SQLite silently ignores invalid values. */
  #set(name: string, value: string, expected: string | number): void {
    this.#db.pragma(`${name} = ${value}`);
    const actual = this.#db.pragma(name, { simple: true });
    if (actual !== expected) {
      this.#db.close();
      throw new Error(`SQLite's ${name} is ${String(actual)}, not ${expected}`);
    }
  }
}

/** Creates the file so that only its owner may access it. SQLite gives the journal files the same mode. */
function makeFile(path: string): void {
  // An in-memory database has no file.
  if (path === ':memory:') return;
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
}

/** The offset of the file format's write version in the header of the file: 2 in WAL mode, 1 in other modes. */
const WRITE_VERSION_AT = 18;

/**
 * Refuses a restored backup that lies beside the write-ahead log of the file that it replaced. SQLite would copy the pages of
 * that log into the backup, and destroy it. Such a backup is recognised by its mode: it has a log, but is not in WAL mode.
 * SQLite sets the mode of a file before it creates the log, so this never happens otherwise.
 */
function refuseForeignLog(path: string): void {
  // The path may be a link to a file that does not exist yet.
  if (!existsSync(path)) return;
  const file = realpathSync(path);
  const logBytes = statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  if (logBytes === 0 || readByte(file, WRITE_VERSION_AT) !== 1) return;
  throw new DatabaseUnfitError(
    `was put in the place of another one, whose write-ahead log is still there: remove ${file}-wal and ${file}-shm`,
  );
}

/** Undefined if the file is shorter. */
function readByte(file: string, position: number): number | undefined {
  const descriptor = openSync(file, 'r');
  try {
    const byte = Buffer.alloc(1);
    return readSync(descriptor, byte, { position }) === 1 ? byte[0] : undefined;
  } finally {
    closeSync(descriptor);
  }
}

/** The error of a file that cannot be opened, with its path in the message. */
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
