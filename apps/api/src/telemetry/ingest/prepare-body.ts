import { decodeJson } from '../otlp/json.ts';
import { decodeProtobuf } from '../otlp/protobuf.ts';
import { type DecodedTraces, OtlpDecodeError } from '../otlp/span.ts';
import { type PreparedSpan, spanPreparer } from './prepare.ts';

export type BodyEncoding = 'protobuf' | 'json';

/** What came in, ready to be stored, and what of it was refused. */
export type PreparedTraces = DecodedTraces<PreparedSpan>;

/** @throws OtlpDecodeError where the bytes are no request */
export function prepareBytes(
  bytes: Uint8Array,
  encoding: BodyEncoding,
  options: { keepContent: boolean },
): PreparedTraces {
  return encoding === 'protobuf'
    ? decodeProtobuf(bytes, spanPreparer(options))
    : decodeJson(parsed(bytes), spanPreparer(options));
}

function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw new OtlpDecodeError('The body is not JSON.');
  }
}
