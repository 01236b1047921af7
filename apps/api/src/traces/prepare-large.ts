import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { ApiError } from '../errors.ts';
import { OtlpDecodeError } from '../otlp/span.ts';
import type { PreparedSpan } from './prepare.ts';
import { type BodyEncoding, type PreparedTraces, prepareBytes } from './prepare-body.ts';
import type { FromThread, ToThread } from './prepare-thread.ts';

/** A larger body would hold the event loop for longer than everybody else should wait: a thread takes it apart. */
const LARGE_BYTES = 1024 * 1024;

/** The thread ends when nothing large came for so long, in milliseconds: it takes as much memory as its largest body did. */
const IDLE_MS = 30_000;

/** One body at a time: they are large, and the thread is for the others' sake, not for speed. */
let last: Promise<unknown> = Promise.resolve();
let running: { thread: Worker; idle: NodeJS.Timeout } | undefined;

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
  const turn = last.then(() => prepareInThread(bytes, encoding, options));
  last = turn.catch(() => {});
  return turn;
}

async function prepareInThread(
  bytes: Buffer,
  encoding: BodyEncoding,
  { keepContent }: { keepContent: boolean },
): Promise<PreparedTraces> {
  const thread = started();
  // Copied by the message: a body may share its memory with others.
  const answer = await ask(thread, { body: bytes, encoding, keepContent });
  if ('malformed' in answer) throw new OtlpDecodeError(answer.malformed);
  if (!('refused' in answer)) throw failure(answer);
  const spans: PreparedSpan[] = [];
  for (;;) {
    const next = await ask(thread, 'next');
    if (!('batch' in next)) throw failure(next);
    if (next.batch.length === 0) return { ...answer.refused, spans };
    spans.push(...next.batch);
  }
}

function started(): Worker {
  if (running) {
    running.idle.refresh();
    return running.thread;
  }
  const thread = new Worker(new URL('./prepare-thread.ts', import.meta.url));
  const forget = () => {
    if (running?.thread === thread) running = undefined;
  };
  thread.unref();
  thread.on('error', forget).on('exit', forget);
  const end = () => {
    forget();
    void last.then(() => thread.terminate());
  };
  running = { thread, idle: setTimeout(end, IDLE_MS).unref() };
  return thread;
}

/** @throws ApiError where the thread ends meanwhile, killed or out of memory: the sender may try again */
async function ask(thread: Worker, message: ToThread): Promise<FromThread> {
  const ended = new AbortController();
  const gone = once(thread, 'exit', { signal: ended.signal }).then(
    () => Promise.reject(threadEnded()),
    (cause: unknown) => Promise.reject(threadEnded(cause)),
  );
  const answered = once(thread, 'message', { signal: ended.signal }).catch((cause: unknown) => {
    throw threadEnded(cause);
  }) as Promise<[FromThread]>;
  try {
    // A thread's port, not a window's: it has no origin.
    // oxlint-disable-next-line unicorn/require-post-message-target-origin
    thread.postMessage(message);
    const [answer] = await Promise.race([answered, gone]);
    return answer;
  } finally {
    ended.abort();
    await Promise.allSettled([answered, gone]);
  }
}

function threadEnded(cause?: unknown): ApiError {
  return new ApiError('service_unavailable', 'The request could not be read now. Send it again.', { cause });
}

function failure(answer: FromThread): Error {
  const cause = 'failed' in answer ? answer.failed : answer;
  return new Error('a large request could not be read', { cause });
}
