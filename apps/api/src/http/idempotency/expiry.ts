import { deleteExpiredKeys } from '@quartermaster/db/repositories/idempotency-keys.ts';
import { removeInBatches } from '../../platform/remove-in-batches.ts';
import type { Services } from '../../platform/services.ts';

const REMOVED_AT_ONCE = 500;

/** Removes expired answers in batches. Returns how many. */
export async function removeExpiredKeys(services: Pick<Services, 'db' | 'databaseNow' | 'stopping'>): Promise<number> {
  const { db, databaseNow } = services;
  const time = await databaseNow(db);
  return removeInBatches(services, REMOVED_AT_ONCE, (most) => deleteExpiredKeys(db, time, most));
}
