import { answerMessages } from '../../platform/worker-thread.ts';
import { OtlpDecodeError, RequestTooLargeError } from '../otlp/span.ts';
import { type BoundedBody, decompressNow } from './decompress.ts';
import type { PreparedSpan } from './prepare.ts';
import {
  type BodyEncoding,
  type PreparedTraces,
  prepareLogsOf,
  prepareMetricsOf,
  prepareTracesOf,
} from './prepare-body.ts';
import type { PreparedLogs } from './prepare-logs.ts';

/** Spans of one message. The main thread deserializes a message without yielding. */
const BATCH_SIZE = 500;

/** A body for the thread to read. */
export type ThreadJob = { body: BoundedBody; encoding: BodyEncoding } & (
  | { signal: 'traces'; keepContent: boolean }
  | { signal: 'logs'; receivedAt: Date }
  | { signal: 'metrics' }
);

/** A message to the thread: a body, then `next` to get each batch of its spans. */
export type ToThread = ThreadJob | 'next';

/** The thread's answer to a message: what it read, why it refused the body, or a batch of spans. The last batch is empty. */
export type FromThread =
  | { traces: Omit<PreparedTraces, 'spans'> }
  | { logs: PreparedLogs }
  | { metrics: number }
  | { malformed: string }
  | { tooLarge: string }
  | { failed: unknown }
  | { batch: PreparedSpan[] };

// This module runs in the worker thread of prepare-large.ts.
let batches: Generator<PreparedSpan[]> | undefined;

answerMessages(answerTo);

function answerTo(message: ToThread): FromThread {
  try {
    if (message === 'next') return { batch: batches?.next().value ?? [] };
    const body = decompressNow(message.body);
    switch (message.signal) {
      case 'traces': {
        const { spans, ...refused } = prepareTracesOf(body, message);
        batches = batchesOf(spans);
        return { traces: refused };
      }
      case 'logs':
        return { logs: prepareLogsOf(body, message) };
      case 'metrics':
        return { metrics: prepareMetricsOf(body, message) };
    }
  } catch (error) {
    if (error instanceof OtlpDecodeError) return { malformed: error.message };
    return error instanceof RequestTooLargeError ? { tooLarge: error.message } : { failed: error };
  }
}

function* batchesOf(spans: PreparedSpan[]): Generator<PreparedSpan[]> {
  for (let start = 0; start < spans.length; start += BATCH_SIZE) {
    yield spans.slice(start, start + BATCH_SIZE);
  }
  batches = undefined;
}
