import { sql } from 'kysely';
import type { Database } from '../database.ts';

/** A caller and a time window that a limit is counted for. The start is RFC 3339, UTC, milliseconds. */
export type LimitWindow = { tenantId: string; policy: string; caller: string; windowStart: string };

/**
 * Reserves points of a limit that processes share, in one statement. It does not check the limit: the returned total says which
 * points the caller got, and no two callers get the same points.
 *
 * @returns how many points of the window are reserved in total
 */
export async function reservePoints(db: Database, window: LimitWindow, points: number): Promise<number> {
  const { tenantId, policy, caller, windowStart } = window;
  const { reserved } = await db
    .insertInto('rate_limit_windows')
    .values({ tenant_id: tenantId, policy, caller, window_start: windowStart, reserved: points })
    .onConflict((conflict) =>
      conflict
        .columns(['tenant_id', 'policy', 'caller', 'window_start'])
        .doUpdateSet({ reserved: sql<number>`${sql.ref('rate_limit_windows.reserved')} + ${points}` }),
    )
    .returning('reserved')
    .executeTakeFirstOrThrow();
  return reserved;
}

/** Removes windows that started before `startedBefore`: at most `limit`. Returns how many. */
export async function deleteWindows(db: Database, startedBefore: string, limit: number): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('rate_limit_windows')
    .where(({ eb, refTuple, selectFrom }) =>
      eb(
        refTuple('tenant_id', 'policy', 'caller', 'window_start'),
        'in',
        selectFrom('rate_limit_windows')
          .select(['tenant_id', 'policy', 'caller', 'window_start'])
          .where('window_start', '<', startedBefore)
          .orderBy('window_start')
          .limit(limit)
          .$asTuple('tenant_id', 'policy', 'caller', 'window_start'),
      ),
    )
    .executeTakeFirst();
  return Number(numDeletedRows);
}
