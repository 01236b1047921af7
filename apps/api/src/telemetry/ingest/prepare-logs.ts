import { createHash } from 'node:crypto';
import type { ScopeCount } from '@quartermaster/db/repositories/account-telemetry.ts';
import type { ToldRecord } from '../calls/fold-readings.ts';
import type { Reading } from '../dialects/facts.ts';
import { readLogRecord } from '../dialects/read.ts';
import { visibleName } from '../dialects/visible-name.ts';
import type { DecodedLogs, OtlpLogRecord } from '../otlp/log.ts';
import { decodeLogsJson } from '../otlp/logs-json.ts';
import { decodeLogsProtobuf } from '../otlp/logs-protobuf.ts';
import { serviceNameOf } from './prepare.ts';
import { ScopeCounts } from './scope-counts.ts';

/** What came in of log records. Plain data: it may cross threads. */
export type PreparedLogs = Omit<DecodedLogs, 'records'> & {
  received: number;
  /** Of the records, those that tell of a call or of its tokens. */
  told: ToldRecord[];
  scopes: ScopeCount[];
};

/** @throws OtlpDecodeError where the bytes are no request */
export function prepareLogsProtobuf(bytes: Uint8Array, receivedAt: Date): PreparedLogs {
  return prepared((take) => decodeLogsProtobuf(bytes, receivedAt, take));
}

/**
 * @param body what JSON.parse made of the request
 * @throws OtlpDecodeError where it is no request
 */
export function prepareLogsJson(body: unknown, receivedAt: Date): PreparedLogs {
  return prepared((take) => decodeLogsJson(body, receivedAt, take));
}

function prepared(decode: (take: (record: OtlpLogRecord) => null) => DecodedLogs<null>): PreparedLogs {
  const scopes = new ScopeCounts('logRecords');
  const told: ToldRecord[] = [];
  const { records, ...refused } = decode((record) => {
    const reading = readLogRecord(record);
    scopes.add(record.scope.name, reading.dialect !== null);
    if (reading.uses.length > 0 || reading.tokensOf !== undefined) told.push(toldBy(record, reading));
    return null;
  });
  return { ...refused, received: records.length, told, scopes: scopes.done() };
}

function toldBy(record: OtlpLogRecord, reading: Reading): ToldRecord {
  const serviceName = serviceNameOf(record);
  return {
    reading,
    serviceName: serviceName === null ? null : visibleName(serviceName),
    time: record.time,
    durationMs: durationOf(record),
    failed: reading.facts?.errorType != null,
    traceId: record.traceId,
    spanId: record.spanId,
    digest: digestOf(record),
  };
}

/** `duration_ms` is what Claude Code, Codex and Gemini CLI call it, some of them as a text. */
function durationOf({ attributes }: OtlpLogRecord): number | null {
  const given = attributes['duration_ms'];
  const duration = typeof given === 'string' && given !== '' ? Number(given) : given;
  return typeof duration === 'number' && Number.isFinite(duration) && duration >= 0 ? duration : null;
}

/** The first 16 bytes of SHA-256: the same where a record is sent again. */
function digestOf({ time, eventName, attributes, body, scope, resource }: OtlpLogRecord): string {
  const content = JSON.stringify([time, eventName, attributes, body, scope.name, resource]);
  return createHash('sha256').update(content).digest().toString('base64url', 0, 16);
}
