import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type LimitNode,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import { isYieldDue, yieldWhenDue } from '../turns.ts';
import { SqliteCheckpoints } from './sqlite-checkpoints.ts';
import { SqliteHandle } from './sqlite-handle.ts';
import { type SqliteTransaction, SqliteWriter } from './sqlite-writer.ts';

/**
 * The SQLite dialect, on better-sqlite3. One connection writes and one reads, so that a read never waits for an open
 * transaction. Code that is specific to SQLite is in the files of this folder that begin with `sqlite`.
 *
 * @param path the path of the database file, which is created if it is missing
 */
export function sqliteDialect(path: string): Dialect {
  return {
    createAdapter: () => new Adapter(),
    createDriver: () => new SqliteDriver(path),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new QueryCompiler(),
  };
}

class Adapter extends SqliteAdapter {
  /** SQLite's DDL is transactional. Kysely's adapter says that it is not, so a failed migration would be left half applied. */
  override get supportsTransactionalDdl(): boolean {
    return true;
  }

  /**
   * There is a connection for reads beside that for writes. With Kysely's default of one, reads would wait for open
   * transactions.
   */
  override get supportsMultipleConnections(): boolean {
    return true;
  }
}

/**
 * Keeps SQLite from preparing a statement again at each execution. SQLite does that if its planner has looked at a bound
 * value: one that it compared with the condition of a partial index, or a limit. Preparing takes longer than running a short
 * query. The planner does not look at a value behind a unary plus, or at a limit that is a sum. Neither changes the value.
 *
 * So SQLite uses a partial index only if the text of the query contains the index's condition, see `sql.lit`.
 */
class QueryCompiler extends SqliteQueryCompiler {
  protected override getCurrentParameterPlaceholder(): string {
    return '+?';
  }

  protected override visitLimit(node: LimitNode): void {
    super.visitLimit(node);
    this.append(' + 0');
  }
}

class SqliteDriver implements Driver {
  readonly #path: string;
  #writer: SqliteWriter | undefined;
  #reader: SqliteHandle | undefined;
  readonly #checkpoints: SqliteCheckpoints;

  constructor(path: string) {
    this.#path = path;
    this.#checkpoints = new SqliteCheckpoints(path);
  }

  async init(): Promise<void> {
    this.#writer = new SqliteWriter(new SqliteHandle(this.#path), this.#checkpoints);
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
    await this.#checkpoints.close();
    this.#reader?.close();
  }
}

/** The connection that Kysely sees during a query or a transaction. It chooses the reading or the writing connection. */
class SqliteConnection implements DatabaseConnection {
  readonly #writer: SqliteWriter;
  readonly #reader: SqliteHandle;
  #transaction: SqliteTransaction | undefined;

  constructor(writer: SqliteWriter, reader: SqliteHandle) {
    this.#writer = writer;
    this.#reader = reader;
  }

  async executeQuery<R>({ sql, parameters, query }: CompiledQuery): Promise<QueryResult<R>> {
    if (isYieldDue()) await yieldWhenDue();
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
