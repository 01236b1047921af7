import type { NewAuditEvent } from '@quartermaster/db/repositories/audit-events.ts';
import { beforeAll, afterAll, expect, test } from 'vitest';
import { FURTHER_REFUSALS } from '../src/platform/audit/refusals.ts';
import { type SumOptions, summedEvents } from '../src/platform/audit/summed-events.ts';
import { accountWithKey, unique } from './support/people.ts';
import { type Body, startTestServer, type TestServer } from './support/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({}, { noHousekeeping: true });
});
afterAll(() => server.stop());

/** All events of a tenant, after buffered ones are written. */
async function auditOf(key: string, query = ''): Promise<Body[]> {
  await server.services.audit.refusals.flush('all');
  return (await server.ok('GET', `/v1/audit-events?limit=100${query}`, { as: { key } })).items;
}

test('regression: look-ups of foreign and missing records are recorded as denied events of the caller, with a count', async () => {
  const [owner, stranger] = [unique('owner'), unique('stranger')].map((tenantId) => ({ tenantId }));
  const [own, probing] = [
    await accountWithKey(server, owner ?? { tenantId: '' }),
    await accountWithKey(server, stranger ?? { tenantId: '' }),
  ];
  const provider = await server.ok('POST', '/v1/providers', {
    as: { key: own.key },
    body: { name: 'hidden', kind: 'llm' },
  });
  const before = await auditOf(own.key);
  server.freeze();
  const as = { key: probing.key };
  for (let count = 0; count < 60; count += 1) {
    const id = count % 2 === 0 ? provider.id : `prov_${count}`;
    expect((await server.call('GET', `/v1/providers/${id}`, { as })).status).toBe(404);
  }
  expect((await server.call('DELETE', `/v1/providers/${provider.id}`, { as })).status).toBe(404);
  const trpc = `/trpc/providers.get?input=${encodeURIComponent(JSON.stringify({ path: { provider_id: provider.id } }))}`;
  expect((await server.call('GET', trpc, { as })).status).toBe(404);
  const events = await auditOf(probing.key, '&outcome=denied');
  const actor = { type: 'service_account', id: probing.id };
  const denied = { actor, keyId: probing.keyId, outcome: 'denied', reason: 'provider_not_found', target: null };
  const byOperation = events.toSorted((a, b) => b.count - a.count);
  expect(byOperation).toMatchObject([
    { ...denied, operation: 'get_provider', count: 61 },
    { ...denied, operation: 'delete_provider', count: 1 },
  ]);
  // The audit of the probed tenant has no event.
  expect(await auditOf(own.key)).toEqual(before);
});

test('regression: a body that names foreign records is recorded as a denied look-up too', async () => {
  const own = await accountWithKey(server, { tenantId: unique('owner') });
  const as = { key: own.key };
  const provider = await server.ok('POST', '/v1/providers', { as, body: { name: 'hidden', kind: 'llm' } });
  const probing = await accountWithKey(server, { tenantId: unique('stranger') });
  const post = (body: object) => server.call('POST', '/v1/gateways', { as: { key: probing.key }, body });
  expect((await post({ name: 'a', providerIds: [provider.id] })).status).toBe(422);
  expect((await post({ name: 'b', manifestId: 'man_1' })).status).toBe(422);
  // An invalid value causes no look-up.
  expect((await post({ name: '' })).status).toBe(422);
  const events = await auditOf(probing.key, '&outcome=denied');
  expect(events.map(({ reason }) => String(reason)).toSorted()).toEqual(['manifest_not_found', 'provider_not_found']);
});

function refusal(index: number, tenantId = 'default'): NewAuditEvent {
  return {
    place: { tenantId, subTenantId: null },
    actor: { type: 'service_account', id: `many-${index}`, tenantId },
    scheme: 'api_key',
    keyId: `key_${index}`,
    operation: 'list_gateways',
    target: null,
    outcome: 'denied',
    reason: 'scope_missing',
    changedFields: [],
    count: 1,
    requestId: 'r',
  };
}

function sumsOf(options: Partial<SumOptions> = {}) {
  const written: NewAuditEvent[] = [];
  let dropped = 0;
  const sums = summedEvents(server.services, {
    overflow: FURTHER_REFUSALS,
    onDropped: () => void (dropped += 1),
    write: async (events) => void written.push(...events),
    ...options,
  });
  return { sums, written, dropped: () => dropped };
}

test('the refusals of 3,000 callers of several tenants in one minute are all written', async () => {
  const { sums } = sumsOf();
  const real = summedEvents(server.services, { overflow: FURTHER_REFUSALS, onDropped: () => expect.unreachable() });
  for (let index = 0; index < 3000; index += 1) {
    for (const log of [sums, real]) log.note(refusal(index, `tenant-${index % 4}`));
  }
  await real.flush('all');
  const written = await server.services.db
    .selectFrom('audit_events')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('key_id', 'like', 'key_%')
    .where('operation', '=', 'list_gateways')
    .executeTakeFirstOrThrow();
  expect(Number(written.count)).toBe(3000);
});

test('regression: writing refusals takes linear time', async () => {
  const cost = async (count: number) => {
    const tries: number[] = [];
    for (let attempt = 0; attempt < 5; attempt += 1) {
      const { sums } = sumsOf({ limits: { perTenant: count } });
      for (let index = 0; index < count; index += 1) sums.note(refusal(index));
      const start = process.cpuUsage();
      await sums.flush('all');
      const { user, system } = process.cpuUsage(start);
      tries.push(user + system);
    }
    return Math.min(...tries);
  };
  await cost(2000);
  // It took a quadratic number of comparisons: 469 ms of CPU time for 10,000, and now a few.
  expect(await cost(10_000)).toBeLessThan(100_000);
});

test('a tenant gets at most 1,000 different refusal events a minute, then one for each actor, then one in total, with counts', async () => {
  const { sums, written, dropped } = sumsOf();
  server.freeze();
  for (let index = 0; index < 5000; index += 1) sums.note(refusal(index, 'hostile'));
  sums.note(refusal(0, 'hostile'));
  sums.note(refusal(0, 'quiet'));
  await sums.flush('all');
  expect(written).toHaveLength(2002);
  const further = written.filter(({ operation }) => operation === FURTHER_REFUSALS);
  expect(further).toHaveLength(1001);
  expect(further[0]).toMatchObject({ actor: { id: 'many-1000' }, reason: null, count: 1 });
  const rest = { place: { tenantId: 'hostile' }, actor: { type: 'system' }, keyId: null, requestId: '', count: 3000 };
  expect(further.at(-1)).toMatchObject(rest);
  expect(written.find(({ actor }) => actor.id === 'many-0')).toMatchObject({ count: 2 });
  expect(written.reduce((sum, { count }) => sum + count, 0)).toBe(5002);
  expect(dropped()).toBe(0);
});

test('memory is bounded: refusals of many tenants beyond the limit are only counted, then dropped', async () => {
  const { sums, written, dropped } = sumsOf({ limits: { waiting: 100, perTenant: 10 } });
  server.freeze();
  for (let index = 0; index < 1000; index += 1) sums.note(refusal(0, `tenant-${index}`));
  await sums.flush('all');
  expect(written).toHaveLength(300);
  expect(written.filter(({ operation }) => operation === FURTHER_REFUSALS)).toHaveLength(200);
  expect(dropped()).toBe(700);
});

test('after a failed write the events are kept together with new ones, and none is written twice', async () => {
  const batches: (readonly NewAuditEvent[])[] = [];
  let failing = true;
  const { sums } = sumsOf({
    limits: { perTenant: 2000 },
    async write(events) {
      if (failing && batches.length === 1) throw new Error('the database is away');
      batches.push(events);
    },
  });
  server.freeze();
  for (let index = 0; index < 1200; index += 1) sums.note(refusal(index));
  await expect(sums.flush('all')).rejects.toThrow('the database is away');
  sums.note(refusal(1199));
  failing = false;
  await sums.flush('all');
  const written = batches.flat();
  expect(batches.map(({ length }) => length)).toEqual([500, 500, 200]);
  expect(new Set(written.map(({ actor }) => actor.id)).size).toBe(1200);
  expect(written.find(({ actor }) => actor.id === 'many-1199')?.count).toBe(2);
});
