import type { CompiledQuery, DatabaseConnection, QueryResult } from 'kysely';
import type { Database } from './database.ts';

/** By transaction: the connection on which its cached statements run. */
const connections = new WeakMap<Database, DatabaseConnection>();

/**
 * Runs the work of a transaction. Cached statements that it starts together, with `Promise.all`, go to the server together, and
 * without the detour through Kysely, which would send each after the result of the one before. The server runs them in the order in
 * which they were started, so a statement may follow one that it depends on, as long as it does not need the result.
 *
 * On SQLite a statement has its result when it was started.
 */
export async function withConcurrentStatements<T>(trx: Database, work: () => Promise<T>): Promise<T> {
  const executor = trx.getExecutor();
  // A plugin only sees what Kysely runs.
  if (executor.plugins.length > 0) return work();
  connections.set(trx, await executor.provideConnection(async (connection) => connection));
  try {
    return await work();
  } finally {
    // Kysely refuses what is started after the end.
    connections.delete(trx);
  }
}

/** Runs a compiled statement: beside others of its transaction if that is allowed. */
export function executeCompiled<Row>(db: Database, query: CompiledQuery<Row>): Promise<QueryResult<Row>> {
  return (connections.get(db) ?? db.getExecutor()).executeQuery<Row>(query);
}
