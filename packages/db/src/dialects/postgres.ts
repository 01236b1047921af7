import {
  type DataTypeNode,
  type Dialect,
  type Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  sql,
} from 'kysely';
import { type ClientBase, Pool, types } from 'pg';
import { PostgresDriver, STATEMENT_TIMEOUT_MS } from './postgres-driver.ts';

/** How long a request waits for a connection: a free one of the pool, or a new one. In milliseconds. */
const CONNECTION_TIMEOUT_MS = 5000;

/** How long a statement waits for the lock of another transaction, in milliseconds. */
const LOCK_TIMEOUT_MS = 5000;

/** How long a transaction may be left alone before the server ends it: its process hangs, or is gone. In milliseconds. */
const IDLE_IN_TRANSACTION_MS = 15_000;

/** After how long without traffic the other side of a connection is asked whether it is there, in milliseconds. */
const KEEP_ALIVE_MS = 10_000;

/** A connection that nobody used for so long is closed, in milliseconds. */
const IDLE_MS = 60_000;

/** Of all versions of the service the same: who migrates holds it. */
const MIGRATION_LOCK = 7_157_316_905_201n;

export type PostgresOptions = {
  /** `postgres://...`, with what else `pg` reads from a URL, such as `sslmode`. */
  url: string;
  /** Connections of this process, at the most; one more checks whether the database answers. */
  poolSize: number;
};

/**
 * PostgreSQL, by pg. Everything that Postgres has of its own stands in this folder's files of its name.
 *
 * Text is compared bytewise (collation "C"), as SQLite does and JavaScript nearly does: ids, times and cursors rely on
 * it. Integers have 64 bits, as in SQLite.
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

/** Whether a database is PostgreSQL: for the few things that the dialects do differently. */
export function isPostgres<Tables>(db: Kysely<Tables>): boolean {
  return db.getExecutor().adapter instanceof Adapter;
}

function openPool(url: string, poolSize: number): Pool {
  const pool = new Pool({
    connectionString: url,
    max: poolSize,
    application_name: 'quartermaster',
    connectionTimeoutMillis: CONNECTION_TIMEOUT_MS,
    onConnect: setTimeLimits,
    idleTimeoutMillis: IDLE_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    types: { getTypeParser },
  });
  // A connection that breaks while nobody uses it leaves the pool. Without a listener it would end the process.
  pool.on('error', () => {});
  // One that breaks between two statements says so at the next.
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}

/** By a statement: connection poolers, such as PgBouncer, refuse a connection that asks for them in its startup message. */
async function setTimeLimits(client: ClientBase): Promise<void> {
  const limits = {
    statement_timeout: STATEMENT_TIMEOUT_MS,
    lock_timeout: LOCK_TIMEOUT_MS,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
  };
  const text = Object.entries(limits).map(([name, milliseconds]) => `set ${name} = ${milliseconds}`);
  // A server may accept a connection and then stay silent.
  const query = { text: text.join('; '), query_timeout: CONNECTION_TIMEOUT_MS };
  await client.query(query);
}

/** The types whose values are numbers here: int8 and numeric. pg gives them as text. */
const NUMBERS: ReadonlySet<number> = new Set([types.builtins.INT8, types.builtins.NUMERIC]);

/** Counts and sums are numbers here, as they are in SQLite. Of this pool alone: pg's own parsers stay as they are. */
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
  /** Who comes second waits for the end of the first, however long: a large table takes its time. */
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
