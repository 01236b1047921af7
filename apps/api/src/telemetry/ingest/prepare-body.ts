import type { ScopeCount } from '@quartermaster/db/repositories/account-telemetry.ts';
import { hasMoreValuesThan } from '../../platform/json-values.ts';
import { readNames } from '../frameworks/read.ts';
import { decodeJson } from '../otlp/json.ts';
import { countDataPointsJson, countDataPointsProtobuf } from '../otlp/metrics.ts';
import { decodeProtobuf } from '../otlp/protobuf.ts';
import { type DecodedTraces, OtlpDecodeError, RequestTooLargeError } from '../otlp/span.ts';
import { type PreparedSpan, type SpanPreparer, spanPreparer } from './prepare.ts';
import { type PreparedLogs, prepareLogsJson, prepareLogsProtobuf } from './prepare-logs.ts';

export type BodyEncoding = 'protobuf' | 'json';

/** Spans that are ready to be stored, and what was refused. */
export type PreparedTraces<Spans = PreparedSpan[]> = Omit<DecodedTraces, 'spans'> &
  Pick<SpanPreparer, 'texts'> & { spans: Spans; scopes: ScopeCount[] };

/** The maximum number of values of a JSON body. A value takes about 50 bytes. A span with 30 attributes has 150 values. */
const MAX_JSON_VALUES = 4_000_000;

/** @throws OtlpDecodeError if the bytes are not a request */
export function prepareTracesOf(
  bytes: Uint8Array,
  { encoding, keepContent }: { encoding: BodyEncoding; keepContent: boolean },
): PreparedTraces {
  if (encoding === 'json') return prepareJson(parsed(bytes), { keepContent });
  const { prepare, texts, scopes } = spanPreparer({ keepContent });
  return { ...decodeProtobuf(bytes, { take: prepare, keptNames: readNames }), texts, scopes: scopes.done() };
}

/**
 * @param body the parsed JSON of the request
 * @throws OtlpDecodeError if it is not a request
 */
export function prepareJson(body: unknown, options: { keepContent: boolean }): PreparedTraces {
  const { prepare, texts, scopes } = spanPreparer(options);
  return { ...decodeJson(body, { take: prepare, keptNames: readNames }), texts, scopes: scopes.done() };
}

/** @throws OtlpDecodeError if the bytes are not a request */
export function prepareLogsOf(
  bytes: Uint8Array,
  { encoding, receivedAt }: { encoding: BodyEncoding; receivedAt: Date },
): PreparedLogs {
  return encoding === 'protobuf' ? prepareLogsProtobuf(bytes, receivedAt) : prepareLogsJson(parsed(bytes), receivedAt);
}

/** Counts data points. @throws OtlpDecodeError if the bytes are not a request */
export function prepareMetricsOf(bytes: Uint8Array, { encoding }: { encoding: BodyEncoding }): number {
  return encoding === 'protobuf' ? countDataPointsProtobuf(bytes) : countDataPointsJson(parsed(bytes));
}

function parsed(bytes: Uint8Array): unknown {
  const text = textOf(bytes);
  if (hasMoreValuesThan(text, { values: MAX_JSON_VALUES })) {
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
