import { parentPort } from 'node:worker_threads';
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

/** Spans that the other side takes in within one turn of its event loop. */
const SPANS_OF_TURN = 500;

/** A body that the thread reads. */
export type ThreadJob = { body: Uint8Array; encoding: BodyEncoding } & (
  | { signal: 'traces'; keepContent: boolean }
  | { signal: 'logs'; receivedAt: Date }
  | { signal: 'metrics' }
);

/** To the thread: a body, then, once for each batch of its spans, that the next one is wanted. */
export type ToThread = ThreadJob | 'next';

/** From the thread, for each message: what was read, or why it is refused; a batch of spans, empty at the end. */
export type FromThread =
  | { traces: Omit<PreparedTraces, 'spans'> }
  | { logs: PreparedLogs }
  | { metrics: number }
  | { malformed: string }
  | { tooLarge: string }
  | { failed: unknown }
  | { batch: PreparedSpan[] };

// What runs in the thread of prepare-large.ts. It hands batches out one by one: a message is taken in within one turn of the
// event loop that it comes to.
const port = parentPort;
let batches: Generator<PreparedSpan[]> | undefined;

port?.on('message', (message: ToThread) => {
  port.postMessage(answerTo(message));
});

function answerTo(message: ToThread): FromThread {
  try {
    if (message === 'next') return { batch: batches?.next().value ?? [] };
    const { body } = message;
    switch (message.signal) {
      case 'traces': {
        const { spans, ...refused } = prepareTracesOf(body, message);
        batches = inBatches(spans);
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

function* inBatches(spans: PreparedSpan[]): Generator<PreparedSpan[]> {
  for (let start = 0; start < spans.length; start += SPANS_OF_TURN) {
    yield spans.slice(start, start + SPANS_OF_TURN);
  }
  batches = undefined;
}
