import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import { SqliteHandle } from './sqlite-handle.ts';
import { type SqliteTransaction, SqliteWriter } from './sqlite-writer.ts';

/**
 * SQLite in this process, by better-sqlite3: one connection for writing, one for reading, so that a read never waits
 * for an open transaction. Everything that SQLite has of its own stands in this folder's files of its name.
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

class SqliteDriver implements Driver {
  readonly #path: string;
  #writer: SqliteWriter | undefined;
  #reader: SqliteHandle | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  async init(): Promise<void> {
    this.#writer = new SqliteWriter(new SqliteHandle(this.#path));
    this.#reader = new SqliteHandle(this.#path);
  }

  async acquireConnection(): Promise<SqliteConnection> {
    if (!this.#writer || !this.#reader) throw new Error('the database is not open');
    return new SqliteConnection(this.#writer, this.#reader);
  }

  async beginTransaction(connection: SqliteConnection): Promise<void> {
    await connection.begin();
  }

  async commitTransaction(connection: SqliteConnection): Promise<void> {
    await connection.commit();
  }

  async rollbackTransaction(connection: SqliteConnection): Promise<void> {
    await connection.rollback();
  }

  async releaseConnection(connection: SqliteConnection): Promise<void> {
    await connection.rollback();
  }

  async destroy(): Promise<void> {
    await this.#writer?.close();
    this.#reader?.close();
  }
}

/** What Kysely holds for a query or a transaction: decides which of the two connections runs it. */
class SqliteConnection implements DatabaseConnection {
  readonly #writer: SqliteWriter;
  readonly #reader: SqliteHandle;
  #transaction: SqliteTransaction | undefined;

  constructor(writer: SqliteWriter, reader: SqliteHandle) {
    this.#writer = writer;
    this.#reader = reader;
  }

  async executeQuery<R>({ sql, parameters, query }: CompiledQuery): Promise<QueryResult<R>> {
    if (this.#transaction) return this.#transaction.run(sql, parameters);
    if (query.kind === 'SelectQueryNode') return this.#reader.run(sql, parameters);
    return this.#writer.run(sql, parameters);
  }

  /** Streaming would hold a statement open across awaits. */
  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new Error('page through the rows instead of streaming them');
  }

  async begin(): Promise<void> {
    this.#transaction = await this.#writer.begin();
  }

  async commit(): Promise<void> {
    await this.#transaction?.commit();
  }

  async rollback(): Promise<void> {
    await this.#transaction?.rollback();
  }
}
