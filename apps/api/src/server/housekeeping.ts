import type { Database } from '@quartermaster/db/database.ts';
import { clockOffset } from '@quartermaster/db/database-clock.ts';
import { runInOneProcess } from '@quartermaster/db/run-in-one-process.ts';
import { sumStoredBytes } from '@quartermaster/db/repositories/tenant-usage.ts';
import { removeExpiredSessions } from '../auth/console-sessions.ts';
import { updateBypassTasks } from '../resources/coverage/bypass-tasks.ts';
import { updateRotationTasks } from '../resources/credentials/expiry.ts';
import { removeUnusedGrants } from '../resources/gateway-sessions/unused-grants.ts';
import { removeExpiredKeys } from '../http/idempotency/expiry.ts';
import { syncSchedule } from '../resources/inventory-sync/schedule.ts';
import { removeOldDecisions } from '../resources/gateway-decisions/retention.ts';
import { removeExpiredInvitations } from '../resources/memberships/expiry.ts';
import { removeUnclaimedUsers } from '../resources/onboarding/service.ts';
import { eraseReplacedSecrets } from '../resources/provider-credentials/service.ts';
import { removePastWindows } from '../http/rate-limits/shared-points.ts';
import type { Services } from '../platform/services.ts';
import { eraseDeletedTenants } from '../resources/tenants/erase-deleted.ts';
import { removeOldRecords } from '../resources/tenants/record-retention.ts';
import { prepareSpanPartitions, removeOldTraces } from '../telemetry/trace-retention.ts';
import { removeOldCalls, removeOldUsage } from '../telemetry/usage/retention.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** A larger difference between the clocks of this process and the database is logged, in milliseconds. */
const MAX_CLOCK_OFFSET_MS = 2000;

/** How often events are sealed, in milliseconds. With the pass itself, an event is sealed within a second. */
const SEAL_MS = 500;

/** Hourly jobs. They also run at every start. */
const HOURLY: Record<string, (services: Services) => Promise<unknown>> = {
  'making the days of spans': prepareSpanPartitions,
  'removing old traces': removeOldTraces,
  'removing old records': removeOldRecords,
  'removing old usage': removeOldUsage,
  'removing old counts of decisions': removeOldDecisions,
  'forgetting old calls': removeOldCalls,
  'erasing deleted tenants': eraseDeletedTenants,
  'erasing former secrets': eraseReplacedSecrets,
  'removing expired idempotency keys': removeExpiredKeys,
  'removing expired console sessions': removeExpiredSessions,
  'removing expired invitations': removeExpiredInvitations,
  'removing unclaimed users': removeUnclaimedUsers,
  'looking for expiring credentials': updateRotationTasks,
  'looking for calls past gateways': updateBypassTasks,
  'removing unused grants of sessions': removeUnusedGrants,
  // Last, so that it removes what the other jobs erased from the files of the database.
  'erasing what was removed': ({ erasures }) => erasures.truncate('all'),
};

/** Starts the background jobs. @returns a function that stops them, and waits for the running ones */
export function startHousekeeping(services: Services): () => Promise<void> {
  const { audit, db, erasures, log, telemetry } = services;
  const everyMinute = jobQueue(services);
  // A queue of their own: a large removal may take ten minutes.
  const everyHour = jobQueue(services);
  const { run } = everyMinute;
  /** Each hourly job serves the whole database, so it runs in one process at a time, by the clock that all processes share. */
  const runHourlyJobs = () => {
    for (const [name, work] of Object.entries(HOURLY)) {
      everyHour.run(name, () => runInOneProcess(db, name, async () => work(await onDatabaseClock(services))));
    }
  };
  const syncs = syncSchedule(services);
  const sealing = sealEvents(services);
  const timers = [
    // Not in the queue of the other jobs, which would delay sealing.
    setInterval(sealing, SEAL_MS),
    // Not in the queue either: syncs take as long as providers take to answer.
    setInterval(() => {
      syncs.startDue().catch((error: unknown) => log.error({ err: error }, 'looking for due syncs failed'));
    }, services.syncs.limits.scheduleMs),
    setInterval(() => run('writing refusals', () => audit.refusals.flush('over')), MINUTE_MS),
    setInterval(() => run('writing reads', () => audit.reads.flush('over')), MINUTE_MS),
    setInterval(() => run('counting what accounts sent', () => telemetry.accounts.flush('due')), MINUTE_MS),
    setInterval(() => run('erasing what was removed', () => erasures.truncate('noted')), MINUTE_MS),
    setInterval(() => run('removing past rate limits', () => removePastWindows(services)), MINUTE_MS),
    setInterval(() => run('adding up stored bytes', () => addUpStoredBytes(db)), MINUTE_MS),
    setInterval(() => run('comparing clocks', () => compareClocks(services)), MINUTE_MS),
    setInterval(runHourlyJobs, HOUR_MS),
  ];
  for (const timer of timers) timer.unref();
  run('comparing clocks', () => compareClocks(services));
  runHourlyJobs();
  return async () => {
    for (const timer of timers) clearInterval(timer);
    await Promise.all([everyMinute.ended(), everyHour.ended(), audit.sealer.stop(), syncs.ended()]);
  };
}

/** Runs jobs one after the other. Those that have not begun when the service stops are left out. */
function jobQueue({ log, scheduler, stopping }: Pick<Services, 'log' | 'scheduler' | 'stopping'>) {
  let running: Promise<void> = Promise.resolve();
  return {
    run(name: string, work: () => Promise<unknown>) {
      running = running
        .then(() => (stopping.aborted ? undefined : scheduler.runWithoutLine(null, work)))
        .then(() => {})
        .catch((error: unknown) => log.error({ err: error }, `${name} failed; the service will try again`));
    },
    ended: () => running,
  };
}

/**
 * The services with the clock of the database. By its own clock, a process whose clock is ahead would remove records of all tenants
 * too early.
 */
async function onDatabaseClock(services: Services): Promise<Services> {
  const { db, databaseNow, now } = services;
  const started = now().getTime();
  const offset = (await databaseNow(db)).getTime() - started;
  return { ...services, now: () => new Date(now().getTime() + offset) };
}

/**
 * In one process at a time, because two would make each other's transactions fail. On the connection of the lock, because an hourly
 * job may hold another one, and a pool may have only two.
 */
function addUpStoredBytes(db: Database): Promise<unknown> {
  return runInOneProcess(db, 'adding up stored bytes', sumStoredBytes);
}

/** Measures the clock offset, and warns if it is large: records have the times of the process that wrote them. */
export async function compareClocks({
  db,
  log,
  metrics,
  now,
}: Pick<Services, 'db' | 'log' | 'metrics' | 'now'>): Promise<void> {
  const offset = await clockOffset(db, now);
  if (offset === null) return;
  metrics.clockOffset.set(offset / 1000);
  if (Math.abs(offset) < MAX_CLOCK_OFFSET_MS) return;
  const offsetSeconds = Math.round(offset / 100) / 10;
  log.warn(
    { offsetSeconds },
    "this process's clock differs from the database's: synchronise both, for instance with NTP",
  );
}

/** Starts a pass of the sealer unless one is running. Logs only the first of several failures in a row. */
function sealEvents({ log, audit }: Pick<Services, 'log' | 'audit'>): () => void {
  let isRunning = false;
  let failing = false;
  return () => {
    if (isRunning) return;
    isRunning = true;
    audit.sealer
      .pass()
      .then(() => {
        if (failing) log.info('audit events are sealed again');
        failing = false;
      })
      .catch((error: unknown) => {
        if (!failing) log.error({ err: error }, 'sealing audit events failed; the service will try again');
        failing = true;
      })
      .finally(() => {
        isRunning = false;
      });
  };
}
