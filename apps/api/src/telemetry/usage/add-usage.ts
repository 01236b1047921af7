import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { nameKey } from '@quartermaster/naming/name-key.ts';
import {
  addToRollups,
  type CallTimes,
  NO_USAGE,
  type Rollup,
  USAGE_SUMS,
  type UsageSums,
} from '@quartermaster/db/repositories/usage-rollups.ts';
import { seriesKey, type UsageSubject } from '@quartermaster/db/repositories/usage-series.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import type { AggregationLimits } from '../../governance/observations/aggregate.ts';
import { CacheByParts } from '../cache-by-parts.ts';
import type { CallChange } from '../calls/call-changes.ts';
import { TOKEN_COUNTS } from '../calls/call-span.ts';
import { type Call, errorsOf, nameAt } from '../calls/resolve.ts';
import { DAY_MS, dayOf, HOUR_MS, hourOf, startOfDay } from '../periods.ts';
import { findOrCreateSeries, findSeriesOfRemoved } from './series.ts';

type UsageBatch = {
  changes: readonly CallChange[];
  /** Undefined for a provider that was deleted, or that was not stored because the tenant reached its limit. */
  providerOf: (change: CallChange) => Provider | undefined;
  /** Whether the provider was deleted. Its usage stays with its id. */
  ofDeleted: (change: CallChange) => boolean;
  account: string;
  limits: AggregationLimits;
};

/** The sums of one subject, by hours since 1970. */
type SubjectSums = { subject: UsageSubject; byHour: Map<number, UsageSums & CallTimes> };

/**
 * Adds changes of calls to the sums of their hours and days, in the transaction that stores the spans or keys. Calls are only taken
 * back from series that exist. At a provider that is not stored, a failure alone is only added to one that exists, which its call is in.
 */
export async function addUsage(
  db: Database,
  place: TenantPlace,
  { changes, providerOf, ofDeleted, account, limits }: UsageBatch,
  now: Date,
): Promise<void> {
  // Older sums are removed already, so nothing may be subtracted from them.
  const retainedSince = startOfDay(now.getTime() - limits.usageRetentionDays * DAY_MS);
  const sums = new CacheByParts<SubjectSums>();
  for (const change of changes) {
    const { call, by } = change;
    if (by === 0 || call.countedAt < retainedSince) continue;
    const isRemoved = by < 0;
    const { byHour } = sums.get([String(isRemoved), ...cacheKey(call)], () => ({
      subject: subjectOf(call, { provider: providerOf(change), isAtMatched: isRemoved || ofDeleted(change), account }),
      byHour: new Map(),
    }));
    addCall(byHour, change);
  }
  const subjects = new Map<string, UsageSubject>();
  const hours = new Map<string, Rollup>();
  for (const { subject, byHour } of sums.values) {
    const key = seriesKey(place, subject);
    if (!subjects.has(key)) subjects.set(key, subject);
    for (const [hour, ofHour] of byHour) {
      addTo(hours, { ...ofHour, seriesId: key, period: 'hour', startTime: hourOf(hour * HOUR_MS) });
    }
  }
  const changed = [...hours.values()].filter((rollup) => !isZero(rollup));
  const needsSeries = (rollup: Rollup) =>
    isRemoval(rollup) || (isFailureAlone(rollup) && subjects.get(rollup.seriesId)?.providerId === '');
  const [corrections, added] = [changed.filter(needsSeries), changed.filter((rollup) => !needsSeries(rollup))];
  const subjectsOf = (rollups: readonly Rollup[]) => {
    const keys = new Set(rollups.map(({ seriesId }) => seriesId));
    return new Map([...subjects].filter(([key]) => keys.has(key)));
  };
  // Before series are created, because a new one does not contain what is taken back.
  const correctedIdOf = await findSeriesOfRemoved(db, place, subjectsOf(corrections));
  const addedIdOf = await findOrCreateSeries(db, place, { subjects: subjectsOf(added), account, limits }, now);
  // Beyond the limit, several subjects share one series.
  const rows = new Map<string, Rollup>();
  for (const rollup of changed) {
    const seriesId = needsSeries(rollup) ? correctedIdOf(rollup.seriesId) : addedIdOf(rollup.seriesId);
    if (seriesId === undefined) continue;
    addTo(rows, { ...rollup, seriesId });
    addTo(rows, { ...rollup, seriesId, period: 'day', startTime: dayOf(Date.parse(rollup.startTime)) });
  }
  const left = [...rows.values()].filter((rollup) => !isZero(rollup));
  // Every process updates rows in this order, which prevents deadlocks.
  const sorted = left.toSorted((a, b) => (rollupKey(a) < rollupKey(b) ? -1 : 1));
  await addToRollups(db, place, [
    ...sorted.filter(({ period }) => period === 'hour'),
    ...sorted.filter(({ period }) => period === 'day'),
  ]);
}

function subjectOf(
  call: Call,
  { provider, isAtMatched, account }: { provider: Provider | undefined; isAtMatched: boolean; account: string },
): UsageSubject {
  const { kind, agent, provider: matched } = call;
  const at = provider ?? matched;
  const name = nameAt(at, call);
  return {
    // What was counted stays at the provider that it was counted at, which may be deleted.
    providerId: provider?.id ?? (isAtMatched ? matched.id : ''),
    kind,
    name,
    nameKey: nameKey(kind, name, at.name),
    agent,
    account,
  };
}

/** Everything that the subject of a call depends on. */
function cacheKey({ kind, name, agent, provider }: Call) {
  return [kind, agent, provider.id, provider.name, name];
}

function addCall(byHour: SubjectSums['byHour'], { call, by }: CallChange): void {
  const hour = Math.floor(call.countedAt / HOUR_MS);
  let sums = byHour.get(hour);
  if (!sums) {
    sums = { ...NO_USAGE, firstAt: call.countedAt, lastAt: call.countedAt };
    byHour.set(hour, sums);
  }
  const calls = by * call.times;
  sums.calls += calls;
  sums.errors += by * errorsOf(call);
  for (const count of TOKEN_COUNTS) sums[count] += by * call[count];
  sums.firstAt = Math.min(sums.firstAt, call.countedAt);
  sums.lastAt = Math.max(sums.lastAt, call.countedAt);
  sums.durationUs += Math.sign(calls) * Math.max(0, call.durationUs);
}

function addTo(rollups: Map<string, Rollup>, rollup: Rollup): void {
  const key = rollupKey(rollup);
  const known = rollups.get(key);
  rollups.set(key, known ? { ...rollup, ...sumOf(known, rollup) } : rollup);
}

function sumOf(a: UsageSums & CallTimes, b: UsageSums & CallTimes): UsageSums & CallTimes {
  const sums = { ...NO_USAGE };
  for (const name of USAGE_SUMS) sums[name] = a[name] + b[name];
  return { ...sums, firstAt: Math.min(a.firstAt, b.firstAt), lastAt: Math.max(a.lastAt, b.lastAt) };
}

/** Whether calls are only taken back. */
function isRemoval(sums: UsageSums): boolean {
  return USAGE_SUMS.every((name) => sums[name] <= 0);
}

/** Whether calls failed that were counted before. */
function isFailureAlone({ calls, errors, inputTokens, outputTokens }: UsageSums): boolean {
  return errors > 0 && calls === 0 && inputTokens === 0 && outputTokens === 0;
}

function isZero(sums: UsageSums): boolean {
  return USAGE_SUMS.every((name) => sums[name] === 0);
}

function rollupKey({ seriesId, period, startTime }: Pick<Rollup, 'seriesId' | 'period' | 'startTime'>): string {
  return `${seriesId} ${period} ${startTime}`;
}
