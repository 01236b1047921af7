import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { AttackOrder, AttackReport, AttackSettings } from './attacker.ts';

/** Time limit for the attacker's preparation in milliseconds. */
const PREPARE_MS = 120_000;

/** The attacker runs in a separate thread, so that its computations do not delay the other tenant's requests. */
export async function startAttacker(settings: AttackSettings) {
  const thread = new Worker(new URL('attacker.ts', import.meta.url), { workerData: settings });
  const next = <T>(): Promise<T> =>
    new Promise((resolve, reject) => {
      thread.once('message', resolve);
      thread.once('error', reject);
    });
  const prepared = next<'ready'>();
  const late = sleep(PREPARE_MS, undefined, { ref: false }).then(() => {
    throw new Error('the attacker took too long to prepare');
  });
  await Promise.race([prepared, late]);
  return {
    attack(order: AttackOrder): Promise<AttackReport> {
      const report = next<AttackReport>();
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
      thread.postMessage(order);
      return report;
    },
    end: () => thread.terminate(),
  };
}
