import {
  type DataTypeNode,
  type Dialect,
  type Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  sql,
} from 'kysely';
import { type ClientBase, Pool, type PoolConfig, types } from 'pg';
import { PostgresDriver, STATEMENT_TIMEOUT_MS } from './postgres-driver.ts';

/** How long a statement waits for a connection, pooled or new, in milliseconds. */
const CONNECTION_TIMEOUT_MS = 5000;

/** How long a statement waits for the lock of another transaction, in milliseconds. */
const LOCK_TIMEOUT_MS = 5000;

/** How long a transaction may be idle before the server ends it, in milliseconds. Its process hangs or is gone then. */
const IDLE_IN_TRANSACTION_MS = 15_000;

/** After how long without traffic TCP keep-alive probes start, in milliseconds. */
const KEEP_ALIVE_MS = 10_000;

/** After how long an unused connection is closed, in milliseconds. */
const IDLE_MS = 60_000;

/** The advisory lock of migrations. It is the same in all versions of the service. */
const MIGRATION_LOCK = 7_157_316_905_201n;

export type PostgresOptions = {
  /** `postgres://...`, with other parameters that `pg` reads from a URL, such as `sslmode`. */
  url: string;
  /** The most connections of this process. Readiness checks use one more. */
  poolSize: number;
};

/**
 * The PostgreSQL dialect, on pg. Code that is specific to Postgres is in the files of this folder that begin with `postgres`.
 *
 * Text is compared bytewise (collation "C"), as SQLite does and JavaScript nearly does. Ids, times and cursors rely on it.
 * Integers have 64 bits, as in SQLite.
 */
export function postgresDialect({ url, poolSize }: PostgresOptions): Dialect {
  return {
    createAdapter: () => new Adapter(),
    createDriver: () =>
      new PostgresDriver({ open: (size) => openPool(url, size), poolSize, waitMs: CONNECTION_TIMEOUT_MS }),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new QueryCompiler(),
  };
}

/** Whether a database is PostgreSQL. */
export function isPostgres<Tables>(db: Kysely<Tables>): boolean {
  return db.getExecutor().adapter instanceof Adapter;
}

function openPool(url: string, poolSize: number): Pool {
  const config: PoolConfig & { pipeline: boolean } = {
    connectionString: url,
    max: poolSize,
    application_name: 'quartermaster',
    connectionTimeoutMillis: CONNECTION_TIMEOUT_MS,
    onConnect: setTimeLimits,
    idleTimeoutMillis: IDLE_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    types: { getTypeParser },
    // Statements that a transaction starts together are sent without waiting for each result. Missing in the types of pg.
    pipeline: true,
  };
  const pool = new Pool(config);
  // An idle connection that breaks is removed from the pool. Without this listener, its error would end the process.
  pool.on('error', () => {});
  // If a connection breaks between two statements, the next statement fails.
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}

/** Sets the limits with a statement, since poolers such as PgBouncer refuse connections with these startup parameters. */
async function setTimeLimits(client: ClientBase): Promise<void> {
  const limits = {
    statement_timeout: STATEMENT_TIMEOUT_MS,
    lock_timeout: LOCK_TIMEOUT_MS,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
  };
  const text = Object.entries(limits).map(([name, milliseconds]) => `set ${name} = ${milliseconds}`);
  // A server may accept a connection and then never answer.
  const query = { text: text.join('; '), query_timeout: CONNECTION_TIMEOUT_MS };
  await client.query(query);
}

/** Types that are parsed as numbers, int8 and numeric. By default pg returns them as texts. */
const NUMBERS: ReadonlySet<number> = new Set([types.builtins.INT8, types.builtins.NUMERIC]);

/** Parses counts and sums as numbers, as SQLite does. It only applies to this pool, and leaves the global parsers of pg alone. */
function getTypeParser(type: number, format?: 'text' | 'binary'): (value: string) => unknown {
  if (format !== 'binary' && NUMBERS.has(type)) return safeNumber;
  return types.getTypeParser(type, format) as (value: string) => unknown;
}

function safeNumber(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) throw new RangeError('a number is beyond 2^53');
  return value;
}

class QueryCompiler extends PostgresQueryCompiler {
  protected override visitDataType(node: DataTypeNode): void {
    if (node.dataType === 'integer') this.append('bigint');
    else if (node.dataType === 'text' && this.parentNode?.kind !== 'CastNode') this.append('text collate "C"');
    else super.visitDataType(node);
  }
}

class Adapter extends PostgresAdapter {
  /** Waits without a time limit for another process that migrates, since a large table may take long. */
  override async acquireMigrationLock(db: Kysely<unknown>): Promise<void> {
    await sql`set statement_timeout = 0`.execute(db);
    await sql`set lock_timeout = 0`.execute(db);
    await sql`select pg_advisory_lock(${sql.lit(MIGRATION_LOCK)})`.execute(db);
  }

  override async releaseMigrationLock(db: Kysely<unknown>): Promise<void> {
    await sql`select pg_advisory_unlock(${sql.lit(MIGRATION_LOCK)})`.execute(db);
    await sql`set statement_timeout = ${sql.lit(STATEMENT_TIMEOUT_MS)}`.execute(db);
    await sql`set lock_timeout = ${sql.lit(LOCK_TIMEOUT_MS)}`.execute(db);
  }
}
