import type { CompiledQuery, QueryExecutor, QueryResult } from 'kysely';
import type { Database } from './database.ts';

/** By transaction: an executor that sends a statement without waiting for the result of the one before. */
const executors = new WeakMap<Database, QueryExecutor>();

/**
 * Lets cached statements of a transaction that are started together, with `Promise.all`, go to the server together. Kysely would
 * send each after the result of the one before. The server runs them in the order in which they were started, so a statement
 * may follow one that it depends on, as long as it does not need the result.
 *
 * On SQLite it changes nothing: a statement has its result when it was started.
 */
export async function allowConcurrentStatements(trx: Database): Promise<void> {
  const executor = trx.getExecutor();
  const connection = await executor.provideConnection(async (one) => one);
  executors.set(trx, executor.withConnectionProvider({ provideConnection: (consumer) => consumer(connection) }));
}

/** Runs a compiled statement: beside others of its transaction if that is allowed. */
export function executeCompiled<Row>(db: Database, query: CompiledQuery<Row>): Promise<QueryResult<Row>> {
  return (executors.get(db) ?? db.getExecutor()).executeQuery(query);
}
