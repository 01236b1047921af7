import { OutboundFailure, seconds } from '../../platform/outbound/failure.ts';
import { WorkerEnded, WorkerQueue } from '../../platform/worker-queue.ts';
import type { FromThread, ToThread } from './answer-thread.ts';
import { type AnswerRead, type Question, readAnswer } from './read-answer.ts';

/** Answers up to this many characters or bytes are read on the event loop; larger ones in the thread. Most are smaller. */
const SMALL_ANSWER = 16 * 1024;

const HEAP_MEGABYTES = 256;
const IDLE_MS = 30_000;

/**
 * CPU time for reading one answer in milliseconds. 5,000 tools with schemas took 660. It is not elapsed time, because this thread
 * gives way to the main thread, and a busy service would then fail syncs.
 */
const READ_CPU_MS = 3000;

const queue = new WorkerQueue<ToThread, FromThread>({
  module: new URL('./answer-thread.ts', import.meta.url),
  idleMs: IDLE_MS,
  resourceLimits: { maxOldGenerationSizeMb: HEAP_MEGABYTES },
});

/**
 * Reads the answer of a provider. The provider decides how much time and memory that takes, so a worker thread with a heap
 * limit reads all but the smallest answers.
 *
 * @throws OutboundFailure for an answer that is refused or cannot be read; the abort reason of `signal`
 */
export async function askThread(
  body: string | Uint8Array,
  question: Question,
  signal: AbortSignal,
): Promise<AnswerRead> {
  if (body.length <= SMALL_ANSWER) {
    const answer = readAnswer(typeof body === 'string' ? body : new TextDecoder().decode(body), question);
    if ('refused' in answer) throw new OutboundFailure(answer.refused);
    return answer;
  }
  try {
    return await queue.run((ask) => readInThread(ask, { body, question }), { signal, cpuMs: READ_CPU_MS });
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof WorkerEnded)) throw error;
    if (error.outOfTime) {
      throw new OutboundFailure(`reading its answer takes more than ${seconds(READ_CPU_MS)} of CPU time`, {
        cause: error,
      });
    }
    throw error.outOfMemory
      ? new OutboundFailure('reading its answer takes too much memory', { cause: error })
      : new OutboundFailure('its answer could not be read', { transient: true, cause: error });
  }
}

async function readInThread(
  ask: (message: ToThread) => Promise<FromThread>,
  message: Exclude<ToThread, 'next'>,
): Promise<AnswerRead> {
  const answer = await ask(message);
  if ('refused' in answer) throw new OutboundFailure(answer.refused);
  if (!('read' in answer)) throw unexpected(answer);
  const items: AnswerRead['items'] = [];
  for (;;) {
    const next = await ask('next');
    if (!('batch' in next)) throw unexpected(next);
    if (next.batch.length === 0) return { ...answer.read, items };
    items.push(...next.batch);
  }
}

function unexpected(answer: FromThread): Error {
  return new Error('an answer could not be read', { cause: 'failed' in answer ? answer.failed : answer });
}
