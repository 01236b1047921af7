import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import type { Facts, Reading, Use } from '../../../src/telemetry/reading/facts.ts';
import { readLogRecord, readNames as keptNames, readSpan } from '../../../src/telemetry/frameworks/read.ts';
import { decodeJson } from '../../../src/telemetry/otlp/json.ts';
import type { OtlpLogRecord } from '../../../src/telemetry/otlp/log.ts';
import { decodeLogsJson } from '../../../src/telemetry/otlp/logs-json.ts';
import { decodeLogsProtobuf } from '../../../src/telemetry/otlp/logs-protobuf.ts';
import { decodeProtobuf } from '../../../src/telemetry/otlp/protobuf.ts';
import type { OtlpSpan } from '../../../src/telemetry/otlp/span.ts';

type RecordedRequest = { path: string; contentType: string; contentEncoding: string | null; body: string };

/** The decoded spans of a recording in `../recordings`. */
export function recordedSpans(name: string): OtlpSpan[] {
  return recordedBodies(name, '/v1/traces').flatMap((body) => {
    const take = (span: OtlpSpan) => span;
    const decoded =
      body instanceof Buffer ? decodeProtobuf(body, { take, keptNames }) : decodeJson(body, { take, keptNames });
    return decoded.spans;
  });
}

/** The decoded log records of a recording. */
export function recordedLogs(name: string): OtlpLogRecord[] {
  const receivedAt = new Date();
  return recordedBodies(name, '/v1/logs').flatMap((body) => {
    const options = { receivedAt, take: (record: OtlpLogRecord) => record, keptNames };
    const decoded = body instanceof Buffer ? decodeLogsProtobuf(body, options) : decodeLogsJson(body, options);
    return decoded.records;
  });
}

/** Protobuf as bytes, JSON parsed. */
function recordedBodies(name: string, path: string): unknown[] {
  const file = new URL(`../recordings/${name}.json`, import.meta.url);
  const { requests } = JSON.parse(readFileSync(file, 'utf8')) as { requests: RecordedRequest[] };
  return requests
    .filter((request) => request.path.endsWith(path))
    .map(({ body, contentEncoding, contentType }) => {
      const sent = Buffer.from(body, 'base64');
      const bytes = contentEncoding === 'gzip' ? gunzipSync(sent) : sent;
      return contentType.includes('json') ? JSON.parse(bytes.toString()) : bytes;
    });
}

/**
 * The uses that the spans of a recording report, each with the number of its spans: `model openai/gpt-5-mini, 21 + 8 tokens`,
 * `tool everything/echo`, `tool web_search at the vendor`, `agent weather_agent`. Two spans that report one call count as two.
 */
export function recordedUses(name: string): Record<string, number> {
  return countUses(recordedSpans(name).map((span) => readSpan(span)));
}

/** The uses that the log records of a recording report. Records that only add tokens to a call begin with `tokens of`. */
export function recordedLogUses(name: string): Record<string, number> {
  return countUses(recordedLogs(name).map((record) => readLogRecord(record)));
}

function countUses(readings: Reading[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { facts, uses, tokensOf } of readings) {
    if (facts === null) continue;
    const add = (line: string, times = 1) => {
      counts[line] = (counts[line] ?? 0) + times;
    };
    for (const use of uses) add(`${use.times === 0 ? 'tokens of ' : ''}${describeUse(use, facts)}`, use.times || 1);
    if (tokensOf !== undefined) add(`tokens of ${describeUse(tokensOf, facts)}`);
  }
  return counts;
}

function describeUse({ kind, name }: Use, facts: Facts): string {
  if (kind === 'model') {
    const tokens = [facts.inputTokens, facts.outputTokens].filter((count) => count !== null);
    const vendor = facts.vendor === null ? '' : `${facts.vendor}/`;
    return `model ${vendor}${name}${tokens.length === 0 ? '' : `, ${tokens.join(' + ')} tokens`}`;
  }
  if (kind === 'tool') {
    const server = facts.toolServer === null ? '' : `${facts.toolServer}/`;
    return `tool ${server}${name}${facts.toolRunsAt === null ? '' : ` at the ${facts.toolRunsAt}`}`;
  }
  return `${kind} ${name}`;
}
