import { setTimeout as sleep } from 'node:timers/promises';

const PAUSE_MS = 20;

/**
 * Waits until a condition holds.
 *
 * @returns how long it took, in milliseconds
 * @throws if it does not hold in time
 */
export async function until(holds: () => boolean | Promise<boolean>, what: string, mostMs = 30_000): Promise<number> {
  const started = performance.now();
  while (!(await holds())) {
    if (performance.now() - started > mostMs) throw new Error(`${mostMs} ms were too short for ${what}`);
    await sleep(PAUSE_MS);
  }
  return performance.now() - started;
}

/**
 * Waits for a promise with a time limit.
 *
 * @throws if it takes longer. The work behind the promise continues.
 */
export async function within<T>(mostMs: number, what: string, waitedFor: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${mostMs} ms were too short for ${what}`)), mostMs);
  });
  try {
    return await Promise.race([waitedFor, late]);
  } finally {
    clearTimeout(timer);
  }
}
