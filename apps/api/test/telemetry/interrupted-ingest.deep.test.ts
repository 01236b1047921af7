import { afterAll, beforeAll, expect, test } from 'vitest';
import { tooBusy } from '../../src/telemetry/ingest/intake.ts';
import { ingestLogs } from '../../src/telemetry/ingest/ingest-logs.ts';
import { ingestSpans } from '../../src/telemetry/ingest/ingest.ts';
import { storeSpans } from '../../src/telemetry/ingest/store-spans.ts';
import { prepareLogsOf, prepareTracesOf } from '../../src/telemetry/ingest/prepare-body.ts';
import { accountWithKey } from '../support/people.ts';
import { principalIn } from '../support/principals.ts';
import { startTestServer, type TestServer } from '../support/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

/** More than fit into one transaction. */
const SPANS = 2500;

async function senderIn(tenantId: string) {
  const { id, keyId } = await accountWithKey(server, { tenantId });
  const grants = [{ tenantId, subTenantId: null, scopes: ['traces:write' as const] }];
  return principalIn(tenantId, { id, scheme: 'api_key', keyId, grants });
}

/** The calls of each observation of a tenant. */
async function callsIn(tenantId: string): Promise<number[]> {
  const { items } = await server.ok('GET', `/v1/runtime-observations?tenant_id=${tenantId}`, { as: server.admin });
  return items.map((item: { occurrences: number }) => item.occurrences);
}

test('regression: spans that make room for another tenant are sent again, and none is lost or counted twice', async () => {
  const principal = await senderIn('acme');
  const spans = Array.from({ length: SPANS }, (_, index) => ({
    traceId: 'a'.repeat(32),
    spanId: (index + 1).toString(16).padStart(16, '0'),
    name: 'chat',
    startTimeUnixNano: '1764000000000000000',
    attributes: [
      { key: 'gen_ai.operation.name', value: { stringValue: 'chat' } },
      { key: 'gen_ai.request.model', value: { stringValue: 'gpt-5' } },
    ],
  }));
  const bytes = Buffer.from(JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] }));
  const send = (interrupted?: AbortSignal) =>
    ingestSpans(
      { services: server.services, principal },
      async (options) => prepareTracesOf(bytes, { encoding: 'json', ...options }),
      async (request) => (await storeSpans(server.services, request, interrupted)).refused,
    );
  await expect(send(AbortSignal.abort(tooBusy()))).rejects.toMatchObject({ reason: 'rate_limited', status: 429 });
  expect(await callsIn('acme')).toEqual([500]);
  expect(await send()).toBeNull();
  expect(await callsIn('acme')).toEqual([SPANS]);
});

test('log records that make room for another tenant are sent again, and none is lost or counted twice', async () => {
  const principal = await senderIn('globex');
  const attribute = (key: string, stringValue: string) => ({ key, value: { stringValue } });
  const logRecords = Array.from({ length: 600 }, (_, index) => ({
    timeUnixNano: String(1764000000000000000n + BigInt(index)),
    body: { stringValue: 'claude_code.api_request' },
    attributes: [attribute('event.name', 'api_request'), attribute('model', 'claude-sonnet-5')],
  }));
  const scopeLogs = [{ scope: { name: 'com.anthropic.claude_code.events' }, logRecords }];
  const bytes = Buffer.from(JSON.stringify({ resourceLogs: [{ scopeLogs }] }));
  const send = (interrupted?: AbortSignal) =>
    ingestLogs(
      { services: server.services, principal },
      async (options) => prepareLogsOf(bytes, { encoding: 'json', ...options }),
      interrupted,
    );
  await expect(send(AbortSignal.abort(tooBusy()))).rejects.toMatchObject({ reason: 'rate_limited', status: 429 });
  const [counted] = await callsIn('globex');
  // The first transaction.
  expect(counted).toBe(500);
  expect(await send()).toBeNull();
  expect(await callsIn('globex')).toEqual([600]);
});
