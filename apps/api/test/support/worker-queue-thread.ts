import { getPriority } from 'node:os';
import { answerMessages } from '../../src/platform/worker-thread.ts';

// A thread for the tests of worker-queue.ts: it answers, never answers, or uses up its heap.
answerMessages((message: string) => {
  if (message === 'loop') for (;;);
  if (message === 'fill the heap') {
    const kept: object[] = [];
    for (;;) kept.push({ kept: kept.length });
  }
  if (message === 'priority') return String(getPriority());
  return `answer to ${message}`;
});
