import { constants, getPriority, setPriority } from 'node:os';
import { isMainThread, parentPort } from 'node:worker_threads';

/**
 * Answers each message of a WorkerQueue with one message. The module of a worker thread calls it.
 *
 * The thread gets a tenth of the CPU time that the main thread gets while both have work, because other requests wait for the
 * main thread. Linux has a priority for each thread; elsewhere the call would change that of the whole process.
 */
export function answerMessages(answer: (message: never) => unknown): void {
  if (isMainThread) throw new Error('only a worker thread answers messages');
  if (process.platform === 'linux') lowerPriority();
  const port = parentPort;
  port?.on('message', (message: unknown) => {
    port.postMessage(answer(message as never));
  });
}

/**
 * Lowers the priority of the thread by the difference between normal and below normal. The result is relative to the present
 * priority, because the service may run under `nice`, and only root may raise a priority.
 */
function lowerPriority(): void {
  const { PRIORITY_BELOW_NORMAL, PRIORITY_LOW } = constants.priority;
  setPriority(Math.min(getPriority() + PRIORITY_BELOW_NORMAL, PRIORITY_LOW));
}
