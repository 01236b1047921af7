import { ApiError } from '../../platform/errors.ts';
import type { InterpretedRecord } from '../calls/interpreted-record.ts';
import { WorkerEnded, WorkerQueue } from '../../platform/worker-queue.ts';
import { countProtobufRecords } from '../otlp/protobuf-request.ts';
import { OtlpDecodeError, RequestTooLargeError } from '../otlp/span.ts';
import type { BoundedBody } from './decompress.ts';
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
import { type Records, SerializedRecords } from './serialized-records.ts';

/** A larger body is read in a worker thread, because it would block the event loop for too long. */
export const LARGE_BYTES = 1024 * 1024;

/** The same limit for JSON, which takes twice as long to parse. */
const LARGE_JSON_BYTES = LARGE_BYTES / 2;

/** A smaller body with more records is read in the thread as well, because each record takes time. */
const MANY_RECORDS = 4000;

/** The thread ends after this time without work, to free the memory of its largest body. In milliseconds. */
const IDLE_MS = 30_000;

/** The heap limit of the thread, in MB. A body that needs more is refused. */
const THREAD_HEAP_MB = 256;

/**
 * CPU time for reading one body, in milliseconds. A body that needs more is refused, because the bodies of all other tenants wait
 * for it. 65 MiB of JSON with 50,000 spans took 3.1 s. It is not elapsed time: the thread gives way to the main thread.
 */
const READ_CPU_MS = 20_000;

/** Reads one body at a time. The thread exists to keep other requests responsive, not for speed. */
const queue = new WorkerQueue<ToThread, FromThread>({
  module: new URL('./prepare-thread.ts', import.meta.url),
  idleMs: IDLE_MS,
  resourceLimits: { maxOldGenerationSizeMb: THREAD_HEAP_MB },
});

/**
 * Reads a request and prepares its spans to be stored.
 *
 * @throws OtlpDecodeError if the bytes are not a request
 * @param options `cpuMs` is the limit of CPU time in the thread, {@link READ_CPU_MS} by default
 * @throws ApiError `body_too_large` if the thread ran out of memory or CPU time. `service_unavailable` if the thread ended for
 *   another reason; the next large request starts a new one
 */
export function prepareTraces(
  body: BoundedBody,
  { cpuMs, ...options }: { encoding: BodyEncoding; keepContent: boolean; cpuMs?: number },
): Promise<PreparedTraces<Records<PreparedSpan>>> {
  if (isSmall(body, options.encoding)) return onMainThread(() => prepareTracesOf(body.bytes, options));
  const finish = async (answer: FromThread, ask: Ask) => {
    if (!('traces' in answer)) throw failure(answer);
    return { ...answer.traces, spans: await recordsFrom<PreparedSpan>(ask, answer.count) };
  };
  return inThread({ signal: 'traces', body, ...options }, finish, cpuMs);
}

/** Reads a request and prepares its log records. Throws as {@link prepareTraces} does. */
export function prepareLogs(
  body: BoundedBody,
  options: { encoding: BodyEncoding; receivedAt: Date },
): Promise<PreparedLogs<Records<InterpretedRecord>>> {
  if (isSmall(body, options.encoding)) return onMainThread(() => prepareLogsOf(body.bytes, options));
  return inThread({ signal: 'logs', body, ...options }, async (answer, ask) => {
    if (!('logs' in answer)) throw failure(answer);
    return { ...answer.logs, reporting: await recordsFrom<InterpretedRecord>(ask, answer.count) };
  });
}

/** Counts the data points of a request with metrics. Throws as {@link prepareTraces} does. */
export function prepareMetrics(body: BoundedBody, options: { encoding: BodyEncoding }): Promise<number> {
  if (isSmall(body, options.encoding)) return onMainThread(() => prepareMetricsOf(body.bytes, options));
  return inThread({ signal: 'metrics', body, ...options }, async (answer) => {
    if (!('metrics' in answer)) throw failure(answer);
    return answer.metrics;
  });
}

/** Whether reading a body blocks the event loop only briefly. */
function isSmall({ bytes, coding }: BoundedBody, encoding: BodyEncoding): boolean {
  if (coding !== 'identity') return false;
  if (encoding === 'json') return bytes.length <= LARGE_JSON_BYTES;
  return bytes.length <= LARGE_BYTES && countProtobufRecords(bytes) <= MANY_RECORDS;
}

async function onMainThread<T>(read: () => T): Promise<T> {
  try {
    return read();
  } catch (error) {
    throw error instanceof RequestTooLargeError ? new ApiError('body_too_large', error.message) : error;
  }
}

type Ask = (message: ToThread) => Promise<FromThread>;

async function recordsFrom<Item>(ask: Ask, count: number): Promise<Records<Item>> {
  const parts: Uint8Array[] = [];
  for (;;) {
    const next = await ask('next');
    if (!('part' in next)) throw failure(next);
    if (next.part === null) return new SerializedRecords(parts, count);
    parts.push(next.part);
  }
}

async function inThread<T>(
  job: ThreadJob,
  finish: (answer: FromThread, ask: Ask) => Promise<T>,
  cpuMs = READ_CPU_MS,
): Promise<T> {
  try {
    // The body is copied and not transferred, because it may share its memory with other buffers.
    const read = async (ask: Ask) => {
      const answer = await ask(job);
      if ('malformed' in answer) throw new OtlpDecodeError(answer.malformed);
      if ('tooLarge' in answer) throw new ApiError('body_too_large', answer.tooLarge);
      return finish(answer, ask);
    };
    return await queue.run(read, { cpuMs });
  } catch (error) {
    if (!(error instanceof WorkerEnded)) throw error;
    // 413, not 503: a sender would repeat the same request after a 503.
    if (error.outOfMemory || error.outOfTime) {
      const exceeded = error.outOfMemory ? 'memory' : 'CPU time';
      throw new ApiError('body_too_large', `Reading the request takes too much ${exceeded}. Send smaller requests.`, {
        cause: error,
      });
    }
    throw new ApiError('service_unavailable', 'The request could not be read. Send it again.', { cause: error });
  }
}

function failure(answer: FromThread): Error {
  const cause = 'failed' in answer ? answer.failed : answer;
  return new Error('a large request could not be read', { cause });
}
