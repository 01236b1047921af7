import type { CompiledQuery, DatabaseConnection, QueryResult } from 'kysely';
import type { Database } from './database.ts';
import { isPostgres } from './dialects/postgres.ts';

/** By transaction: the connection on which its cached statements run. */
const connections = new WeakMap<Database, DatabaseConnection>();

/** Transactions whose work is over. */
const ended = new WeakSet<Database>();

/**
 * Runs the work of a transaction. Its cached statements go to the connection at once: Kysely would send each after the result of the
 * one before.
 */
export async function withConcurrentStatements<T>(trx: Database, work: () => Promise<T>): Promise<T> {
  const executor = trx.getExecutor();
  // A plugin only sees what Kysely runs.
  if (executor.plugins.length > 0) return work();
  connections.set(trx, await executor.provideConnection(async (connection) => connection));
  try {
    return await work();
  } finally {
    connections.delete(trx);
    ended.add(trx);
  }
}

/** Runs a compiled statement: beside others of its transaction if that is allowed. @throws at once if the transaction has ended */
export function executeCompiled<Row>(db: Database, query: CompiledQuery<Row>): Promise<QueryResult<Row>> {
  if (ended.has(db)) throw new Error('the transaction has ended');
  return (connections.get(db) ?? db.getExecutor()).executeQuery<Row>(query);
}

type Parts = readonly (() => unknown)[];
type Results<P extends Parts> = { -readonly [Index in keyof P]: Awaited<ReturnType<P[Index]>> };

/**
 * Runs parts of the work of a transaction that do not need each other's results or effects. On PostgreSQL their first cached
 * statements are sent together, which saves round trips. On SQLite, which answers at once, they run one after the other, so that
 * long work gives way between its statements. So they do outside of a transaction, where each would take a connection.
 *
 * Unlike `Promise.all` it ends when all parts that began have ended, so that none goes on while the transaction is rolled back.
 *
 * @throws what the first of the failed parts threw, in their order
 */
export async function together<const P extends Parts>(db: Database, parts: P): Promise<Results<P>> {
  if (!db.isTransaction || !isPostgres(db)) {
    const values: unknown[] = [];
    for (const part of parts) values.push(await part());
    return values as Results<P>;
  }
  const results = await Promise.allSettled(parts.map(async (part) => part()));
  return results.map((result) => {
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  }) as Results<P>;
}
