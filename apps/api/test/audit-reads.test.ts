import { afterAll, beforeAll, expect, test } from 'vitest';
import { FURTHER_READS } from '../src/platform/audit/reads.ts';
import { chatSpan } from './endpoints/spec-fixtures.ts';
import { accountWithKey, unique } from './support/people.ts';
import { type Body, startTestServer, type TestServer } from './support/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({}, { noHousekeeping: true });
});
afterAll(() => server.stop());

type Reader = { tenantId: string; id: string; keyId: string; as: { key: string } };

/** An account of a tenant with a trace. */
async function tenantWithTrace(traceId: string, settings: object = {}): Promise<Reader> {
  const tenantId = unique('read');
  const { id, key, keyId } = await accountWithKey(server, { tenantId });
  const as = { key };
  await server.ok('PUT', `/v1/tenants/${tenantId}`, { as, body: { settings } });
  await server.ok('POST', '/v1/traces', { as, body: chatSpan(traceId, 'gpt-5', 'openai') });
  return { tenantId, id, keyId, as };
}

const TRACE = 'ab'.repeat(16);

async function readAll(as: { key: string }, { id, tenantId }: Pick<Reader, 'id' | 'tenantId'>): Promise<void> {
  await server.ok('GET', '/v1/traces', { as });
  await server.ok('GET', `/v1/traces/${TRACE}/spans?tenant_id=${tenantId}`, { as });
  await server.ok('POST', '/v1/credentials/search', { as });
  await server.ok('GET', `/v1/service-accounts/${id}/keys?tenant_id=${tenantId}`, { as });
}

async function readsOf({ as }: Pick<Reader, 'as'>): Promise<Body[]> {
  await server.services.audit.reads.flush('all');
  const { items } = await server.ok('GET', '/v1/audit-events?limit=100', { as });
  const reads = /^(list_traces|list_trace_spans|search_credentials|list_service_account_keys|further_reads)$/;
  return items.filter(({ operation }: Body) => reads.test(operation));
}

test('a tenant without auditReads has no reads in its audit', async () => {
  const reader = await tenantWithTrace(TRACE);
  await readAll(reader.as, reader);
  expect(await readsOf(reader)).toEqual([]);
});

test('with auditReads, reads of traces and credentials are events with their targets, one for each minute', async () => {
  const reader = await tenantWithTrace(TRACE, { auditReads: true });
  server.freeze();
  for (let count = 0; count < 3; count += 1) await readAll(reader.as, reader);
  const reads = await readsOf(reader);
  const by = { actor: { type: 'service_account', id: reader.id }, keyId: reader.keyId, tenantId: reader.tenantId };
  const event = { ...by, outcome: 'success', reason: null, changedFields: [], count: 3 };
  expect(reads.toSorted((a, b) => (a.operation < b.operation ? -1 : 1))).toMatchObject([
    { ...event, operation: 'list_service_account_keys', target: { type: 'service_account', id: reader.id } },
    { ...event, operation: 'list_trace_spans', target: { type: 'trace', id: TRACE } },
    { ...event, operation: 'list_traces', target: null },
    { ...event, operation: 'search_credentials', target: null },
  ]);
});

test('a read by a platform administrator is an event of each tenant whose records the answer contains, and of no other', async () => {
  const [audited, silent] = [await tenantWithTrace(TRACE, { auditReads: true }), await tenantWithTrace(TRACE)];
  await server.ok('GET', '/v1/traces', { as: server.admin });
  expect(await readsOf(audited)).toMatchObject([{ operation: 'list_traces', actor: { id: 'bootstrap' } }]);
  expect(await readsOf(silent)).toEqual([]);
});

test('turning auditReads on or off is an event', async () => {
  const reader = await tenantWithTrace(TRACE, { auditReads: true });
  await readAll(reader.as, reader);
  await server.ok('PUT', `/v1/tenants/${reader.tenantId}`, {
    as: reader.as,
    body: { settings: { auditReads: false } },
  });
  await readAll(reader.as, reader);
  expect((await readsOf(reader)).map(({ count }) => count)).toEqual([1, 1, 1, 1]);
  const { items } = await server.ok('GET', '/v1/audit-events?operation=update_tenant', { as: reader.as });
  expect(items.map(({ changedFields }: Body) => changedFields)).toEqual([
    ['settings.auditReads'],
    ['settings.auditReads'],
  ]);
});

test('a reader cannot flood the audit: beyond 1,000 different reads a minute, the rest become one event', async () => {
  const reader = await tenantWithTrace(TRACE, { auditReads: true });
  server.freeze();
  const { reads } = server.services.audit;
  await server.ok('GET', '/v1/traces', { as: reader.as });
  const [template] = await readsOf(reader);
  const { id: _id, tenantId, subTenantId, createdAt: _created, updatedAt: _updated, ...event } = template;
  for (let index = 0; index < 1500; index += 1) {
    const target = { type: 'trace', id: `trace-${index}` };
    reads.note({ ...event, place: { tenantId, subTenantId }, operation: 'list_trace_spans', target });
  }
  await reads.flush('all');
  const { items } = await server.ok('GET', `/v1/audit-events?operation=${FURTHER_READS}`, { as: reader.as });
  expect(items).toMatchObject([{ actor: { id: reader.id }, target: null, count: 500 }]);
});
