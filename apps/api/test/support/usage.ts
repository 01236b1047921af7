import { addToRollups } from '@quartermaster/db/repositories/usage-rollups.ts';
import { insertSeries, type UsageSubject } from '@quartermaster/db/repositories/usage-series.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import type { TestServer } from './server.ts';

const HOUR_MS = 3600 * 1000;

/** Adds a call of each subject in the hour before this one. Returns when that hour begins. */
export async function addCalls(
  { services: { db, now } }: Pick<TestServer, 'services'>,
  place: TenantPlace,
  subjects: readonly UsageSubject[],
): Promise<string> {
  const ids = await insertSeries(db, place, subjects, now());
  const startTime = `${new Date(now().getTime() - HOUR_MS).toISOString().slice(0, 13)}:00:00.000Z`;
  const sums = { calls: 1, errors: 0, inputTokens: 0, outputTokens: 0, durationUs: 0 };
  const rollups = [...ids.values()].map((seriesId) => ({ seriesId, period: 'hour' as const, startTime, ...sums }));
  await addToRollups(db, place, rollups);
  return startTime;
}
