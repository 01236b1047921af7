import type { Database } from '@quartermaster/db/database.ts';
import {
  countSeries,
  countSeriesOf,
  findSeriesIds,
  insertSeries,
  OTHER,
  seriesKey,
  type UsageSubject,
} from '@quartermaster/db/repositories/usage-series.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import type { FoldLimits } from '../../runtime-observations/fold.ts';
import { roomWithinShares } from '../../tenants/fair-share.ts';

type Wanted = {
  /** By their keys. */
  subjects: ReadonlyMap<string, UsageSubject>;
  account: string;
  limits: FoldLimits;
};

/**
 * The series of some subjects: the existing one, or a new one. Senders choose the names of models, tools and agents, so the
 * number of series is limited: beyond the limit calls are added up under the name and agent `other`, and nothing is lost
 * from the totals.
 *
 * @returns a function from a subject's key to the id of its series
 */
export async function seriesOf(
  db: Database,
  place: TenantPlace,
  { subjects, account, limits }: Wanted,
  now: Date,
): Promise<(key: string) => string> {
  const ids = await findSeriesIds(db, place, [...subjects.keys()]);
  const missing = [...subjects].filter(([key]) => !ids.has(key));
  if (missing.length > 0) {
    const room = await roomForSeries(db, place, { account, limits, wanted: missing.length });
    const made = await insertSeries(
      db,
      place,
      missing.slice(0, room).map(([, subject]) => subject),
      now,
    );
    for (const [key, id] of made) ids.set(key, id);
    const others = missing.slice(room).map(([key, subject]) => ({ key, other: otherOf(subject) }));
    for (const [key, id] of await otherSeries(db, place, others, now)) ids.set(key, id);
  }
  return (key) => {
    const id = ids.get(key);
    if (id === undefined) throw new Error('every subject has a series');
    return id;
  };
}

/** How many of some new series an account may add, so that its names leave room for those of others. */
async function roomForSeries(
  db: Database,
  place: TenantPlace,
  { account, limits, wanted }: Pick<Wanted, 'account' | 'limits'> & { wanted: number },
): Promise<number> {
  const used = await countSeries(db, place);
  const countOwn = () => countSeriesOf(db, place, account);
  const { room } = await roomWithinShares(db, place, { used, free: limits.usageSeries - used, wanted, countOwn });
  return room;
}

/** Of each provider, kind and account there is one at most, however many names they have. */
export function otherOf({ providerId, kind, account }: UsageSubject): UsageSubject {
  return { providerId, kind, account, name: OTHER, nameKey: OTHER, agent: OTHER };
}

/** The ids of the series that stand for others, by the keys that these are given. Makes those that are missing. */
export async function otherSeries(
  db: Database,
  place: TenantPlace,
  others: readonly { key: string; other: UsageSubject }[],
  now: Date,
): Promise<[string, string][]> {
  const byKey = new Map(others.map(({ other }) => [seriesKey(place, other), other]));
  const ids = await findSeriesIds(db, place, [...byKey.keys()]);
  const missing = [...byKey].filter(([key]) => !ids.has(key)).map(([, other]) => other);
  for (const [key, id] of await insertSeries(db, place, missing, now)) ids.set(key, id);
  return others.flatMap(({ key, other }) => {
    const id = ids.get(seriesKey(place, other));
    return id === undefined ? [] : [[key, id]];
  });
}
