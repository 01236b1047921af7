import { ApiError } from '../../errors.ts';
import { WorkerEnded, WorkerQueue } from '../../worker-queue.ts';
import { countProtobufRecords } from '../otlp/protobuf-request.ts';
import { OtlpDecodeError, RequestTooLargeError } from '../otlp/span.ts';
import type { PreparedSpan } from './prepare.ts';
import {
  type BodyEncoding,
  type PreparedTraces,
  prepareLogsOf,
  prepareMetricsOf,
  prepareTracesOf,
} from './prepare-body.ts';
import type { PreparedLogs } from './prepare-logs.ts';
import type { FromThread, ThreadJob, ToThread } from './prepare-thread.ts';

/** A larger body would hold the event loop for longer than other requests should wait: a thread takes it apart. */
export const LARGE_BYTES = 1024 * 1024;

/** The same of a body in JSON, which takes twice as long to parse. */
const LARGE_JSON_BYTES = LARGE_BYTES / 2;

/** The same of the spans in a smaller body: each takes its time, however small it is. */
const MANY_RECORDS = 4000;

/** The thread ends when nothing large came for so long, in milliseconds: it takes as much memory as its largest body did. */
const IDLE_MS = 30_000;

/** The heap of the thread, in MB. A body that takes more once it is parsed never fits. */
const THREAD_HEAP_MB = 384;

/** One body at a time: they are large, and the thread is for other requests' sake, not for speed. */
const queue = new WorkerQueue<ToThread, FromThread>({
  module: new URL('./prepare-thread.ts', import.meta.url),
  idleMs: IDLE_MS,
  resourceLimits: { maxOldGenerationSizeMb: THREAD_HEAP_MB },
});

/**
 * Reads a request and prepares its spans to be stored.
 *
 * @throws OtlpDecodeError where the bytes are no request
 * @throws ApiError `body_too_large` where it takes more memory than there is; `service_unavailable` where the thread ended
 *   over it for another reason: the next large request starts another
 */
export function prepareTraces(
  bytes: Buffer,
  options: { encoding: BodyEncoding; keepContent: boolean },
): Promise<PreparedTraces> {
  if (isQuick(bytes, options.encoding)) return here(() => prepareTracesOf(bytes, options));
  return inThread({ signal: 'traces', body: bytes, ...options }, async (answer, ask) => {
    if (!('traces' in answer)) throw failure(answer);
    const spans: PreparedSpan[] = [];
    for (;;) {
      const next = await ask('next');
      if (!('batch' in next)) throw failure(next);
      if (next.batch.length === 0) return { ...answer.traces, spans };
      spans.push(...next.batch);
    }
  });
}

/** The same for log records. */
export function prepareLogs(
  bytes: Buffer,
  options: { encoding: BodyEncoding; receivedAt: Date },
): Promise<PreparedLogs> {
  if (isQuick(bytes, options.encoding)) return here(() => prepareLogsOf(bytes, options));
  return inThread({ signal: 'logs', body: bytes, ...options }, async (answer) => {
    if (!('logs' in answer)) throw failure(answer);
    return answer.logs;
  });
}

/** The same for metrics, of which the data points are counted. */
export function prepareMetrics(bytes: Buffer, options: { encoding: BodyEncoding }): Promise<number> {
  if (isQuick(bytes, options.encoding)) return here(() => prepareMetricsOf(bytes, options));
  return inThread({ signal: 'metrics', body: bytes, ...options }, async (answer) => {
    if (!('metrics' in answer)) throw failure(answer);
    return answer.metrics;
  });
}

/** Whether a body is read within a turn of the event loop that delays other requests little. */
function isQuick(bytes: Buffer, encoding: BodyEncoding): boolean {
  if (encoding === 'json') return bytes.length <= LARGE_JSON_BYTES;
  return bytes.length <= LARGE_BYTES && countProtobufRecords(bytes) <= MANY_RECORDS;
}

async function here<T>(read: () => T): Promise<T> {
  try {
    return read();
  } catch (error) {
    throw error instanceof RequestTooLargeError ? new ApiError('body_too_large', error.message) : error;
  }
}

type Ask = (message: ToThread) => Promise<FromThread>;

async function inThread<T>(job: ThreadJob, finish: (answer: FromThread, ask: Ask) => Promise<T>): Promise<T> {
  try {
    // Copied by the message: a body may share its memory with others.
    return await queue.run(async (ask) => {
      const answer = await ask(job);
      if ('malformed' in answer) throw new OtlpDecodeError(answer.malformed);
      if ('tooLarge' in answer) throw new ApiError('body_too_large', answer.tooLarge);
      return finish(answer, ask);
    });
  } catch (error) {
    if (!(error instanceof WorkerEnded)) throw error;
    if (error.outOfMemory) {
      throw new ApiError('body_too_large', 'The request takes too much memory to read. Send less at once.', {
        cause: error,
      });
    }
    throw new ApiError('service_unavailable', 'The request could not be read now. Send it again.', { cause: error });
  }
}

function failure(answer: FromThread): Error {
  const cause = 'failed' in answer ? answer.failed : answer;
  return new Error('a large request could not be read', { cause });
}
