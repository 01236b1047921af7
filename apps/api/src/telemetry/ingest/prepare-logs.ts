import { createHash } from 'node:crypto';
import type { ScopeCount } from '@quartermaster/db/repositories/account-telemetry.ts';
import type { InterpretedRecord } from '../calls/interpreted-record.ts';
import type { Reading } from '../reading/facts.ts';
import { readLogRecord, readNames } from '../frameworks/read.ts';
import { visibleName } from '../reading/visible-name.ts';
import type { DecodedLogs, OtlpLogRecord } from '../otlp/log.ts';
import { decodeLogsJson } from '../otlp/logs-json.ts';
import { decodeLogsProtobuf } from '../otlp/logs-protobuf.ts';
import { environmentOf } from './environment.ts';
import { serviceNameOf } from './prepare.ts';
import { ScopeCounts } from './scope-counts.ts';

/** The log records of a request. Plain data, because it may cross threads. */
export type PreparedLogs<Reporting = InterpretedRecord[]> = Omit<DecodedLogs, 'records'> & {
  received: number;
  /** The records that report a call, its tokens or its rejection. */
  reporting: Reporting;
  scopes: ScopeCount[];
};

/** @throws OtlpDecodeError if the bytes are not a request */
export function prepareLogsProtobuf(bytes: Uint8Array, receivedAt: Date): PreparedLogs {
  return prepareWith((take) => decodeLogsProtobuf(bytes, { receivedAt, take, keptNames: readNames }));
}

/**
 * @param body the parsed JSON of the request
 * @throws OtlpDecodeError if it is not a request
 */
export function prepareLogsJson(body: unknown, receivedAt: Date): PreparedLogs {
  return prepareWith((take) => decodeLogsJson(body, { receivedAt, take, keptNames: readNames }));
}

function prepareWith(decode: (take: (record: OtlpLogRecord) => null) => DecodedLogs<null>): PreparedLogs {
  const scopes = new ScopeCounts('logRecords');
  const reporting: InterpretedRecord[] = [];
  const { records, ...refused } = decode((record) => {
    const reading = readLogRecord(record);
    scopes.add(record.scope.name, reading.dialect !== null);
    const { uses, tokensOf, failureOf, rejected } = reading;
    if (uses.length > 0 || tokensOf || failureOf || rejected) reporting.push(interpretedRecord(record, reading));
    return null;
  });
  return { ...refused, received: records.length, reporting, scopes: scopes.done() };
}

function interpretedRecord(record: OtlpLogRecord, reading: Reading): InterpretedRecord {
  const serviceName = serviceNameOf(record);
  return {
    reading,
    serviceName: serviceName === null ? null : visibleName(serviceName),
    environment: environmentOf(record),
    time: record.time,
    durationMs: durationOf(record),
    failed: reading.facts?.errorType != null,
    traceId: record.traceId,
    spanId: record.spanId,
    digest: digestOf(record),
  };
}

/** Claude Code, Codex and Gemini CLI write `duration_ms`, some of them as a string. */
function durationOf({ attributes }: OtlpLogRecord): number | null {
  const given = attributes['duration_ms'];
  const duration = typeof given === 'string' && given !== '' ? Number(given) : given;
  return typeof duration === 'number' && Number.isFinite(duration) && duration >= 0 ? duration : null;
}

/** Identifies a record when it is sent again: the first 16 bytes of a SHA-256. */
function digestOf({ time, eventName, attributes, body, scope, resource }: OtlpLogRecord): string {
  const content = JSON.stringify([time, eventName, attributes, body, scope.name, resource]);
  return createHash('sha256').update(content).digest().toString('base64url', 0, 16);
}
