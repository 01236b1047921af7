import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import type { Facts, Use } from '../../../src/telemetry/dialects/facts.ts';
import { readSpan } from '../../../src/telemetry/dialects/read.ts';
import { decodeJson } from '../../../src/telemetry/otlp/json.ts';
import { decodeProtobuf } from '../../../src/telemetry/otlp/protobuf.ts';
import type { OtlpSpan } from '../../../src/telemetry/otlp/span.ts';

type RecordedRequest = { path: string; contentType: string; contentEncoding: string | null; body: string };

/** The spans of a recording in `../recordings`, as they are decoded. */
export function recordedSpans(name: string): OtlpSpan[] {
  const file = new URL(`../recordings/${name}.json`, import.meta.url);
  const { requests } = JSON.parse(readFileSync(file, 'utf8')) as { requests: RecordedRequest[] };
  return requests
    .filter(({ path }) => path.endsWith('/v1/traces'))
    .flatMap(({ body, contentEncoding, contentType }) => {
      const sent = Buffer.from(body, 'base64');
      const bytes = contentEncoding === 'gzip' ? gunzipSync(sent) : sent;
      const decoded = contentType.includes('json') ? decodeJson(JSON.parse(bytes.toString())) : decodeProtobuf(bytes);
      return decoded.spans;
    });
}

/**
 * What the spans of a recording are read as, each distinct use with the number of spans that say it: `model
 * openai/gpt-5-mini, 21 + 8 tokens`, `tool everything/echo`, `tool web_search at the vendor`, `agent weather_agent`. Two spans
 * that tell of one call are two here.
 */
export function recordedUses(name: string): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const span of recordedSpans(name)) {
    const { facts, uses } = readSpan(span);
    for (const use of uses) {
      const line = facts && describeUse(use, facts);
      if (line) counts[line] = (counts[line] ?? 0) + 1;
    }
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
