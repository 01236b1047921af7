import { afterAll, beforeAll, expect, test } from 'vitest';
import { newTenant } from '../governance/loop-support.ts';
import { accountWithKey } from '../support/people.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { logRequest } from './otlp/wire.ts';
import { chat, exportRequest, newTraceId, type SpanInput } from './traces/sending.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

/** A request of an instrumentation scope. */
function requestOf(scope: string, spans: readonly SpanInput[]) {
  const request = exportRequest(spans);
  for (const { scopeSpans } of request.resourceSpans) for (const one of scopeSpans) one.scope.name = scope;
  return request;
}

const unknownSpans = (count: number): SpanInput[] =>
  Array.from({ length: count }, () => ({ traceId: newTraceId(), name: 'step', attributes: { 'acme.model': 'gpt-5' } }));

async function newSender() {
  const tenant = await newTenant(server);
  const sender = await accountWithKey(server, { tenantId: tenant.tenantId }, ['traces:write']);
  const send = (body: object, path = '/v1/traces') => server.ok('POST', path, { as: sender, body });
  const path = `/v1/service-accounts/${sender.id}?tenant_id=${tenant.tenantId}`;
  const telemetry = async () => {
    await server.services.telemetry.accounts.flush('all');
    return (await server.ok('GET', path, { as: server.admin })).telemetry;
  };
  const tasks = async () => {
    const query = `/v1/operator/tasks?kind=review_telemetry&tenant_id=${tenant.tenantId}`;
    return (await server.ok('GET', query, { as: server.admin })).items;
  };
  return { tenant, sender, send, telemetry, tasks };
}

test('an account that sent nothing has no telemetry', async () => {
  const { telemetry } = await newSender();
  expect(await telemetry()).toBeNull();
});

test('scopes of which nothing is understood are listed with their counts and the time of the first span', async () => {
  const { send, telemetry } = await newSender();
  await send(requestOf('acme.agents', unknownSpans(3)));
  await send(requestOf('acme.tools', unknownSpans(1)));
  await send(requestOf('openai', [chat('gpt-5'), ...unknownSpans(2)]));
  const logs = logRequest({ body: { stringValue: 'a message' } });
  await send(
    { resourceLogs: [{ scopeLogs: [{ ...logs, scope: { name: 'acme.logs' }, logRecords: [{}, {}] }] }] },
    '/v1/logs',
  );
  const since = expect.stringMatching(/^\d{4}-/);
  expect(await telemetry()).toEqual({
    lastReceivedAt: since,
    spans: 7,
    logRecords: 2,
    unread: [
      { scope: 'acme.agents', spans: 3, logRecords: 0, since },
      { scope: 'acme.logs', spans: 0, logRecords: 2, since },
      { scope: 'acme.tools', spans: 1, logRecords: 0, since },
    ],
  });
});

test('an account whose telemetry is not understood has one operator task, which ends once something is understood', async () => {
  const { send, telemetry, tasks, sender } = await newSender();
  await send(requestOf('acme.agents', unknownSpans(19)));
  await telemetry();
  expect(await tasks()).toEqual([]);
  for (let round = 0; round < 3; round += 1) {
    await send(requestOf('acme.agents', unknownSpans(5)));
    await telemetry();
  }
  expect(await tasks()).toMatchObject([
    { status: 'open', subject: { type: 'service_account', id: sender.id }, title: expect.stringContaining(sender.id) },
  ]);
  await send(exportRequest([chat('gpt-5')]));
  await telemetry();
  expect(await tasks()).toMatchObject([{ status: 'cancelled' }]);
});

test('a task that a person acknowledged is not opened again', async () => {
  const { send, telemetry, tasks } = await newSender();
  await send(requestOf('acme.agents', unknownSpans(20)));
  await telemetry();
  const [task] = await tasks();
  const done = await server.ok('POST', `/v1/operator/tasks/${task.id}/complete`, {
    as: server.admin,
    body: { outcome: 'acknowledged' },
  });
  expect(done).toMatchObject({ status: 'succeeded', outcome: 'acknowledged' });
  await send(requestOf('acme.agents', unknownSpans(20)));
  await telemetry();
  expect(await tasks()).toHaveLength(1);
});

test('the number of listed and stored scopes is bounded', async () => {
  const { send, telemetry } = await newSender();
  for (let round = 0; round < 30; round += 1) await send(requestOf(`scope-${round}`, unknownSpans(1)));
  const shown = await telemetry();
  expect([shown.spans, shown.unread.length]).toEqual([30, 10]);
  const rows = await server.services.db
    .selectFrom('account_telemetry')
    .selectAll()
    .where('scope', 'like', 'scope-%')
    .execute();
  expect(rows).toHaveLength(20);
});

test('the telemetry of an account is counted without a write for each request', async () => {
  const { sender, send, telemetry } = await newSender();
  await send(exportRequest([{}]));
  expect(await telemetry()).toMatchObject({ spans: 1 });
  for (let round = 0; round < 5; round += 1) await send(exportRequest([{}]));
  const { spans } = await server.services.db
    .selectFrom('account_telemetry')
    .select('spans')
    .where('service_account_id', '=', sender.id)
    .executeTakeFirstOrThrow();
  expect(Number(spans)).toBe(1);
  expect(await telemetry()).toMatchObject({ spans: 6 });
});

test('a scope whose spans name models but report no counted call is listed as not understood', async () => {
  const { send, telemetry } = await newSender();
  const attributes = { 'gen_ai.operation.name': 'plan', 'gen_ai.request.model': 'gpt-5' };
  await send(requestOf('acme.planner', [{ traceId: newTraceId(), name: 'plan', kind: 1, attributes }]));
  expect((await telemetry()).unread).toMatchObject([{ scope: 'acme.planner' }]);
});
