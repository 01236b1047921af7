import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { inTransaction } from '@quartermaster/db/transaction.ts';
import { aggregateRecordCalls } from '../../src/telemetry/ingest/aggregate-records.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { record } from '../telemetry/calls/records.ts';
import { all, chat, newSpanId, newTraceId, type SpanInput, sendSpans, toolRun } from '../telemetry/traces/sending.ts';
import { atOpenai, newTenant, type Tenant } from './loop-support.ts';
import { junk, LIMIT, models, SERIES, sharingOn } from './sharing.ts';

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer({ QM_MAX_OBSERVATIONS: String(LIMIT), QM_MAX_USAGE_SERIES: String(SERIES) });
});
afterAll(() => server.stop());

const { newSender, observedNames, unobserved, expectRightCounters } = sharingOn(() => server);

test('regression: several greedy accounts leave room for an honest one, and their existing observations are still counted', async () => {
  const tenant = await newTenant(server);
  for (const prefix of ['a', 'b', 'c', 'd']) await sendSpans(server, await newSender(tenant), junk(prefix));
  // 20, then 10, 5 and 3: half of the remaining share each time.
  expect(await observedNames(tenant)).toHaveLength(38);
  await tenant.see('gpt-5', await newSender(tenant));
  expect(await tenant.observation('gpt-5')).toBeDefined();
  const known = await tenant.observation('a-3');
  await sendSpans(server, tenant.sender, [toolRun('a-3')]);
  expect((await tenant.observation('a-3')).occurrences).toBe(known.occurrences + 1);
  await expectRightCounters(tenant);
});

test('regression: the junk names of all accounts of one sub-tenant leave room for other sub-tenants', async () => {
  const tenant = await newTenant(server);
  const honest = await newSender(tenant, 'honest');
  const before = await unobserved();
  for (const prefix of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']) {
    await sendSpans(server, await newSender(tenant, 'greedy'), junk(prefix));
  }
  expect(await observedNames(tenant)).toHaveLength(LIMIT / 2);
  expect((await unobserved())['sub_tenant']).toBeGreaterThan(before['sub_tenant'] ?? 0);
  await sendSpans(server, honest, models('gpt-5', 'gpt-5-mini', 'o3'));
  for (const name of ['gpt-5', 'gpt-5-mini', 'o3']) expect(await tenant.observation(name, 'honest')).toBeDefined();
  await tenant.see('gpt-5', tenant.sender);
  expect(await tenant.observation('gpt-5')).toBeDefined();
  await expectRightCounters(tenant);
});

describe.each(['log records', 'spans around them'])('an account reports calls first by %s', (first) => {
  /** Reports five calls of gpt-5 as an account. @returns the spans that show later that they were calls of another model */
  async function reportFive(tenant: Tenant, account: { key: string; principal: string }): Promise<SpanInput[]> {
    const traceId = newTraceId();
    const ids = Array.from({ length: 5 }, () => ({ traceId, spanId: newSpanId() }));
    if (first === 'log records') await reportByRecords(tenant, account.principal, ids);
    else {
      await sendSpans(
        server,
        account,
        ids.map((one) => ({ ...atOpenai('gpt-5'), ...one })),
      );
    }
    return ids.map(({ spanId }) => {
      const place = first === 'log records' ? { spanId } : { parentSpanId: spanId, name: 'inner' };
      return { ...atOpenai('gpt-5-2026-02-02'), traceId, ...place };
    });
  }

  test('regression: corrections of calls that were not observed take nothing from what another account reported', async () => {
    const tenant = await newTenant(server);
    const [greedy, honest] = [await newSender(tenant), await newSender(tenant)];
    await sendSpans(server, greedy, junk('junk'));
    const corrections = await reportFive(tenant, greedy);
    expect(await tenant.observation('gpt-5')).toBeUndefined();
    const blocked = { kind: 'model', name: 'gpt-5', status: 'blocked' };
    await server.ok('POST', `${tenant.path}/inventory`, { as: tenant.operator, body: blocked });
    await sendSpans(server, honest, models('gpt-5', 'gpt-5', 'gpt-5'));
    const reported = await tenant.observation('gpt-5');
    expect(reported).toMatchObject({ occurrences: 3, risk: { level: 'high' } });
    await sendSpans(server, greedy, corrections);
    const { id, evidence, status } = reported;
    const after = await tenant.observation('gpt-5');
    expect(after).toMatchObject({ id, evidence, status, occurrences: 3, risk: { level: 'high' } });
    await expectRightCounters(tenant);
  });

  test('corrections of calls that were not observed hide no new calls in the same request', async () => {
    const tenant = await newTenant(server);
    const [greedy, honest] = [await newSender(tenant), await newSender(tenant)];
    await sendSpans(server, greedy, junk('junk'));
    const corrections = await reportFive(tenant, greedy);
    await sendSpans(server, honest, models('gpt-5', 'gpt-5', 'gpt-5'));
    await sendSpans(server, greedy, [...corrections, ...models('gpt-5', 'gpt-5')]);
    expect(await tenant.observation('gpt-5')).toMatchObject({ occurrences: 5 });
  });

  test('corrections of calls whose observation was pruned take nothing from the observation that came after it', async () => {
    const tenant = await newTenant(server);
    const [one, other] = [await newSender(tenant), await newSender(tenant)];
    const corrections = await reportFive(tenant, one);
    expect(await tenant.observation('gpt-5')).toMatchObject({ occurrences: 5 });
    await sendSpans(server, other, junk('junk'));
    const task = (await tenant.tasks()).find(({ kind }) => kind === 'review_cardinality');
    const path = `/v1/operator/tasks/${task?.id}/complete`;
    await server.ok('POST', path, { as: tenant.operator, body: { outcome: 'pruned' } });
    await sendSpans(server, other, models('gpt-5', 'gpt-5', 'gpt-5'));
    await sendSpans(server, one, corrections);
    expect(await tenant.observation('gpt-5')).toMatchObject({ occurrences: 3 });
  });

  test('corrections take back the account’s own calls and no others, also after observations were merged', async () => {
    const tenant = await newTenant(server);
    const [one, other] = [await newSender(tenant), await newSender(tenant)];
    const corrections = await reportFive(tenant, one);
    await sendSpans(server, other, models('acme/gpt-5', 'acme/gpt-5'));
    await sendSpans(server, one, models('acme/gpt-5'));
    await server.ok('PUT', tenant.path, { as: tenant.operator, body: { name: 'acme' } });
    expect(await tenant.observation('gpt-5')).toMatchObject({ occurrences: 8 });
    await sendSpans(server, one, corrections);
    expect(await tenant.observation('gpt-5')).toMatchObject({ occurrences: 3 });
  });
});

test('a correction of a call at a deleted provider takes nothing from the provider that was discovered under its name', async () => {
  const tenant = await newTenant(server);
  const [traceId, spanId] = [newTraceId(), newSpanId()];
  const at = { 'gen_ai.provider.name': 'openai', 'server.address': 'api.openai.com' };
  await sendSpans(server, tenant.sender, [{ ...chat('gpt-5', at), traceId, spanId }]);
  await server.ok('DELETE', tenant.path, { as: tenant.operator });
  await tenant.see('gpt-5');
  const occurrences = async () => {
    const found = await all(server, '/v1/runtime-observations?limit=100', tenant.operator);
    const inUse = found.filter(({ providerId }) => providerId !== tenant.provider.id);
    return Object.fromEntries(inUse.map((one) => [one.name, one.occurrences]));
  };
  expect(await occurrences()).toEqual({ 'gpt-5': 1 });
  await sendSpans(server, tenant.sender, [
    { ...atOpenai('gpt-5-2026-02-02'), name: 'inner', traceId, parentSpanId: spanId },
  ]);
  expect(await occurrences()).toEqual({ 'gpt-5': 1, 'gpt-5-2026-02-02': 1 });
});

test('in a tenant without sub-tenants, accounts may together have more than half of its limit', async () => {
  const tenant = await newTenant(server);
  await sendSpans(server, await newSender(tenant), junk('a'));
  await sendSpans(server, await newSender(tenant), junk('b'));
  expect(await observedNames(tenant)).toHaveLength(30);
});

test('regression: series of usage that one sub-tenant fills leave room for the names of another', async () => {
  const tenant = await newTenant(server);
  const honest = await newSender(tenant, 'honest');
  for (let round = 0; round < 5; round += 1) {
    await sendSpans(server, await newSender(tenant, 'greedy'), junk('same'));
  }
  await sendSpans(server, honest, models('gpt-5', 'gpt-5-mini', 'o3'));
  const query = 'group_by=name&group_by=sub_tenant&interval=all';
  const sums = await all(server, `/v1/usage?${query}`, tenant.operator);
  const named = sums.filter(({ subTenantId }) => subTenantId === 'honest').map(({ name }): string => name);
  expect(named.toSorted()).toEqual(['gpt-5', 'gpt-5-mini', 'o3']);
});

test('the counters stay right when observations are merged, moved to their server, and pruned', async () => {
  const tenant = await newTenant(server);
  const { operator: as, path } = tenant;
  const [one, other] = [await newSender(tenant, 'a'), await newSender(tenant, 'a')];
  await sendSpans(server, one, models('acme/m-1', 'm-2'));
  await sendSpans(server, other, models('m-1', 'acme/m-2', 'm-3'));
  await server.ok('PUT', path, { as, body: { name: 'acme' } });
  expect(await observedNames(tenant)).toHaveLength(3);
  await expectRightCounters(tenant);

  // The outer span counts at the service first. The inner span then shows that an MCP server ran the tool.
  const traceId = newTraceId();
  const spanId = newSpanId();
  await sendSpans(server, one, [{ ...toolRun('echo'), traceId, spanId }]);
  await expectRightCounters(tenant);
  const inner = { 'mcp.method.name': 'tools/call', 'gen_ai.tool.name': 'echo', 'mcp.server.name': 'everything' };
  await sendSpans(server, one, [
    { ...toolRun('echo'), name: 'tools/call echo', traceId, parentSpanId: spanId, attributes: inner },
  ]);
  expect(await observedNames(tenant, 'echo')).toHaveLength(1);
  await expectRightCounters(tenant);

  await sendSpans(server, other, junk('junk'));
  await expectRightCounters(tenant);
  const task = (await tenant.tasks()).find(({ kind }) => kind === 'review_cardinality');
  await server.ok('POST', `/v1/operator/tasks/${task?.id}/complete`, { as, body: { outcome: 'pruned' } });
  expect(await observedNames(tenant, 'junk')).toEqual([]);
  expect(await expectRightCounters(tenant)).toEqual([]);
  await sendSpans(server, other, junk('again'));
  expect(await observedNames(tenant, 'again')).toHaveLength(LIMIT / 2);
});

type Ids = { traceId: string; spanId: string };

/** Reports calls of gpt-5 by log records, as an account that sends no more than them. */
async function reportByRecords({ tenantId }: Tenant, sender: string, ids: readonly Ids[]): Promise<void> {
  const { db, tenantLimits, now } = server.services;
  const limits = { observations: LIMIT, tenantLimits, usageSeries: SERIES, usageRetentionDays: 400 };
  const records = ids.map((one) => record({ model: 'gpt-5', vendor: 'openai' }, one));
  const place = { tenantId, subTenantId: null };
  await inTransaction(db, (trx) => aggregateRecordCalls(trx, place, { records, sender, limits }, now()));
}
