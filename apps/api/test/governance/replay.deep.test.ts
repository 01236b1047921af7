import { scaled } from '@quartermaster/db/testing/scale.ts';
import { onPostgres } from '@quartermaster/db/testing/test-database.ts';
import { Pool } from 'undici';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { accountWithKey } from '../support/people.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import {
  type AttributeInput,
  all,
  chat,
  exportRequest,
  newSpanId,
  newTraceId,
  type SpanInput,
  toolRun,
} from '../telemetry/traces/sending.ts';
import { newTenant } from './loop-support.ts';

/** In the full form fewer on Postgres, where each statement goes over a socket. */
const BATCHES = scaled({ usual: 150, full: onPostgres() ? 500 : 10_000 });
const MAX_SPANS_PER_BATCH = 3;
const TRACES = Math.min(300, BATCHES / 4);
const CONNECTIONS = 4;
const SUB_TENANTS = ['east', 'west'];
const SECOND = 1_000_000_000n;
const START = 1_700_000_000n * SECOND;

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

/** Something that agents use, and the spans that may report it. */
type Subject = { provider: string; kind: string; name: string; spans: SpanInput[] };
type Sent = SpanInput & { of: Subject; traceId: string; spanId: string; start: bigint; end: bigint; failed: boolean };
type Batch = { subTenantId: string; spans: Sent[] };

const at = (provider: string) => ({ 'gen_ai.provider.name': provider });

/** The address of the declared provider. The library names another vendor, but the address decides. */
const ADDRESSED = { ...at('azure.ai.openai'), 'server.address': 'api.openai.com' };

const SUBJECTS: Subject[] = [
  ...numbered(20).map((index) =>
    model('openai', `gpt-${index}`, [
      [`gpt-${index}`, at('openai')],
      [`GPT-${index}`, at('OpenAI')],
      [`openai/gpt-${index}`, at('openai')],
      [`OpenAI/Gpt-${index}`, ADDRESSED],
    ]),
  ),
  // Their provider is not declared. The first span that names it creates it, in each sub-tenant.
  ...numbered(10).map((index) =>
    model('mistral_ai', `large-${index}`, [
      [`large-${index}`, at('mistral_ai')],
      [`mistral/Large-${index}`, at('Mistral_AI')],
    ]),
  ),
  // Tool names are case-sensitive, so these are ten tools.
  ...numbered(5).flatMap((index) => [tool(`find-${index}`), tool(`Find-${index}`)]),
];

test(`${BATCHES} batches, each sent twice, shuffled, over ${CONNECTIONS} connections, count every span once`, async () => {
  const random = seeded(20_260_728);
  const tenant = await newTenant(server);
  const { tenantId, operator: as } = tenant;
  const body = { name: 'tools', kind: 'mcp', baseUrl: 'https://tools.example.com' };
  await server.ok('POST', '/v1/providers', { as, body });
  const keys = new Map<string, string[]>();
  for (const subTenantId of SUB_TENANTS) {
    const { key } = await accountWithKey(server, { tenantId, subTenantId }, ['traces:write']);
    keys.set(subTenantId, [key, key]);
  }
  const batches = batchesOf(random);
  // Each batch is sent twice, as a client that retries does.
  const requests = batches.flatMap(({ subTenantId, spans }) => {
    const body = JSON.stringify(exportRequest(spans));
    return (keys.get(subTenantId) ?? []).map((key) => ({ key, body }));
  });

  const { answers, connections } = await sendAll(shuffled(requests, random));
  expect([...answers]).toEqual([['200 {}', 2 * BATCHES]]);
  expect(connections).toBe(CONNECTIONS);

  const providers = await all(server, '/v1/providers?limit=100', as);
  expect(providers.map(({ name, subTenantId }) => `${subTenantId} ${name.toLowerCase()}`).toSorted()).toEqual(
    ['null openai', 'null tools', 'east mistral_ai', 'west mistral_ai'].toSorted(),
  );
  const providerNames = new Map(providers.map(({ id, name }) => [id, name.toLowerCase()]));
  const observations = await all(server, '/v1/runtime-observations?limit=100', as);
  expect(
    sorted(
      observations.map(({ subTenantId, providerId, kind, name, ...seen }) => ({
        // The spelling that came first is shown.
        subject: `${subTenantId} ${providerNames.get(providerId)} ${kind} ${kind === 'model' ? name.toLowerCase() : name}`,
        occurrences: seen.occurrences,
        errors: seen.evidence.errors,
        names: seen.evidence.names.toSorted(),
        firstSeenAt: seen.firstSeenAt,
        lastSeenAt: seen.lastSeenAt,
        lastTraceId: seen.lastTraceId,
        lastSpanId: seen.lastSpanId,
      })),
    ),
  ).toEqual(sorted(expectedObservations(batches)));

  const traces = await all(server, '/v1/traces?limit=100', as);
  expect(
    sorted(
      traces.map(({ subTenantId, traceId, spanCount, errorCount, startTime, endTime }) => ({
        subject: `${subTenantId} ${traceId}`,
        spanCount,
        errorCount,
        startTime,
        endTime,
      })),
    ),
  ).toEqual(sorted(expectedTraces(batches)));

  // Concurrent first sightings create each recommendation and task once.
  const open = providers.map(({ id }) => all(server, `/v1/providers/${id}/recommendations?limit=100`, as));
  const kinds = (await Promise.all(open)).flat().map(({ kind }): string => kind);
  expect(countsOf(kinds)).toEqual({ register_item: 30 + 2 * 10, adopt_provider: 2 });
  const tasks = await all(server, '/v1/operator/tasks?limit=100', as);
  expect(countsOf(tasks.map(({ kind }) => kind))).toEqual({ review_observation: 2 * 40, adopt_provider: 2 });
});

function model(provider: string, name: string, spellings: [string, Record<string, AttributeInput>][]): Subject {
  return {
    provider,
    kind: 'model',
    name,
    spans: spellings.map(([spelling, attributes]) => chat(spelling, attributes)),
  };
}

function tool(name: string): Subject {
  return { provider: 'tools', kind: 'tool', name, spans: [toolRun(name, { 'server.address': 'tools.example.com' })] };
}

/** No two spans begin at the same time. Each trace is spread over many batches and both sub-tenants. */
function batchesOf(random: () => number): Batch[] {
  const traceIds = numbered(TRACES).map(newTraceId);
  return numbered(BATCHES).map((batch) => {
    const length = 1 + Math.floor(random() * MAX_SPANS_PER_BATCH);
    const spans = numbered(length).map((index): Sent => {
      const of = pick(SUBJECTS, random);
      const start = START + BigInt(batch * MAX_SPANS_PER_BATCH + index) * SECOND;
      const times = { start, end: start + SECOND / 2n };
      const ids = { traceId: pick(traceIds, random), spanId: newSpanId() };
      return { ...pick(of.spans, random), ...ids, ...times, of, failed: random() < 0.1 };
    });
    return { subTenantId: pick(SUB_TENANTS, random), spans };
  });
}

function expectedObservations(batches: readonly Batch[]) {
  const spans = batches.flatMap(({ subTenantId, spans: own }) => own.map((span) => ({ subTenantId, ...span })));
  const bySubject = Map.groupBy(spans, ({ subTenantId, of }) => `${subTenantId} ${of.provider} ${of.kind} ${of.name}`);
  return [...bySubject].map(([subject, seen]) => {
    const [first, last] = [seen[0], seen.at(-1)];
    return {
      subject,
      occurrences: seen.length,
      errors: seen.filter(({ failed }) => failed).length,
      names: [...new Set(seen.map(({ attributes = {} }) => spelledName(attributes)))].toSorted(),
      firstSeenAt: timeOf(first?.start),
      lastSeenAt: timeOf(last?.start),
      lastTraceId: last?.traceId,
      lastSpanId: last?.spanId,
    };
  });
}

function expectedTraces(batches: readonly Batch[]) {
  const spans = batches.flatMap(({ subTenantId, spans: own }) => own.map((span) => ({ subTenantId, ...span })));
  const byTrace = Map.groupBy(spans, ({ subTenantId, traceId }) => `${subTenantId} ${traceId}`);
  return [...byTrace].map(([subject, own]) => ({
    subject,
    spanCount: own.length,
    errorCount: own.filter(({ failed }) => failed).length,
    startTime: timeOf(own[0]?.start).replace('Z', '000000Z'),
    endTime: timeOf(own.at(-1)?.end).replace('Z', '000000Z'),
  }));
}

function spelledName(attributes: Record<string, AttributeInput>): string {
  return String(attributes['gen_ai.request.model'] ?? attributes['gen_ai.tool.name']);
}

/** Sends all requests, one at a time on each connection. Returns how often each answer came. */
async function sendAll(requests: readonly { key: string; body: string }[]) {
  const pool = new Pool(server.url, { connections: CONNECTIONS });
  let connections = 0;
  pool.on('connect', () => {
    connections += 1;
  });
  const answers = new Map<string, number>();
  const waiting = requests.values();
  const work = async () => {
    for (const { key, body } of waiting) {
      const headers = { 'content-type': 'application/json', 'x-api-key': key };
      const response = await pool.request({ method: 'POST', path: '/v1/traces', headers, body });
      const answer = `${response.statusCode} ${await response.body.text()}`;
      answers.set(answer, (answers.get(answer) ?? 0) + 1);
    }
  };
  await Promise.all(numbered(CONNECTIONS).map(work));
  await pool.close();
  return { answers, connections };
}

function sorted<T extends { subject: string }>(rows: T[]): T[] {
  return rows.toSorted((a, b) => (a.subject < b.subject ? -1 : 1));
}

function countsOf(names: readonly string[]): Record<string, number> {
  return Object.fromEntries([...Map.groupBy(names, (name) => name)].map(([name, same]) => [name, same.length]));
}

function timeOf(nanoseconds = 0n): string {
  return new Date(Number(nanoseconds / 1_000_000n)).toISOString();
}

function numbered(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}

/** A random number generator (mulberry32). The same seed gives the same numbers, so that a failure can be repeated. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function pick<T>(list: readonly T[], random: () => number): T {
  const picked = list[Math.floor(random() * list.length)];
  if (picked === undefined) throw new Error('the list is empty');
  return picked;
}

function shuffled<T>(list: readonly T[], random: () => number): T[] {
  const keyed = list.map((value) => ({ value, key: random() }));
  return keyed.toSorted((a, b) => a.key - b.key).map(({ value }) => value);
}
