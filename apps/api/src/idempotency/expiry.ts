import { deleteExpiredKeys } from '@quartermaster/db/repositories/idempotency-keys.ts';
import { removeInBatches } from '../remove-in-batches.ts';
import type { Services } from '../services.ts';

const REMOVED_AT_ONCE = 500;

/** Removes answers that were kept long enough, in batches. Answers how many. */
export async function removeExpiredKeys({ db, databaseNow }: Pick<Services, 'db' | 'databaseNow'>): Promise<number> {
  const time = await databaseNow(db);
  return removeInBatches(REMOVED_AT_ONCE, (most) => deleteExpiredKeys(db, time, most));
}
