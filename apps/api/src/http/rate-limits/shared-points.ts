import { createHmac, createSecretKey } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { deleteWindows, reservePoints } from '@quartermaster/db/repositories/rate-limits.ts';
import { removeInBatches } from '../../platform/remove-in-batches.ts';
import type { Services } from '../../platform/services.ts';
import { type TakePoints, WINDOW_MS } from './rate-limit.ts';

/** The longest that a request waits for the database to count it, in milliseconds. */
export const SHARED_LIMITS_WAIT_MS = 500;

/** After a failure, the database is not asked for this time, in milliseconds. */
const PAUSE_MS = 5000;

const REMOVED_AT_ONCE = 1000;

type Needs = Pick<Services, 'db' | 'log' | 'secrets'>;

/**
 * Points that processes take from a shared table. If the database is slow or unavailable, requests neither wait nor are
 * refused: each process counts alone.
 *
 * @param waitMs how long a request waits for the database
 */
export function sharedPoints({ db, log, secrets }: Needs, waitMs: number): TakePoints {
  const key = createSecretKey(secrets.derive('rate limits'));
  let pausedUntil = 0;
  return async (policy, { tenantId, id }, windowStart, points) => {
    if (performance.now() < pausedUntil) return null;
    const caller = createHmac('sha256', key).update(id).digest('base64url');
    const window = { tenantId, policy, caller, windowStart: windowStart.toISOString() };
    const waiting = new AbortController();
    try {
      const late = sleep(waitMs, undefined, { signal: waiting.signal }).then(() => {
        throw new Error(`the database did not answer within ${waitMs} ms`);
      });
      return await Promise.race([reservePoints(db, window, points), late]);
    } catch (error) {
      pausedUntil = performance.now() + PAUSE_MS;
      log.warn({ err: error, policy }, 'a rate limit is counted by this process alone for a while');
      return null;
    } finally {
      waiting.abort();
    }
  };
}

/**
 * Removes the counts of past windows in batches. Returns how many. It uses the database's clock: a process whose own clock is
 * ahead would remove counts that other processes still use.
 */
export async function removePastWindows(services: Pick<Services, 'db' | 'databaseNow' | 'stopping'>): Promise<number> {
  const { db, databaseNow } = services;
  const time = await databaseNow(db);
  // The clocks of processes differ a little.
  const startedBefore = new Date(time.getTime() - 2 * WINDOW_MS).toISOString();
  return removeInBatches(services, REMOVED_AT_ONCE, (most) => deleteWindows(db, startedBefore, most));
}
