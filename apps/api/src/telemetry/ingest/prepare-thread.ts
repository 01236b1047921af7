import { parentPort } from 'node:worker_threads';
import { OtlpDecodeError } from '../otlp/span.ts';
import type { PreparedSpan } from './prepare.ts';
import { type BodyEncoding, type PreparedTraces, prepareBytes } from './prepare-body.ts';

/** Spans that the other side takes in within one turn of its event loop. */
const SPANS_OF_TURN = 500;

/** To the thread: a body, then, once for each of its batches, that the next one is wanted. */
export type ToThread = { body: Uint8Array; encoding: BodyEncoding; keepContent: boolean } | 'next';

/** From the thread, for each message: what of the body is refused, or why all of it is; a batch, empty at the end. */
export type FromThread =
  | { refused: Omit<PreparedTraces, 'spans'> }
  | { malformed: string }
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
    const { body, encoding, keepContent } = message;
    const { spans, ...refused } = prepareBytes(body, encoding, { keepContent });
    batches = inBatches(spans);
    return { refused };
  } catch (error) {
    return error instanceof OtlpDecodeError ? { malformed: error.message } : { failed: error };
  }
}

function* inBatches(spans: PreparedSpan[]): Generator<PreparedSpan[]> {
  for (let start = 0; start < spans.length; start += SPANS_OF_TURN) {
    yield spans.slice(start, start + SPANS_OF_TURN);
  }
  batches = undefined;
}
