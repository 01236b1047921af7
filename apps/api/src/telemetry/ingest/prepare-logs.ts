import type { ScopeCount } from '@quartermaster/db/repositories/account-telemetry.ts';
import { readLogRecord } from '../dialects/read.ts';
import type { DecodedLogs, OtlpLogRecord } from '../otlp/log.ts';
import { decodeLogsJson } from '../otlp/logs-json.ts';
import { decodeLogsProtobuf } from '../otlp/logs-protobuf.ts';
import { ScopeCounts } from './scope-counts.ts';

/** What came in of log records. Plain data: it may cross threads. */
export type PreparedLogs = Omit<DecodedLogs, 'records'> & { received: number; scopes: ScopeCount[] };

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
  const { records, ...refused } = decode((record) => {
    scopes.add(record.scope.name, readLogRecord(record).dialect !== null);
    return null;
  });
  return { ...refused, received: records.length, scopes: scopes.done() };
}
