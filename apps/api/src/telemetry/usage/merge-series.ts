import type { Database } from '@quartermaster/db/database.ts';
import type { ObservationSubject } from '@quartermaster/db/repositories/runtime-observations.ts';
import { moveRollups } from '@quartermaster/db/repositories/usage-rollups.ts';
import { findSeriesOfSubjects } from '@quartermaster/db/repositories/usage-series.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import { findOrCreateOtherSeries, otherSubject } from './series.ts';

/** Merges the series of subjects into series with the name `other`, to make room for new series. Totals stay the same. */
export async function mergeIntoOther(
  db: Database,
  { tenantId }: Pick<TenantPlace, 'tenantId'>,
  subjects: readonly (ObservationSubject & Pick<TenantPlace, 'subTenantId'>)[],
  now: Date,
): Promise<void> {
  const merged = new Set(subjects.map(subjectInPlace));
  const found = await findSeriesOfSubjects(db, { tenantId }, subjects);
  const series = found.filter((one) => merged.has(subjectInPlace(one)));
  const byPlace = Map.groupBy(series, ({ subTenantId }) => subTenantId);
  for (const [subTenantId, inPlace] of byPlace) {
    const place = { tenantId, subTenantId };
    const wanted = inPlace.map((one) => ({ key: one.id, other: otherSubject(one) }));
    const others = new Map(await findOrCreateOtherSeries(db, place, wanted, now));
    const byOther = Map.groupBy(inPlace, ({ id }) => others.get(id) ?? id);
    for (const [to, own] of byOther) {
      const from = own.map(({ id }) => id).filter((id) => id !== to);
      await moveRollups(db, { tenantId }, { from, to });
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
