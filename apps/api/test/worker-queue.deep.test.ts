import { getPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { WorkerEnded, WorkerQueue } from '../src/platform/worker-queue.ts';

function queueOf(): WorkerQueue<string, string> {
  return new WorkerQueue({
    module: new URL('./support/worker-queue-thread.ts', import.meta.url),
    idleMs: 1000,
    resourceLimits: { maxOldGenerationSizeMb: 32 },
  });
}

test('a thread that uses up its heap fails only its own job, and the next job starts another thread', async () => {
  const queue = queueOf();
  const failed = await queue.run((ask) => ask('fill the heap')).catch((error: unknown) => error);
  expect(failed).toBeInstanceOf(WorkerEnded);
  expect(failed).toMatchObject({ outOfMemory: true });
  expect(await queue.run((ask) => ask('this'))).toBe('answer to this');
});

test('an aborted job ends at once, even if its thread never answers, and the jobs behind it run', async () => {
  const queue = queueOf();
  const abort = new AbortController();
  const waiting = new AbortController();
  const endless = queue.run((ask) => ask('loop'), { signal: abort.signal });
  const second = queue.run((ask) => ask('second'), { signal: waiting.signal });
  const third = queue.run((ask) => ask('third'));
  waiting.abort(new Error('it waits no longer'));
  await expect(second).rejects.toThrow('it waits no longer');
  abort.abort(new Error('it takes too long'));
  await expect(endless).rejects.toThrow('it takes too long');
  expect(await third).toBe('answer to third');
  await expect(queue.run((ask) => ask('fourth'), { signal: abort.signal })).rejects.toThrow('it takes too long');
});

test('a job ends when its thread has used its CPU time, and the next job starts another thread', async () => {
  const queue = queueOf();
  const endless = queue.run((ask) => ask('loop'), { cpuMs: 200 });
  const second = queue.run((ask) => ask('second'), { cpuMs: 200 });
  await expect(endless).rejects.toMatchObject({ name: 'WorkerEnded', outOfTime: true, outOfMemory: false });
  expect(await second).toBe('answer to second');
});

test('time in which the thread of a job waits does not count as its CPU time', async () => {
  const slow = queueOf().run(
    async (ask) => {
      await ask('first');
      await sleep(600);
      return ask('second');
    },
    { cpuMs: 200 },
  );
  expect(await slow).toBe('answer to second');
});

test.runIf(process.platform === 'linux')('a thread has a lower priority than the main thread', async () => {
  const before = getPriority();
  // The whole suite may run under `nice`.
  expect(await queueOf().run((ask) => ask('priority'))).toBe(String(Math.min(before + 10, 19)));
  expect(getPriority()).toBe(before);
});
