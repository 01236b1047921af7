import { parentPort } from 'node:worker_threads';

// A thread for the tests of worker-queue.ts: it answers, never answers, or uses up its heap.
const port = parentPort;

port?.on('message', (message: string) => {
  if (message === 'loop') for (;;);
  if (message === 'fill the heap') {
    const kept: object[] = [];
    for (;;) kept.push({ kept: kept.length });
  }
  port.postMessage(`answer to ${message}`);
});
