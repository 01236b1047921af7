import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { countFailedSyncs } from '@quartermaster/db/repositories/inventory-sync.ts';
import { scopeOf } from '@quartermaster/db/tenancy.ts';

/** A sync is delayed by up to this part of its interval, so that many providers do not sync at the same moment. */
const JITTER = 0.1;

/** The pause grows no further after this many failures in a row. */
const MAX_DOUBLINGS = 5;

const DAY_SECONDS = 24 * 3600;

export function nextAfterSuccess(now: Date, intervalSeconds: number): Date {
  return new Date(now.getTime() + intervalSeconds * 1000 * (1 + Math.random() * JITTER));
}

/** Exponential backoff: the pause doubles with each failure since the last success, up to a day or one interval. */
export async function nextAfterFailure(db: Database, provider: Provider, now: Date): Promise<Date> {
  const interval = provider.syncIntervalSeconds ?? DAY_SECONDS;
  const since = { providerId: provider.id, since: provider.inventorySyncedAt, limit: MAX_DOUBLINGS };
  const failures = await countFailedSyncs(db, scopeOf(provider), since);
  return nextAfterSuccess(now, Math.min(interval * 2 ** failures, Math.max(interval, DAY_SECONDS)));
}
