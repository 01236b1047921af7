import { setTimeout as sleep } from 'node:timers/promises';
import type { Services } from './services.ts';

/**
 * Removes rows batch by batch until there are none left, or the service stops. SQLite has one writer, so a long transaction would
 * block the others.
 *
 * @param remove removes at most `limit` rows, and returns how many
 * @returns how many rows were removed
 */
export async function removeInBatches(
  { stopping }: Pick<Services, 'stopping'>,
  batchSize: number,
  remove: (limit: number) => Promise<number>,
): Promise<number> {
  let removed = 0;
  while (!stopping.aborted) {
    const batch = await remove(batchSize);
    removed += batch;
    if (batch < batchSize) break;
  }
  return removed;
}

/**
 * Like {@link removeInBatches}, for many rows: after each batch it pauses for as long as the batch took, so that other writes
 * get at least half of the time.
 *
 * @param remove removes one batch, and returns how many rows and whether there may be more
 */
export async function removeInPacedBatches(
  { stopping }: Pick<Services, 'stopping'>,
  remove: () => Promise<{ removed: number; more: boolean }>,
): Promise<number> {
  let removed = 0;
  while (!stopping.aborted) {
    const start = performance.now();
    const batch = await remove();
    removed += batch.removed;
    if (!batch.more) break;
    await sleep(performance.now() - start);
  }
  return removed;
}

/** If it fails for this many tenants, the database itself is probably unavailable. */
const MAX_FAILED_TENANTS = 10;

/**
 * Runs a removal for one tenant after the other. If it fails for one of them, for example because a lock is held for too long,
 * the others still get their turn. It ends early when the service stops.
 *
 * @returns how many rows were removed
 * @throws the first error, at the end or after {@link MAX_FAILED_TENANTS}
 */
export async function removeForEachTenant<T>(
  { stopping }: Pick<Services, 'stopping'>,
  tenants: readonly T[],
  remove: (tenant: T) => Promise<number>,
): Promise<number> {
  let removed = 0;
  const errors: unknown[] = [];
  for (const tenant of tenants) {
    if (stopping.aborted) break;
    try {
      removed += await remove(tenant);
    } catch (error) {
      errors.push(error);
      if (errors.length === MAX_FAILED_TENANTS) break;
    }
  }
  if (errors.length > 0) throw errors[0];
  return removed;
}
