import type { Database } from '@quartermaster/db/database.ts';
import {
  countSeries,
  countSeriesShares,
  findSeriesIds,
  insertSeries,
  OTHER,
  seriesKey,
  type UsageSubject,
} from '@quartermaster/db/repositories/usage-series.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import type { AggregationLimits } from '../../governance/observations/aggregate.ts';
import { roomWithinShares } from '../../platform/fair-share.ts';

type SeriesRequest = {
  /** By their series keys. */
  subjects: ReadonlyMap<string, UsageSubject>;
  account: string;
  limits: AggregationLimits;
};

/**
 * Finds the series of subjects, and creates the missing ones. Senders choose the names of models, tools and agents, so the
 * number of series is limited. Beyond the limit, calls are added up under the name and agent `other`, so totals stay exact.
 *
 * @returns a look-up function from a series key to the id of the series
 */
export async function findOrCreateSeries(
  db: Database,
  place: TenantPlace,
  { subjects, account, limits }: SeriesRequest,
  now: Date,
): Promise<(key: string) => string> {
  const ids = await findSeriesIds(db, place, [...subjects.keys()]);
  const missing = [...subjects].filter(([key]) => !ids.has(key));
  if (missing.length > 0) {
    const room = await roomForSeries(db, place, { account, limits, wanted: missing.length });
    const created = await insertSeries(
      db,
      place,
      missing.slice(0, room).map(([, subject]) => subject),
      now,
    );
    for (const [key, id] of created) ids.set(key, id);
    const replaced = missing.slice(room).map(([key, subject]) => ({ key, replacement: otherSubject(subject) }));
    for (const [key, id] of await findOrCreateOtherSeries(db, place, replaced, now)) ids.set(key, id);
  }
  return (key) => {
    const id = ids.get(key);
    if (id === undefined) throw new Error(`no series was found or created for ${key}`);
    return id;
  };
}

/**
 * Finds the series from which calls of subjects are taken back: the series of the subject, otherwise the first that exists of those
 * that its calls may have been added to instead. None is created, so that nothing is subtracted where nothing was added.
 *
 * @param subjects the subjects, by their series keys
 * @returns a look-up function from a series key to the id of the series. Undefined if the calls are in no series any more
 */
export async function findSeriesOfRemoved(
  db: Database,
  place: TenantPlace,
  subjects: ReadonlyMap<string, UsageSubject>,
): Promise<(key: string) => string | undefined> {
  const ids = await findSeriesIds(db, place, [...subjects.keys()]);
  const missing = [...subjects].filter(([key]) => !ids.has(key));
  const replacing = new Map(missing.map(([key, subject]) => [key, replacingKeys(place, subject)]));
  const found = await findSeriesIds(db, place, [...new Set([...replacing.values()].flat())]);
  return (key) => ids.get(key) ?? replacing.get(key)?.flatMap((replacingKey) => found.get(replacingKey) ?? [])[0];
}

/** The keys of the series that calls of a subject may have been added to, because of a limit or after the subject was pruned. */
function replacingKeys(place: TenantPlace, subject: UsageSubject): string[] {
  const withoutProvider = { ...subject, providerId: '' };
  return [otherSubject(subject), withoutProvider, otherSubject(withoutProvider)].map((replacement) =>
    seriesKey(place, replacement),
  );
}

/** How many new series an account may add within its fair share. */
async function roomForSeries(
  db: Database,
  place: TenantPlace,
  { account, limits, wanted }: Pick<SeriesRequest, 'account' | 'limits'> & { wanted: number },
): Promise<number> {
  const used = await countSeries(db, place);
  const countOwn = () => countSeriesShares(db, place, account);
  const { room } = await roomWithinShares(db, place, { used, free: limits.usageSeries - used, wanted, countOwn });
  return room;
}

/** The subject `other` that replaces a subject. There is one for each provider, kind and account. */
export function otherSubject({ providerId, kind, account }: UsageSubject): UsageSubject {
  return { providerId, kind, account, name: OTHER, nameKey: OTHER, agent: OTHER };
}

/** Finds or creates the series of `other` subjects. @returns pairs of the given key and the id of the series */
export async function findOrCreateOtherSeries(
  db: Database,
  place: TenantPlace,
  replaced: readonly { key: string; replacement: UsageSubject }[],
  now: Date,
): Promise<[string, string][]> {
  const byKey = new Map(replaced.map(({ replacement }) => [seriesKey(place, replacement), replacement]));
  const ids = await findSeriesIds(db, place, [...byKey.keys()]);
  const missing = [...byKey].filter(([key]) => !ids.has(key)).map(([, subject]) => subject);
  for (const [key, id] of await insertSeries(db, place, missing, now)) ids.set(key, id);
  return replaced.flatMap(({ key, replacement }) => {
    const id = ids.get(seriesKey(place, replacement));
    return id === undefined ? [] : [[key, id]];
  });
}
