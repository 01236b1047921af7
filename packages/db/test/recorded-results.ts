import type { KyselyPlugin, QueryResult } from 'kysely';
import type { Database } from '../src/database.ts';

/** A database that works as another one, and the result of each of its statements, in their order. */
export function recordingDatabase(db: Database): { recording: Database; results: readonly QueryResult<unknown>[] } {
  const results: QueryResult<unknown>[] = [];
  const plugin: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    transformResult: async ({ result }) => {
      results.push(result);
      return result;
    },
  };
  return { recording: db.withPlugin(plugin), results };
}

/** How many rows each statement changed. */
export function affectedRows(results: readonly QueryResult<unknown>[]): number[] {
  return results.map(({ numAffectedRows }) => Number(numAffectedRows ?? 0));
}
