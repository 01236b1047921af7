import { answerMessages } from '../../platform/worker-thread.ts';
import { OtlpDecodeError, RequestTooLargeError } from '../otlp/span.ts';
import { type BoundedBody, decompressNow } from './decompress.ts';
import {
  type BodyEncoding,
  type PreparedTraces,
  prepareLogsOf,
  prepareMetricsOf,
  prepareTracesOf,
} from './prepare-body.ts';
import type { PreparedLogs } from './prepare-logs.ts';
import { serializedParts } from './serialized-records.ts';

/** A body for the thread to read. */
export type ThreadJob = { body: BoundedBody; encoding: BodyEncoding } & (
  | { signal: 'traces'; keepContent: boolean }
  | { signal: 'logs'; receivedAt: Date }
  | { signal: 'metrics' }
);

/** A message to the thread: a body, then `next` to get each part of its spans or log records. */
export type ToThread = ThreadJob | 'next';

/**
 * The thread's answer to a message: what it read and how many records follow, why it refused the body, or a part of the records.
 * After the last part, it is null.
 */
export type FromThread =
  | { traces: Omit<PreparedTraces, 'spans'>; count: number }
  | { logs: Omit<PreparedLogs, 'reporting'>; count: number }
  | { metrics: number }
  | { malformed: string }
  | { tooLarge: string }
  | { failed: unknown }
  | { part: Uint8Array | null };

// This module runs in the worker thread of prepare-large.ts.
let parts: Generator<Uint8Array, null> | undefined;

answerMessages(answerTo);

function answerTo(message: ToThread): FromThread {
  try {
    if (message === 'next') return { part: nextPart() };
    const body = decompressNow(message.body);
    switch (message.signal) {
      case 'traces': {
        const { spans, ...traces } = prepareTracesOf(body, message);
        parts = serializedParts(spans);
        return { traces, count: spans.length };
      }
      case 'logs': {
        const { reporting, ...logs } = prepareLogsOf(body, message);
        parts = serializedParts(reporting);
        return { logs, count: reporting.length };
      }
      case 'metrics':
        return { metrics: prepareMetricsOf(body, message) };
    }
  } catch (error) {
    if (error instanceof OtlpDecodeError) return { malformed: error.message };
    return error instanceof RequestTooLargeError ? { tooLarge: error.message } : { failed: error };
  }
}

function nextPart(): Uint8Array | null {
  const part = parts?.next().value ?? null;
  // The records are no longer needed.
  if (part === null) parts = undefined;
  return part;
}
