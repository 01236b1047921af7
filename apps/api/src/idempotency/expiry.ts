import { deleteExpiredKeys } from '@quartermaster/db/repositories/idempotency-keys.ts';
import type { Services } from '../services.ts';

const REMOVED_AT_ONCE = 500;

/** Removes answers that were kept long enough, in batches, since each holds the only writer. Answers how many. */
export async function removeExpiredKeys({ db, now }: Pick<Services, 'db' | 'now'>): Promise<number> {
  const time = now();
  for (let removed = 0; ; ) {
    const batch = await deleteExpiredKeys(db, time, REMOVED_AT_ONCE);
    removed += batch;
    if (batch < REMOVED_AT_ONCE) return removed;
  }
}
