import { setTimeout as sleep } from 'node:timers/promises';
import SqliteDatabase from 'better-sqlite3';
import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import { DatabaseUnavailableError, DuplicateKeyError } from '../errors.ts';

/** How long SQLite itself waits for another process's lock, in milliseconds. It blocks the event loop meanwhile. */
const BUSY_TIMEOUT_MS = 50;

/** How often a transaction asks again for another process's lock, without blocking anyone. */
const BEGIN_ATTEMPTS = 20;

/** How long a write waits for the writes of this process before it is refused, in milliseconds. */
const WRITER_WAIT_MS = 5000;

/** Prepared statements kept for each connection: preparing costs ten times what compiling does. */
const STATEMENTS_KEPT = 500;

const UNAVAILABLE = /^SQLITE_(BUSY|LOCKED|FULL|IOERR|READONLY|CANTOPEN|NOMEM)/;
const DUPLICATE = /^SQLITE_CONSTRAINT_(PRIMARYKEY|UNIQUE)$/;

/**
 * SQLite in this process, by better-sqlite3: one connection for writing, one for reading, so that a read never waits
 * for an open transaction. Everything that SQLite has of its own stands in this file.
 *
 * @param path a file's path; made where it is missing
 */
export function sqliteDialect(path: string): Dialect {
  return {
    createAdapter: () => new Adapter(),
    createDriver: () => new SqliteDriver(path),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  };
}

class Adapter extends SqliteAdapter {
  /** SQLite's DDL is transactional; the stock adapter says it is not, and a failed migration would stay half-made. */
  override get supportsTransactionalDdl(): boolean {
    return true;
  }

  /** The stock adapter says it has one, and Kysely would let a read wait for the end of an open transaction. */
  override get supportsMultipleConnections(): boolean {
    return true;
  }
}

type Statement = SqliteDatabase.Statement;

/** One open file with its prepared statements. */
class Handle {
  readonly #db: SqliteDatabase.Database;
  readonly #statements = new Map<string, Statement>();

  constructor(path: string) {
    this.#db = new SqliteDatabase(path);
    this.#set('journal_mode', 'wal', 'wal');
    this.#set('synchronous', 'full', 2);
    this.#set('foreign_keys', 'on', 1);
    this.#set('busy_timeout', String(BUSY_TIMEOUT_MS), BUSY_TIMEOUT_MS);
  }

  prepare(sql: string): Statement {
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

  run(sql: string, parameters: readonly unknown[]): QueryResult<never> {
    try {
      const statement = this.prepare(sql);
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

class SqliteDriver implements Driver {
  readonly #path: string;
  #writer: Handle | undefined;
  #reader: Handle | undefined;
  #writing = false;
  /** Who wants the writing connection next, in their order. */
  readonly #waiting: (() => void)[] = [];

  constructor(path: string) {
    this.#path = path;
  }

  async init(): Promise<void> {
    try {
      this.#writer = new Handle(this.#path);
      this.#reader = new Handle(this.#path);
    } catch (error) {
      throw translated(error);
    }
  }

  async acquireConnection(): Promise<SqliteConnection> {
    if (!this.#writer || !this.#reader) throw new Error('the database is not open');
    return new SqliteConnection(this.#writer, this.#reader, () => this.#acquireWriter());
  }

  async beginTransaction(connection: SqliteConnection): Promise<void> {
    await connection.begin();
  }

  async commitTransaction(connection: SqliteConnection): Promise<void> {
    connection.end('commit');
  }

  async rollbackTransaction(connection: SqliteConnection): Promise<void> {
    connection.end('rollback');
  }

  async releaseConnection(connection: SqliteConnection): Promise<void> {
    connection.release();
  }

  async destroy(): Promise<void> {
    if (this.#writing) await this.#acquireWriter();
    this.#reader?.close();
    this.#writer?.close();
  }

  /**
   * Waits for its turn at the writing connection. Answers the function that gives it back.
   *
   * @throws {DatabaseUnavailableError} after {@link WRITER_WAIT_MS}
   */
  #acquireWriter(): Promise<() => void> {
    const giveBack = () => {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#writing = false;
    };
    if (!this.#writing) {
      this.#writing = true;
      return Promise.resolve(giveBack);
    }
    return new Promise((resolve, reject) => {
      const turn = () => {
        clearTimeout(timer);
        resolve(giveBack);
      };
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(turn), 1);
        reject(new DatabaseUnavailableError({ cause: new Error('the writing connection was not free in time') }));
      }, WRITER_WAIT_MS);
      this.#waiting.push(turn);
    });
  }
}

/** What Kysely holds for a query or a transaction: decides which of the two connections runs it. */
class SqliteConnection implements DatabaseConnection {
  readonly #writer: Handle;
  readonly #reader: Handle;
  readonly #acquireWriter: () => Promise<() => void>;
  #giveBack: (() => void) | undefined;

  constructor(writer: Handle, reader: Handle, acquireWriter: () => Promise<() => void>) {
    this.#writer = writer;
    this.#reader = reader;
    this.#acquireWriter = acquireWriter;
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    const { sql, parameters } = query;
    if (this.#giveBack) return this.#writer.run(sql, parameters);
    if (query.query.kind === 'SelectQueryNode') return this.#reader.run(sql, parameters);
    const giveBack = await this.#acquireWriter();
    try {
      return this.#writer.run(sql, parameters);
    } finally {
      giveBack();
    }
  }

  /** Streaming would hold a statement open across awaits. */
  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new Error('page through the rows instead of streaming them');
  }

  /** Begins `immediate`: a transaction that read first and wrote later would fail with SQLITE_BUSY_SNAPSHOT. */
  async begin(): Promise<void> {
    const giveBack = await this.#acquireWriter();
    for (let attempt = 1; ; attempt += 1) {
      try {
        this.#writer.run('begin immediate', []);
        this.#giveBack = giveBack;
        return;
      } catch (error) {
        if (!(error instanceof DatabaseUnavailableError) || attempt === BEGIN_ATTEMPTS) {
          giveBack();
          throw error;
        }
        await sleep(BUSY_TIMEOUT_MS);
      }
    }
  }

  end(how: 'commit' | 'rollback'): void {
    // On a full disk SQLite has rolled back by itself; to ask again would hide why.
    if (how === 'commit' || this.#writer.inTransaction) this.#writer.run(how, []);
    this.release();
  }

  release(): void {
    this.#giveBack?.();
    this.#giveBack = undefined;
  }
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
