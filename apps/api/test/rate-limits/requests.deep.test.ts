import { expect, test } from 'vitest';
import { expectProblem } from '../endpoints/harness.ts';
import { accountWithKey, joinPlace, memberWithToken } from '../support/people.ts';
import type { Answered } from '../support/server.ts';
import { chat, sendSpans } from '../telemetry/traces/sending.ts';
import { limited, list, pointsLeft, repeated, times } from './limited.ts';

test('regression: all users of a tenant share a limit of their own; neither a program nor another tenant of theirs keeps them out', async () => {
  const server = await limited({});
  const acme = { tenantId: 'acme' };
  const program = await accountWithKey(server, acme);
  await accountWithKey(server, { tenantId: 'globex' });
  const one = await memberWithToken(server, acme, 'viewer');
  const other = await memberWithToken(server, acme, 'viewer');
  const ofBoth = await memberWithToken(server, acme, 'viewer');
  await joinPlace(server, ofBoth, { place: { tenantId: 'globex' }, role: 'viewer' });
  const stranger = await memberWithToken(server, { tenantId: 'globex' }, 'viewer');
  await server.ok('PUT', '/v1/tenants/acme/limits', { as: server.admin, body: { requestsPerMinute: 10 } });
  // The requests above count as well.
  server.travel(60_000);
  expect(await times(11, () => list(server, program))).toEqual(repeated([10, 200], [1, 429]));
  expect(await times(5, () => list(server, one))).toEqual(repeated([5, 200]));
  expect(await times(3, () => list(server, ofBoth))).toEqual(repeated([3, 200]));
  expect(await times(3, () => list(server, other))).toEqual(repeated([2, 200], [1, 429]));
  const refused = await list(server, one);
  expectProblem(refused, 429, 'rate_limited');
  expect(refused.headers.get('ratelimit-policy')).toBe('"tenant_users";q=10;w=60');
  expect((await list(server, stranger)).status).toBe(200);
  // One of their tenants has no points left, the other has.
  expect(await times(5, () => list(server, ofBoth))).toEqual(repeated([5, 200]));
  await server.ok('PUT', '/v1/tenants/globex/limits', { as: server.admin, body: { requestsPerMinute: 10 } });
  expect(await times(3, () => list(server, ofBoth))).toEqual(repeated([1, 200], [2, 429]));
  // A platform administrator is limited by no tenant.
  const administrator = await memberWithToken(server, acme, 'viewer');
  expect((await list(server, administrator)).status).toBe(429);
  await server.ok('PUT', `/v1/users/${administrator.id}/platform-administrator`, { as: server.admin });
  expect((await list(server, administrator)).status).toBe(200);
});

test('publishing and deleting a manifest takes points for each 50 declarations that change', async () => {
  const server = await limited({});
  const account = await accountWithKey(server, { tenantId: 'acme' });
  const remaining = () => pointsLeft(server.call('GET', '/v1/manifests?limit=1', { as: account }));
  const costOf = async (work: () => Promise<unknown>) => {
    const before = await remaining();
    await work();
    return before - (await remaining()) - 1;
  };
  const publish = (names: number[], more = {}) =>
    server.call('POST', '/v1/manifests', {
      as: account,
      body: {
        name: 'planner',
        kind: 'agent',
        spec: { declares: names.map((name) => ({ provider: 'p', kind: 'tool', name: String(name) })), ...more },
      },
    });
  const names = (count: number, from = 0) => Array.from({ length: count }, (_, index) => from + index);
  expect(await costOf(() => publish(names(120)))).toBe(1 + 2);
  expect(await costOf(() => publish(names(120)))).toBe(1);
  expect(await costOf(() => publish(names(120), { 'x-note': 'the same declarations' }))).toBe(1);
  expect(await costOf(() => publish(names(120, 70)))).toBe(1 + 2);
  const {
    body: { id },
  } = await publish(names(120, 70));
  expect(await costOf(() => server.call('DELETE', `/v1/manifests/${id}`, { as: account }))).toBe(1 + 2);
});

test('a list of agents takes points for all records that it reads, even if it returns few of them', async () => {
  const server = await limited({});
  const account = await accountWithKey(server, { tenantId: 'acme' });
  const span = {
    name: 'invoke_agent a',
    attributes: { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'a' },
  };
  await sendSpans(server, { key: account.key }, [span]);
  const ask = () => server.call('GET', '/v1/agents?limit=1', { as: account });
  const left = () => pointsLeft(ask());
  const [before, after] = [await left(), await left()];
  expect(before - after).toBe(1);
  const { db } = server.services;
  const seen = await db
    .selectFrom('runtime_observations')
    .selectAll()
    .where('kind', '=', 'agent')
    .executeTakeFirstOrThrow();
  for (let batch = 0; batch < 10; batch += 1) {
    const copies = Array.from({ length: 100 }, (_, index) => {
      const name = `agent-${batch}-${index}`;
      return { ...seen, id: `obs_${name}`, name, name_key: name, name_family: name };
    });
    await db.insertInto('runtime_observations').values(copies).execute();
  }
  await left();
  const [first, second] = [await left(), await left()];
  // 1,001 observations, and one usage series.
  expect(first - second).toBe(2);
});

test('a waterfall takes points for the observations that it reads, however few its spans', async () => {
  const server = await limited({});
  const account = await accountWithKey(server, { tenantId: 'acme' });
  const traceId = 'a'.repeat(32);
  await sendSpans(server, { key: account.key }, [{ ...chat('gpt-5'), traceId }]);
  const ask = () => server.call('GET', `/v1/traces/${traceId}/waterfall`, { as: account });
  const left = () => pointsLeft(ask());
  const [before, after] = [await left(), await left()];
  expect(before - after).toBe(1);
  const { db } = server.services;
  const seen = await db
    .selectFrom('runtime_observations')
    .selectAll()
    .where('kind', '=', 'model')
    .executeTakeFirstOrThrow();
  // Dated versions of the model have the same family of names.
  const copies = Array.from({ length: 200 }, (_, index) => ({
    ...seen,
    id: `obs_${index}`,
    name_key: `gpt-5-${index}`,
  }));
  await db.insertInto('runtime_observations').values(copies).execute();
  await left();
  const [first, second] = [await left(), await left()];
  expect(first - second).toBe(3);
});

test('regression: a request with a long body takes a point for each 16 KiB, and an expensive operation several', async () => {
  const server = await limited({ QM_RATE_LIMIT_PRINCIPAL: '100' });
  const left = ({ headers }: Answered) => headers.get('ratelimit');
  const body = (bytes: number) => ({ name: 'x'.repeat(bytes) });
  const post = (bytes: number) => server.call('POST', '/v1/providers', { as: server.admin, body: body(bytes) });
  expect(left(await post(1000))).toBe('"principal";r=99;t=60');
  expect(left(await post(40 * 1024))).toBe('"principal";r=96;t=60');
  // A body beyond the limit of the operation is not parsed, but its bytes arrive. They are counted up to 1 MiB.
  expect(left(await post(1024 * 1024))).toBe('"principal";r=31;t=60');
  expect(left(await server.call('POST', '/v1/providers/none/sync', { as: server.admin }))).toBe(
    '"principal";r=21;t=60',
  );
  expect(left(await list(server, server.admin))).toBe('"principal";r=20;t=60');
});
