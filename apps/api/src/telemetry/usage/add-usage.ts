import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { nameKey, plainName } from '@quartermaster/db/name-key.ts';
import {
  addToRollups,
  type Period,
  type Rollup,
  type UsageSums,
} from '@quartermaster/db/repositories/usage-rollups.ts';
import { seriesKey, type UsageSubject } from '@quartermaster/db/repositories/usage-series.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import type { FoldLimits } from '../../runtime-observations/fold.ts';
import type { CallChange } from '../calls/call-changes.ts';
import type { Call } from '../calls/resolve.ts';
import { dayOf, hourOf } from './periods.ts';
import { seriesOf } from './series.ts';

type Added = {
  changes: readonly CallChange[];
  /** Undefined for a provider that is not stored, since the tenant has as many as it may. */
  providerOf: (call: Call) => Provider | undefined;
  account: string;
  limits: FoldLimits;
};

const DAY_MS = 24 * 3600 * 1000;

/** Adds changes of calls to the sums of their hours and days, in the transaction that stores what tells of them. */
export async function addUsage(
  db: Database,
  place: TenantPlace,
  { changes, providerOf, account, limits }: Added,
  now: Date,
): Promise<void> {
  // What was removed with its hour must not be subtracted from sums that are not there any more.
  const keptSince = dayOf(now.getTime() - limits.usageRetentionDays * DAY_MS);
  const subjects = new Map<string, UsageSubject>();
  const rollups = new Map<string, Rollup>();
  for (const { call, by } of changes) {
    if (by === 0 || dayOf(call.countedAt) < keptSince) continue;
    const subject = subjectOf(call, { provider: providerOf(call), account });
    const key = seriesKey(place, subject);
    if (!subjects.has(key)) subjects.set(key, subject);
    const startTimes = { hour: hourOf(call.countedAt), day: dayOf(call.countedAt) };
    for (const period of ['hour', 'day'] as const) {
      add(rollups, { seriesId: key, period, startTime: startTimes[period] }, { call, by });
    }
  }
  const changed = [...rollups.values()].filter((rollup) => !isZero(rollup));
  const keys = new Set(changed.map(({ seriesId }) => seriesId));
  const wanted = new Map([...subjects].filter(([key]) => keys.has(key)));
  const idOf = await seriesOf(db, place, { subjects: wanted, account, limits }, now);
  // Beyond the limit several subjects have one series.
  const rows = new Map<string, Rollup>();
  for (const rollup of changed) {
    const row = { ...rollup, seriesId: idOf(rollup.seriesId) };
    const key = rollupKey(row);
    const same = rows.get(key);
    rows.set(key, same ? { ...row, ...sumOf(same, row) } : row);
  }
  const left = [...rows.values()].filter((rollup) => !isZero(rollup));
  // In one order everywhere, so that two processes cannot wait for each other.
  const sorted = left.toSorted((a, b) => (rollupKey(a) < rollupKey(b) ? -1 : 1));
  for (const period of ['hour', 'day'] as const) {
    await addToRollups(
      db,
      place,
      sorted.filter((rollup) => rollup.period === period),
    );
  }
}

function subjectOf(
  { kind, name, agent, provider: matched }: Call,
  { provider, account }: { provider: Provider | undefined; account: string },
): UsageSubject {
  const providerName = provider?.name ?? matched.name;
  const plain = plainName(kind, name, providerName);
  return {
    providerId: provider?.id ?? '',
    kind,
    name: plain,
    nameKey: nameKey(kind, plain, providerName),
    agent,
    account,
  };
}

function add(
  rollups: Map<string, Rollup>,
  key: { seriesId: string; period: Period; startTime: string },
  { call, by }: Pick<CallChange, 'call' | 'by'>,
): void {
  const sums: UsageSums = {
    calls: by,
    errors: call.failed ? by : 0,
    inputTokens: by * call.inputTokens,
    outputTokens: by * call.outputTokens,
    durationUs: by * Math.max(0, call.durationUs),
  };
  const known = rollups.get(rollupKey(key));
  rollups.set(rollupKey(key), { ...key, ...(known ? sumOf(known, sums) : sums) });
}

function sumOf(a: UsageSums, b: UsageSums): UsageSums {
  return {
    calls: a.calls + b.calls,
    errors: a.errors + b.errors,
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    durationUs: a.durationUs + b.durationUs,
  };
}

function isZero({ calls, errors, inputTokens, outputTokens, durationUs }: UsageSums): boolean {
  return calls === 0 && errors === 0 && inputTokens === 0 && outputTokens === 0 && durationUs === 0;
}

function rollupKey({ seriesId, period, startTime }: Pick<Rollup, 'seriesId' | 'period' | 'startTime'>): string {
  return `${seriesId} ${period} ${startTime}`;
}
