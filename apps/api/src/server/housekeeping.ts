import { openRotations } from '../credentials/expiry.ts';
import { removeExpiredKeys } from '../idempotency/expiry.ts';
import { syncSchedule } from '../inventory-sync/schedule.ts';
import { removeUnclaimedUsers } from '../onboarding/service.ts';
import { eraseFormer } from '../provider-credentials/service.ts';
import { removePastWindows } from '../rate-limits/shared-points.ts';
import type { Services } from '../services.ts';
import { removeOldTraces } from '../traces/retention.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** How often due syncs are looked for, in milliseconds. */
const SYNC_CHECK_MS = 2000;

/** What the service does without being asked. @returns what ends it */
export function startHousekeeping(services: Services): () => Promise<void> {
  const { log, refusals } = services;
  let running: Promise<void> = Promise.resolve();
  const run = (name: string, work: () => Promise<unknown>) => {
    running = running
      .then(work)
      .then(() => {})
      .catch((error: unknown) => log.error({ err: error }, `${name} failed; it is tried again`));
  };
  const syncs = syncSchedule(services);
  const timers = [
    // Apart from the others: what is started here takes as long as providers take to answer.
    setInterval(() => {
      syncs.startDue().catch((error: unknown) => log.error({ err: error }, 'looking for due syncs failed'));
    }, SYNC_CHECK_MS),
    setInterval(() => run('writing refusals', () => refusals.flush('over')), MINUTE_MS),
    setInterval(() => run('removing past rate limits', () => removePastWindows(services)), MINUTE_MS),
    setInterval(() => run('removing unclaimed users', () => removeUnclaimedUsers(services)), HOUR_MS),
    setInterval(() => run('removing old traces', () => removeOldTraces(services)), HOUR_MS),
    setInterval(() => run('erasing former secrets', () => eraseFormer(services)), HOUR_MS),
    setInterval(() => run('removing expired idempotency keys', () => removeExpiredKeys(services)), 10 * MINUTE_MS),
    setInterval(() => run('looking for expiring credentials', () => openRotations(services)), HOUR_MS),
  ];
  for (const timer of timers) timer.unref();
  run('removing unclaimed users', () => removeUnclaimedUsers(services));
  run('removing old traces', () => removeOldTraces(services));
  run('erasing former secrets', () => eraseFormer(services));
  run('removing expired idempotency keys', () => removeExpiredKeys(services));
  run('looking for expiring credentials', () => openRotations(services));
  return async () => {
    for (const timer of timers) clearInterval(timer);
    await Promise.all([running, syncs.ended()]);
  };
}
