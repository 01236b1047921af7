import { inBatches } from '@quartermaster/db/batches.ts';
import type { Database } from '@quartermaster/db/database.ts';
import type { ObservationSubject } from '@quartermaster/db/repositories/runtime-observations.ts';
import { mergeRollups } from '@quartermaster/db/repositories/usage-rollups.ts';
import { findSeriesOfProvider, type UsageSeries } from '@quartermaster/db/repositories/usage-series.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import { findOrCreateOtherSeries, otherSubject } from './series.ts';

/** Series that are merged with a few statements. */
const BATCH_SIZE = 200;

/**
 * Merges the series of subjects into series with the name `other`, to make room for new series. Totals stay the same. The series of
 * each provider are read once.
 */
export async function mergeIntoOther(
  db: Database,
  { tenantId }: Pick<TenantPlace, 'tenantId'>,
  subjects: readonly (ObservationSubject & Pick<TenantPlace, 'subTenantId'>)[],
  now: Date,
): Promise<void> {
  const byProvider = Map.groupBy(subjects, ({ providerId, kind }) => JSON.stringify([providerId, kind]));
  for (const providerSeries of byProvider.values()) {
    const [first] = providerSeries;
    if (!first) continue;
    const merged = new Set(providerSeries.map(subjectInPlace));
    const series = await findSeriesOfProvider(db, { tenantId }, first);
    const ofSubjects = series.filter((entry) => merged.has(subjectInPlace(entry)));
    for await (const batch of inBatches(ofSubjects, BATCH_SIZE)) await mergeSeries(db, { tenantId }, batch, now);
  }
}

async function mergeSeries(
  db: Database,
  { tenantId }: Pick<TenantPlace, 'tenantId'>,
  series: readonly UsageSeries[],
  now: Date,
): Promise<void> {
  const byPlace = Map.groupBy(series, ({ subTenantId }) => subTenantId);
  for (const [subTenantId, inPlace] of byPlace) {
    const place = { tenantId, subTenantId };
    const wanted = inPlace.map((entry) => ({ key: entry.id, replacement: otherSubject(entry) }));
    const others = new Map(await findOrCreateOtherSeries(db, place, wanted, now));
    const byOther = Map.groupBy(inPlace, ({ id }) => others.get(id) ?? id);
    for (const [to, mergedSeries] of byOther) {
      const from = mergedSeries.map(({ id }) => id).filter((id) => id !== to);
      await mergeRollups(db, { tenantId }, { from, to });
    }
  }
}

function subjectInPlace({
  subTenantId,
  providerId,
  kind,
  nameKey,
}: ObservationSubject & Pick<TenantPlace, 'subTenantId'>) {
  return JSON.stringify([subTenantId, providerId, kind, nameKey]);
}
