import { addToRollups, NO_USAGE } from '@quartermaster/db/repositories/usage-rollups.ts';
import { insertSeries, type UsageSubject } from '@quartermaster/db/repositories/usage-series.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import { dayOf, HOUR_MS, hourOf } from '../../src/telemetry/periods.ts';
import type { TestServer } from './server.ts';

/** Adds a call of each subject in the hour before this one, to the sums of the hour and of its day. Returns when that hour begins. */
export async function addCalls(
  { services: { db, now } }: Pick<TestServer, 'services'>,
  place: TenantPlace,
  subjects: readonly UsageSubject[],
): Promise<string> {
  const time = now().getTime() - HOUR_MS;
  const sums = { ...NO_USAGE, calls: 1, firstAt: time, lastAt: time };
  // In one transaction, because housekeeping removes series without sums.
  await db.transaction().execute(async (trx) => {
    const ids = await insertSeries(trx, place, subjects, now());
    const rollups = [...ids.values()].flatMap((seriesId) => [
      { seriesId, period: 'hour' as const, startTime: hourOf(time), ...sums },
      { seriesId, period: 'day' as const, startTime: dayOf(time), ...sums },
    ]);
    await addToRollups(trx, place, rollups);
  });
  return hourOf(time);
}
