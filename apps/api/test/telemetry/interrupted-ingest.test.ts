import { afterAll, beforeAll, expect, test } from 'vitest';
import { tooBusy } from '../../src/telemetry/ingest/intake.ts';
import { ingestSpans } from '../../src/telemetry/ingest/ingest.ts';
import { prepareTracesOf } from '../../src/telemetry/ingest/prepare-body.ts';
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

test('regression: spans that make room for another tenant are sent again, and none is lost or counted twice', async () => {
  const { id, keyId } = await accountWithKey(server, { tenantId: 'acme' });
  const grants = [{ tenantId: 'acme', subTenantId: null, scopes: ['traces:write' as const] }];
  const principal = principalIn('acme', { id, scheme: 'api_key', keyId, grants });
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
      interrupted,
    );
  const calls = async () => {
    const { items } = await server.ok('GET', '/v1/runtime-observations?tenant_id=acme', { as: server.admin });
    return items.map((item: { occurrences: number }) => item.occurrences);
  };
  await expect(send(AbortSignal.abort(tooBusy()))).rejects.toMatchObject({ reason: 'rate_limited', status: 429 });
  expect(await calls()).toEqual([2000]);
  expect(await send()).toBeNull();
  expect(await calls()).toEqual([SPANS]);
});
