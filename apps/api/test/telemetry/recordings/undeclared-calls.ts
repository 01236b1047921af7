import { gunzipSync } from 'node:zlib';
import { plainName } from '@quartermaster/naming/name-key.ts';
import { makeCallSpan } from '../../../src/telemetry/calls/make-call-span.ts';
import { type Call, resolve } from '../../../src/telemetry/calls/resolve.ts';
import { readNames } from '../../../src/telemetry/frameworks/read.ts';
import { ingestLogs } from '../../../src/telemetry/ingest/ingest-logs.ts';
import { ingestSpans } from '../../../src/telemetry/ingest/ingest.ts';
import { prepareLogsOf } from '../../../src/telemetry/ingest/prepare-body.ts';
import { type PreparedSpan, serviceNameOf, spanPreparer } from '../../../src/telemetry/ingest/prepare.ts';
import type { BatchLookup } from '../../../src/telemetry/matching/batch-lookup.ts';
import { knownProviders } from '../../../src/governance/declarations/known-providers.ts';
import { matcherOf } from '../../../src/telemetry/matching/provider-match.ts';
import { indexTools } from '../../../src/telemetry/matching/tool-names.ts';
import { decodeJson } from '../../../src/telemetry/otlp/json.ts';
import { decodeProtobuf } from '../../../src/telemetry/otlp/protobuf.ts';
import type { OtlpSpan } from '../../../src/telemetry/otlp/span.ts';
import { unique } from '../../support/people.ts';
import type { TestServer } from '../../support/server.ts';
import type { Recording } from './recording.ts';
import type { Observed } from './replay.ts';

/** A request as it is ingested: decoded spans, or the bytes of log records. */
export type Telemetry = { spans: readonly OtlpSpan[] } | { logs: Uint8Array; encoding: 'json' | 'protobuf' };

const WHOLE = { take: (span: OtlpSpan) => span, keptNames: readNames };

/** The requests with spans and log records of a recording, in order. */
export function telemetryOf({ requests }: Pick<Recording, 'requests'>): Telemetry[] {
  return requests.flatMap(({ path, contentType, contentEncoding, body }): Telemetry[] => {
    const sent = Buffer.from(body, 'base64');
    const bytes = contentEncoding === 'gzip' ? gunzipSync(sent) : sent;
    const encoding = contentType.includes('json') ? 'json' : 'protobuf';
    if (path.endsWith('/v1/logs')) return [{ logs: bytes, encoding }];
    if (!path.endsWith('/v1/traces')) return [];
    return [encoding === 'json' ? decodeJson(JSON.parse(bytes.toString()), WHOLE) : decodeProtobuf(bytes, WHOLE)];
  });
}

/** The same telemetry in the opposite order, with a few spans in each request. */
export function reversed(telemetry: readonly Telemetry[], spansPerRequest = 1): Telemetry[] {
  const turned = telemetry.toReversed();
  return turned.flatMap((request): Telemetry[] => {
    if ('logs' in request) return [request];
    const spans = request.spans.toReversed();
    const starts = [...spans.keys()].filter((index) => index % spansPerRequest === 0);
    return starts.map((start) => ({ spans: spans.slice(start, start + spansPerRequest) }));
  });
}

/** Whether log records report calls. Such calls are recognised by keys in the database. */
export function hasCallsInLogs(telemetry: readonly Telemetry[]): boolean {
  return telemetry.some((request) => 'logs' in request && reportingIn(request, new Date()).length > 0);
}

/** The services of spans and of log records that report calls. */
export function servicesIn(telemetry: readonly Telemetry[]): string[] {
  const names = telemetry.flatMap((request) =>
    'logs' in request
      ? reportingIn(request, new Date()).map(({ serviceName }) => serviceName)
      : request.spans.map(serviceNameOf),
  );
  return [...new Set(names.map((name) => name ?? 'unknown_service'))];
}

type Logs = Extract<Telemetry, { logs: Uint8Array }>;

function reportingIn({ logs, encoding }: Logs, receivedAt: Date) {
  return prepareLogsOf(logs, { encoding, receivedAt }).reporting;
}

function preparedSpans(spans: readonly OtlpSpan[]): PreparedSpan[] {
  return spans.map(spanPreparer({ keepContent: false }).prepare);
}

/** What is counted of one model, tool or agent that an agent used, with the sums of its tokens. */
export type Counted = Pick<Observed, 'kind' | 'provider' | 'name' | 'occurrences'> & {
  agent: string;
  errors: number;
  tokens: number;
};

/**
 * The calls that spans report, if nothing is declared. Does what the receiver does, without a database: each request is matched by
 * itself, knows the providers that earlier ones discovered, and all spans of a trace are resolved together.
 */
export function callsInSpans(telemetry: readonly Telemetry[]): Counted[] {
  const place = { tenantId: 'tenant', subTenantId: null };
  const now = new Date();
  const lookup: BatchLookup = {
    providers: knownProviders(place),
    modelAt: () => undefined,
    soleProviderOfModel: () => undefined,
    toolsOf: () => indexTools([]),
    soleTool: () => undefined,
    toolOfCutServer: () => undefined,
    hashedTool: () => undefined,
    hashedServer: () => undefined,
  };
  const spans = telemetry.flatMap((request) => {
    if ('logs' in request) return [];
    const prepared = preparedSpans(request.spans);
    const batch = prepared.flatMap(({ interpreted }) => interpreted ?? []);
    const { match } = matcherOf(lookup, place, batch, now);
    return prepared.map(({ traceId, spanId, parentSpanId, interpreted }) => {
      const limits = { usageRetentionDays: 400 };
      const call = interpreted && makeCallSpan(interpreted, (use) => match(interpreted, use), { now, limits });
      return { traceId, spanId, parentSpanId, call };
    });
  });
  const calls = [...Map.groupBy(spans, ({ traceId }) => traceId).values()].flatMap((trace) =>
    resolve(
      new Map(trace.map(({ spanId, parentSpanId }) => [spanId, parentSpanId])),
      trace.flatMap(({ call }) => call ?? []),
    ),
  );
  return summed(calls.map(countedOf));
}

function countedOf({ kind, provider, name, agent, times, failed, inputTokens, outputTokens }: Call): Counted {
  const tokens = inputTokens + outputTokens;
  const plain = plainName(kind, name, provider.name);
  return { kind, provider: provider.name, name: plain, agent, occurrences: times, errors: failed ? times : 0, tokens };
}

/** One entry for each kind, provider, name and agent, sorted. */
function summed(all: readonly Counted[]): Counted[] {
  const sums = new Map<string, Counted>();
  for (const one of all) {
    const key = `${one.kind} ${one.provider}/${one.name} ${one.agent}`;
    const sum = sums.get(key);
    sums.set(
      key,
      sum === undefined
        ? one
        : {
            ...one,
            occurrences: sum.occurrences + one.occurrences,
            errors: sum.errors + one.errors,
            tokens: sum.tokens + one.tokens,
          },
    );
  }
  return [...sums].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, sum]) => sum);
}

/** One entry for each kind, provider and name. */
export function byAnyAgent(counted: readonly Counted[]): Counted[] {
  return summed(counted.map((one) => ({ ...one, agent: '' })));
}

const SENDER = 'sender';

/** Ingests telemetry in a new tenant that declares nothing, and reads what was counted. */
export async function countCalls(server: TestServer, telemetry: readonly Telemetry[]): Promise<Counted[]> {
  const { services } = server;
  const tenantId = unique('undeclared');
  await server.ok('POST', '/v1/service-accounts', { as: server.admin, body: { id: SENDER, name: SENDER, tenantId } });
  const ctx: Parameters<typeof ingestSpans>[0] = {
    services,
    principal: {
      kind: 'service_account',
      id: SENDER,
      tenantId,
      scheme: 'api_key',
      keyId: null,
      keyExpiresAt: null,
      session: null,
      termsAccepted: true,
      platformAdministrator: false,
      administratorByClaim: false,
      platformScopes: [],
      grants: [{ tenantId, subTenantId: null, scopes: ['traces:write'] }],
    },
  };
  for (const request of telemetry) {
    const refused =
      'logs' in request
        ? await ingestLogs(ctx, async ({ receivedAt }) =>
            prepareLogsOf(request.logs, { encoding: request.encoding, receivedAt }),
          )
        : await ingestSpans(ctx, async (options) => {
            const { prepare, texts, scopes } = spanPreparer(options);
            const spans = request.spans.map(prepare);
            return { spans, texts, scopes: scopes.done(), rejected: 0, reasons: [] };
          });
    if (refused !== null) throw new Error(refused.errorMessage);
  }
  const rows = await services.db
    .selectFrom('usage_rollups as sums')
    .innerJoin('usage_series as series', (join) =>
      join.onRef('series.tenant_id', '=', 'sums.tenant_id').onRef('series.id', '=', 'sums.series_id'),
    )
    .leftJoin('providers', (join) =>
      join.onRef('providers.tenant_id', '=', 'series.tenant_id').onRef('providers.id', '=', 'series.provider_id'),
    )
    .select(['series.kind', 'series.name', 'series.agent', 'providers.name as provider'])
    .select(['sums.calls', 'sums.errors', 'sums.input_tokens', 'sums.output_tokens'])
    .where('sums.tenant_id', '=', tenantId)
    .where('sums.period', '=', 'day')
    .execute();
  return summed(
    rows.map(({ kind, name, agent, provider, calls, errors, input_tokens: input, output_tokens: output }) => ({
      kind,
      name,
      agent,
      provider: provider ?? '(not stored)',
      occurrences: Number(calls),
      errors: Number(errors),
      tokens: Number(input) + Number(output),
    })),
  );
}
