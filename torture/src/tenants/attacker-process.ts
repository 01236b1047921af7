import { fork } from 'node:child_process';
import { constants, setPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { AttackOrder, AttackReport, AttackSettings } from './attacker.ts';

/** Time limit for the attacker's preparation in milliseconds. */
const PREPARE_MS = 120_000;

const ATTACKER = fileURLToPath(new URL('attacker.ts', import.meta.url));

/**
 * The attacker is a process of the lowest priority. It stands for a stranger's machine: what it computes must delay neither the
 * service nor the other tenant's requests. As a thread of this process it would share memory mappings and V8's threads with the
 * clients whose times count.
 */
export async function startAttacker(settings: AttackSettings) {
  const child = fork(ATTACKER, [JSON.stringify(settings)]);
  if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_LOW);
  const ended = new Promise<never>((_, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`the attacker ended with ${code}`)));
  });
  // It rejects the next message that is waited for. If none is, that is no unhandled rejection.
  ended.catch(() => {});
  const next = <T>(): Promise<T> =>
    Promise.race([new Promise<T>((resolve) => void child.once('message', resolve)), ended]);
  const late = sleep(PREPARE_MS, undefined, { ref: false }).then(() => {
    throw new Error('the attacker took too long to prepare');
  });
  await Promise.race([next<'ready'>(), late]);
  return {
    attack(order: AttackOrder): Promise<AttackReport> {
      const report = next<AttackReport>();
      child.send(order);
      return report;
    },
    end: () => void child.kill('SIGKILL'),
  };
}
