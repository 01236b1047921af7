import { removeUnclaimedUsers } from '../onboarding/service.ts';
import type { Services } from '../services.ts';
import { removeOldTraces } from '../traces/retention.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

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
  const timers = [
    setInterval(() => run('writing refusals', () => refusals.flush('over')), MINUTE_MS),
    setInterval(() => run('removing unclaimed users', () => removeUnclaimedUsers(services)), HOUR_MS),
    setInterval(() => run('removing old traces', () => removeOldTraces(services)), HOUR_MS),
  ];
  for (const timer of timers) timer.unref();
  run('removing unclaimed users', () => removeUnclaimedUsers(services));
  run('removing old traces', () => removeOldTraces(services));
  return async () => {
    for (const timer of timers) clearInterval(timer);
    await running;
  };
}
