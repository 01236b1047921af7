import type { ScopeCount } from '@quartermaster/db/repositories/account-telemetry.ts';
import { valuesBeyond } from '../../json-values.ts';
import { decodeJson } from '../otlp/json.ts';
import { countDataPointsJson, countDataPointsProtobuf } from '../otlp/metrics.ts';
import { decodeProtobuf } from '../otlp/protobuf.ts';
import { type DecodedTraces, OtlpDecodeError, RequestTooLargeError } from '../otlp/span.ts';
import { type PreparedSpan, type SpanPreparer, spanPreparer } from './prepare.ts';
import { type PreparedLogs, prepareLogsJson, prepareLogsProtobuf } from './prepare-logs.ts';

export type BodyEncoding = 'protobuf' | 'json';

/** What came in, ready to be stored, and what of it was refused. */
export type PreparedTraces = DecodedTraces<PreparedSpan> & Pick<SpanPreparer, 'texts'> & { scopes: ScopeCount[] };

/**
 * Values of a JSON body. Each takes some 50 bytes once it is parsed, and a span with 30 attributes has 150: this is room
 * for 25,000 such spans.
 */
const MAX_JSON_VALUES = 4_000_000;

/** @throws OtlpDecodeError where the bytes are no request */
export function prepareTracesOf(
  bytes: Uint8Array,
  { encoding, keepContent }: { encoding: BodyEncoding; keepContent: boolean },
): PreparedTraces {
  if (encoding === 'json') return prepareJson(parsed(bytes), { keepContent });
  const { prepare, texts, scopes } = spanPreparer({ keepContent });
  return { ...decodeProtobuf(bytes, prepare), texts, scopes: scopes.done() };
}

/**
 * @param body what JSON.parse made of the request
 * @throws OtlpDecodeError where it is no request
 */
export function prepareJson(body: unknown, options: { keepContent: boolean }): PreparedTraces {
  const { prepare, texts, scopes } = spanPreparer(options);
  return { ...decodeJson(body, prepare), texts, scopes: scopes.done() };
}

/** @throws OtlpDecodeError where the bytes are no request */
export function prepareLogsOf(
  bytes: Uint8Array,
  { encoding, receivedAt }: { encoding: BodyEncoding; receivedAt: Date },
): PreparedLogs {
  return encoding === 'protobuf' ? prepareLogsProtobuf(bytes, receivedAt) : prepareLogsJson(parsed(bytes), receivedAt);
}

/** Counts data points. @throws OtlpDecodeError where the bytes are no request */
export function prepareMetricsOf(bytes: Uint8Array, { encoding }: { encoding: BodyEncoding }): number {
  return encoding === 'protobuf' ? countDataPointsProtobuf(bytes) : countDataPointsJson(parsed(bytes));
}

function parsed(bytes: Uint8Array): unknown {
  const text = textOf(bytes);
  if (valuesBeyond(text, MAX_JSON_VALUES, { nested: true })) {
    throw new RequestTooLargeError(`The body has more than ${MAX_JSON_VALUES} values.`);
  }
  try {
    return JSON.parse(text);
  } catch {
    throw new OtlpDecodeError('The body is not JSON.');
  }
}

function textOf(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new OtlpDecodeError('The body is not JSON.');
  }
}
