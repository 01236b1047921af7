import type { Database } from '@quartermaster/db/database.ts';
import { clockOffset } from '@quartermaster/db/database-clock.ts';
import { exclusively } from '@quartermaster/db/exclusively.ts';
import { sumStoredBytes } from '@quartermaster/db/repositories/tenant-usage.ts';
import { openRotations } from '../credentials/expiry.ts';
import { removeUnusedGrants } from '../gateway-sessions/unused-grants.ts';
import { removeExpiredKeys } from '../idempotency/expiry.ts';
import { syncSchedule } from '../inventory-sync/schedule.ts';
import { removeExpiredInvitations } from '../memberships/expiry.ts';
import { removeUnclaimedUsers } from '../onboarding/service.ts';
import { eraseFormer } from '../provider-credentials/service.ts';
import { removePastWindows } from '../rate-limits/shared-points.ts';
import type { Services } from '../services.ts';
import { removeOldRecords } from '../tenants/record-retention.ts';
import { makeDays, removeOldTraces } from '../telemetry/traces/retention.ts';
import { removeOldCalls, removeOldUsage } from '../telemetry/usage/retention.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** An offset between the clocks of this process and the database that is told, in milliseconds. */
const CLOCK_OFFSET_MS = 2000;

/** How often due syncs are looked for, in milliseconds. */
const SYNC_CHECK_MS = 2000;

/** How often events are sealed, in milliseconds: with the pass itself they are a second behind at the most. */
const SEAL_MS = 500;

/** Also done at every start. */
const HOURLY: Record<string, (services: Services) => Promise<unknown>> = {
  'making the days of spans': makeDays,
  'removing old traces': removeOldTraces,
  'removing old records': removeOldRecords,
  'removing old usage': removeOldUsage,
  'forgetting old calls': removeOldCalls,
  'erasing former secrets': eraseFormer,
  'removing expired idempotency keys': removeExpiredKeys,
  'removing expired invitations': removeExpiredInvitations,
  'removing unclaimed users': removeUnclaimedUsers,
  'looking for expiring credentials': openRotations,
  'removing unused grants of sessions': removeUnusedGrants,
  // Last: what the others removed leaves the files of the database.
  'erasing what was removed': ({ erasures }) => erasures.settle('all'),
};

/** What the service does without being asked. @returns what ends it */
export function startHousekeeping(services: Services): () => Promise<void> {
  const { accountTelemetry, db, erasures, log, reads, refusals, sealer } = services;
  let running: Promise<void> = Promise.resolve();
  const run = (name: string, work: () => Promise<unknown>) => {
    running = running
      .then(work)
      .then(() => {})
      .catch((error: unknown) => log.error({ err: error }, `${name} failed; it is tried again`));
  };
  /** What is done for the whole database: by one process at a time, whichever comes first. */
  const keepHouse = () => {
    for (const [name, work] of Object.entries(HOURLY)) {
      run(name, () => exclusively(db, name, () => work(services)));
    }
  };
  const syncs = syncSchedule(services);
  const sealing = sealEvents(services);
  const timers = [
    // Apart from the others, too: what they do must not keep events from being sealed.
    setInterval(sealing, SEAL_MS),
    // Apart from the others: what is started here takes as long as providers take to answer.
    setInterval(() => {
      syncs.startDue().catch((error: unknown) => log.error({ err: error }, 'looking for due syncs failed'));
    }, SYNC_CHECK_MS),
    setInterval(() => run('writing refusals', () => refusals.flush('over')), MINUTE_MS),
    setInterval(() => run('writing reads', () => reads.flush('over')), MINUTE_MS),
    setInterval(() => run('counting what accounts sent', () => accountTelemetry.flush('due')), MINUTE_MS),
    setInterval(() => run('erasing what was removed', () => erasures.settle('noted')), MINUTE_MS),
    setInterval(() => run('removing past rate limits', () => removePastWindows(services)), MINUTE_MS),
    setInterval(() => run('adding up stored bytes', () => addUpStoredBytes(db)), MINUTE_MS),
    setInterval(() => run('comparing clocks', () => compareClocks(services)), MINUTE_MS),
    setInterval(keepHouse, HOUR_MS),
  ];
  for (const timer of timers) timer.unref();
  run('comparing clocks', () => compareClocks(services));
  keepHouse();
  return async () => {
    for (const timer of timers) clearInterval(timer);
    await Promise.all([running, sealer.stop(), syncs.ended()]);
  };
}

/** One process at a time: two would undo each other's transactions. */
function addUpStoredBytes(db: Database): Promise<unknown> {
  return exclusively(db, 'adding up stored bytes', () => sumStoredBytes(db));
}

/** Leases follow the database's clock; records carry the times of the process that wrote them. */
export async function compareClocks({ db, log, metrics, now }: Services): Promise<void> {
  const offset = await clockOffset(db, now);
  if (offset === null) return;
  metrics.clockOffset.set(offset / 1000);
  if (Math.abs(offset) < CLOCK_OFFSET_MS) return;
  const offsetSeconds = Math.round(offset / 100) / 10;
  log.warn({ offsetSeconds }, "this process's clock differs from the database's: synchronise both, by NTP for one");
}

/** A pass of the sealer, unless one is under way. A failure is told when it begins, not twice a second while it lasts. */
function sealEvents({ log, sealer }: Services): () => void {
  let underWay = false;
  let failing = false;
  return () => {
    if (underWay) return;
    underWay = true;
    sealer
      .pass()
      .then(() => {
        if (failing) log.info('audit events are sealed again');
        failing = false;
      })
      .catch((error: unknown) => {
        if (!failing) log.error({ err: error }, 'sealing audit events failed; it is tried again');
        failing = true;
      })
      .finally(() => {
        underWay = false;
      });
  };
}
