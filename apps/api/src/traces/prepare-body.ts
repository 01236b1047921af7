import { setImmediate as breathe } from 'node:timers/promises';
import { decodeJson } from '../otlp/json.ts';
import { decodeProtobuf } from '../otlp/protobuf.ts';
import { type DecodedTraces, OtlpDecodeError } from '../otlp/span.ts';
import { type PreparedSpan, spanPreparer } from './prepare.ts';

export type BodyEncoding = 'protobuf' | 'json';

/** What came in, ready to be stored, and what of it was refused. */
export type PreparedTraces = Omit<DecodedTraces, 'spans'> & { spans: PreparedSpan[] };

/** Spans prepared before the event loop gets a turn. */
export const SPANS_OF_TURN = 500;

/** @throws OtlpDecodeError where the bytes are no request */
export function decodeBody(bytes: Uint8Array, encoding: BodyEncoding): DecodedTraces {
  return encoding === 'protobuf' ? decodeProtobuf(bytes) : decodeJson(parsed(bytes));
}

export async function prepareDecoded(
  { spans, ...rest }: DecodedTraces,
  options: { keepContent: boolean },
): Promise<PreparedTraces> {
  const prepareSpan = spanPreparer(options);
  const prepared: PreparedSpan[] = [];
  for (const span of spans) {
    prepared.push(prepareSpan(span));
    if (prepared.length % SPANS_OF_TURN === 0) await breathe();
  }
  return { ...rest, spans: prepared };
}

function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw new OtlpDecodeError('The body is not JSON.');
  }
}
