import { join } from 'node:path';
import { ended, spawnNode } from '../machine.ts';
import type { LoadPlan, LoadResult } from './plan.ts';

/** A process that applies loads to servers. */
export type Load = { pid: number; apply: (plan: LoadPlan) => Promise<LoadResult>; stop: () => Promise<void> };

type Reply = { result: LoadResult } | { failure: string };

export function startLoad(core: number | null): Load {
  const child = spawnNode(core, [join(import.meta.dirname, 'main.ts')], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    serialization: 'advanced',
  });
  return {
    pid: child.pid ?? 0,
    apply: (plan) =>
      new Promise((resolve, reject) => {
        const gone = () => reject(new Error('the load process ended'));
        child.once('exit', gone);
        child.once('message', (reply: Reply) => {
          child.off('exit', gone);
          if ('failure' in reply) reject(new Error(`the load failed: ${reply.failure}`));
          else resolve(reply.result);
        });
        child.send(plan);
      }),
    stop: async () => {
      child.disconnect();
      await ended(child);
    },
  };
}
