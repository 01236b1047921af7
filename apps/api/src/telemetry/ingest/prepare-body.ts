import { decodeJson } from '../otlp/json.ts';
import { decodeProtobuf } from '../otlp/protobuf.ts';
import { type DecodedTraces, OtlpDecodeError } from '../otlp/span.ts';
import { type PreparedSpan, type SpanPreparer, spanPreparer } from './prepare.ts';

export type BodyEncoding = 'protobuf' | 'json';

/** What came in, ready to be stored, and what of it was refused. */
export type PreparedTraces = DecodedTraces<PreparedSpan> & Pick<SpanPreparer, 'texts'>;

/** @throws OtlpDecodeError where the bytes are no request */
export function prepareBytes(
  bytes: Uint8Array,
  encoding: BodyEncoding,
  options: { keepContent: boolean },
): PreparedTraces {
  const { prepare, texts } = spanPreparer(options);
  const decoded = encoding === 'protobuf' ? decodeProtobuf(bytes, prepare) : decodeJson(parsed(bytes), prepare);
  return { ...decoded, texts };
}

function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw new OtlpDecodeError('The body is not JSON.');
  }
}
