import { ApiError } from '../../errors.ts';
import { OtlpDecodeError } from '../otlp/span.ts';
import { WorkerEnded, WorkerQueue } from '../../worker-queue.ts';
import type { PreparedSpan } from './prepare.ts';
import { type BodyEncoding, type PreparedTraces, prepareBytes } from './prepare-body.ts';
import type { FromThread, ToThread } from './prepare-thread.ts';

/** A larger body would hold the event loop for longer than everybody else should wait: a thread takes it apart. */
const LARGE_BYTES = 1024 * 1024;

/** The thread ends when nothing large came for so long, in milliseconds: it takes as much memory as its largest body did. */
const IDLE_MS = 30_000;

/** One body at a time: they are large, and the thread is for the others' sake, not for speed. */
const queue = new WorkerQueue<ToThread, FromThread>({
  module: new URL('./prepare-thread.ts', import.meta.url),
  idleMs: IDLE_MS,
});

/**
 * Reads a request and prepares its spans to be stored.
 *
 * @throws OtlpDecodeError where the bytes are no request
 * @throws ApiError `service_unavailable` where the thread ended over it: the next large request starts another
 */
export async function prepareBody(
  bytes: Buffer,
  encoding: BodyEncoding,
  options: { keepContent: boolean },
): Promise<PreparedTraces> {
  if (bytes.length <= LARGE_BYTES) return prepareBytes(bytes, encoding, options);
  try {
    // Copied by the message: a body may share its memory with others.
    return await queue.run((ask) => prepareInThread(ask, { body: bytes, encoding, ...options }));
  } catch (error) {
    if (!(error instanceof WorkerEnded)) throw error;
    throw new ApiError('service_unavailable', 'The request could not be read now. Send it again.', { cause: error });
  }
}

async function prepareInThread(
  ask: (message: ToThread) => Promise<FromThread>,
  body: Exclude<ToThread, 'next'>,
): Promise<PreparedTraces> {
  const answer = await ask(body);
  if ('malformed' in answer) throw new OtlpDecodeError(answer.malformed);
  if (!('refused' in answer)) throw failure(answer);
  const spans: PreparedSpan[] = [];
  for (;;) {
    const next = await ask('next');
    if (!('batch' in next)) throw failure(next);
    if (next.batch.length === 0) return { ...answer.refused, spans };
    spans.push(...next.batch);
  }
}

function failure(answer: FromThread): Error {
  const cause = 'failed' in answer ? answer.failed : answer;
  return new Error('a large request could not be read', { cause });
}
