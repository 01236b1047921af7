import { afterAll, beforeAll, expect, test } from 'vitest';
import { accountWithKey, unique } from '../../support/people.ts';
import { type Credential, startTestServer, type TestServer } from '../../support/server.ts';
import {
  all,
  chat,
  exportRequest,
  newTraceId,
  nowInNanoseconds,
  sendSpans,
  type SpanInput,
  toolRun,
} from './sending.ts';

const MINUTE = 60_000_000_000n;

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

function sender(subTenantId?: string, tenantId = unique('failed')) {
  return accountWithKey(server, { tenantId, subTenantId }, ['traces:read', 'traces:write']);
}

/** Sends spans, each in a trace of its own. Returns the ids of the traces. */
async function sendTraces(as: Credential, spans: readonly SpanInput[]): Promise<string[]> {
  const traces = spans.map((span) => ({ ...span, traceId: newTraceId() }));
  await sendSpans(server, as, traces);
  return traces.map(({ traceId }) => traceId);
}

async function listed(as: Credential, query: Record<string, string>): Promise<string[]> {
  const traces = await all(server, `/v1/traces?${new URLSearchParams(query).toString()}`, as);
  return traces.map(({ traceId }): string => traceId);
}

test('a tool call that failed yesterday between 10 and 11 is found by its name and time, with the class of its error', async () => {
  const as = await sender();
  const ten = nowInNanoseconds(server) - 24n * 60n * MINUTE;
  const failing = (tool: string, minutes: bigint) => ({
    ...toolRun(tool, { 'error.type': 'TimeoutError' }),
    failed: true,
    start: ten + minutes * MINUTE,
  });
  const [wanted = ''] = await sendTraces(as, [
    failing('search', 30n),
    failing('search', -1n),
    failing('search', 60n),
    failing('search_all', 31n),
    { ...toolRun('search'), start: ten + 32n * MINUTE },
    { ...chat('search'), failed: true, start: ten + 33n * MINUTE },
  ]);
  const time = (at: bigint) => new Date(Number(at / 1_000_000n)).toISOString();
  const between = { started_after: time(ten), started_before: time(ten + 60n * MINUTE) };
  expect(await listed(as, { ...between, failed_kind: 'tool', failed_name: 'search' })).toEqual([wanted]);
  const { items } = await server.ok('GET', `/v1/traces?failed_kind=tool&failed_name=search&limit=2`, { as });
  expect(items[1]).toMatchObject({
    traceId: wanted,
    failures: [{ kind: 'tool', name: 'search', errorType: 'TimeoutError' }],
  });
});

test('failed calls are found by kind, by name, and by both', async () => {
  const as = await sender();
  const named = { 'gen_ai.agent.name': 'planner' };
  const agent = { 'gen_ai.operation.name': 'invoke_agent', ...named };
  const [model = '', tool = '', run = '', unset = ''] = await sendTraces(as, [
    { ...chat('gpt-5', named), failed: true },
    { ...toolRun('gpt-5'), failed: true },
    { name: 'invoke_agent planner', kind: 1, attributes: agent, failed: true },
    chat('gpt-5', { 'error.type': '429' }),
    chat('gpt-5'),
    { ...toolRun('a\ttab'), failed: true },
  ]);
  const found = async (query: Record<string, string>) => (await listed(as, query)).toSorted();
  expect(await found({ failed_kind: 'model' })).toEqual([model, unset].toSorted());
  expect(await found({ failed_kind: 'agent' })).toEqual([run]);
  expect(await found({ failed_name: 'gpt-5' })).toEqual([model, tool, unset].toSorted());
  expect(await found({ failed_kind: 'tool', failed_name: 'gpt-5' })).toEqual([tool]);
  // The failed call of an agent's model is no failure of the agent.
  expect(await found({ failed_name: 'planner' })).toEqual([run]);
  expect(await found({ failed_name: '429' })).toEqual([]);
  expect(await found({ failed_name: 'GPT-5' })).toEqual([]);
  const wrong = await server.call('GET', '/v1/traces?failed_kind=prompt', { as });
  expect([wrong.status, wrong.body.detail[0].loc]).toEqual([422, ['query', 'failed_kind']]);
});

test('a trace keeps the failures of all its batches, each once, and at most 20', async () => {
  const as = await sender();
  const traceId = newTraceId();
  const failing = (tool: string, errorType: string) => ({
    ...toolRun(tool, { 'error.type': errorType }),
    traceId,
    failed: true,
  });
  await sendSpans(server, as, [failing('search', 'TimeoutError'), failing('search', 'TimeoutError')]);
  await sendSpans(server, as, [failing('search', 'TimeoutError'), failing('search', 'java.io.IOException')]);
  const failures = async () => (await server.ok('GET', '/v1/traces', { as })).items[0].failures;
  expect(await failures()).toEqual([
    { kind: 'tool', name: 'search', errorType: 'TimeoutError' },
    { kind: 'tool', name: 'search', errorType: 'java.io.IOException' },
  ]);
  await sendSpans(
    server,
    as,
    Array.from({ length: 25 }, (_, index) => failing(`tool-${index}`, 'Error')),
  );
  expect(await failures()).toHaveLength(20);
});

test('the class of an error is shown in the waterfall, and a text that is none is not', async () => {
  const as = await sender();
  const traceId = newTraceId();
  const body = exportRequest([
    { ...toolRun('a', { 'error.type': 'The card 4111 was declined' }), traceId, failed: true, start: 1n },
    { ...toolRun('b'), traceId, failed: true, start: 2n },
    { ...toolRun('c'), traceId, start: 3n },
  ]);
  const spans: object[] = body.resourceSpans[0]?.scopeSpans[0]?.spans ?? [];
  const exception = { key: 'exception.type', value: { stringValue: 'ValueError' } };
  const message = { key: 'exception.message', value: { stringValue: 'The card 4111 was declined' } };
  Object.assign(spans[1] ?? {}, {
    events: [{ name: 'exception', timeUnixNano: '2', attributes: [exception, message] }],
  });
  await server.ok('POST', '/v1/traces', { as, body });
  const waterfall = await server.ok('GET', `/v1/traces/${traceId}/waterfall`, { as });
  expect(waterfall.items.map(({ errorType }: { errorType: string | null }) => errorType)).toEqual([
    null,
    'ValueError',
    null,
  ]);
  const { items } = await server.ok('GET', '/v1/traces', { as });
  expect(items[0].failures).toEqual([
    { kind: 'tool', name: 'a', errorType: null },
    { kind: 'tool', name: 'b', errorType: 'ValueError' },
  ]);
  expect(JSON.stringify([waterfall, items])).not.toContain('4111');
});

test('a failed call of another tenant or sub-tenant is not found', async () => {
  const tenantId = unique('failed');
  const [wide, team] = [await sender(undefined, tenantId), await sender('team', tenantId)];
  const [own = ''] = await sendTraces(team, [{ ...toolRun('search'), failed: true }]);
  const query = { failed_kind: 'tool', failed_name: 'search' };
  expect(await listed(team, query)).toEqual([own]);
  expect(await listed(wide, query)).toEqual([own]);
  expect(await listed(await sender('other', tenantId), query)).toEqual([]);
  expect(await listed(await sender(), query)).toEqual([]);
});
