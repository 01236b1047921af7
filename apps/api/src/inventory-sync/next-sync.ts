import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { countFailedSyncs } from '@quartermaster/db/repositories/inventory-sync.ts';
import { scopeOf } from '@quartermaster/db/tenancy.ts';

/** Syncs are spread by up to this part of their interval, so that those of many providers do not come at once. */
const JITTER = 0.1;

/** After so many failures in a row the pauses grow no longer. */
const MOST_DOUBLINGS = 5;

const DAY_SECONDS = 24 * 3600;

export function nextAfterSuccess(now: Date, intervalSeconds: number): Date {
  return new Date(now.getTime() + intervalSeconds * 1000 * (1 + Math.random() * JITTER));
}

/** The pause doubles with each failure since the last success, up to a day, or to the interval where that is longer. */
export async function nextAfterFailure(db: Database, provider: Provider, now: Date): Promise<Date> {
  const interval = provider.syncIntervalSeconds ?? DAY_SECONDS;
  const since = { providerId: provider.id, since: provider.inventorySyncedAt, most: MOST_DOUBLINGS };
  const failures = await countFailedSyncs(db, scopeOf(provider), since);
  return nextAfterSuccess(now, Math.min(interval * 2 ** failures, Math.max(interval, DAY_SECONDS)));
}
