import type { FairTurns } from '../../src/platform/fair-turns.ts';

export const WRITE = 'write';
export const READ = 'read';

/** A caller that counts by itself. */
export const takerOf = (name: string) => ({ name, tenant: name });

/** Starts work that goes on until it is ended. */
export function startWork(turns: FairTurns, caller: string, started: string[]) {
  const { promise, resolve } = Promise.withResolvers<void>();
  const done = turns.run(takerOf(caller), WRITE, () => {
    started.push(caller);
    return promise;
  });
  return { done, end: resolve };
}
