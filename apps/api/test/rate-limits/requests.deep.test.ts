import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { expectProblem } from '../endpoints/harness.ts';
import { accountWithKey, memberWithToken } from '../support/people.ts';
import { limited, list, repeated, times } from './limited.ts';

test('a caller that ignores twenty refusals gets further ones a second late; others are not delayed', async () => {
  const server = await limited({ QM_RATE_LIMIT_PRINCIPAL: '30' });
  const { key } = await accountWithKey(server, { tenantId: 'acme' });
  expect(await times(50, () => list(server, { key }))).toEqual(repeated([30, 200], [20, 429]));
  const began = performance.now();
  const answered: string[] = [];
  const late = list(server, { key }).finally(() => answered.push('late'));
  expect((await list(server, server.admin)).status).toBe(200);
  answered.push('other');
  expectProblem(await late, 429, 'rate_limited');
  expect(answered).toEqual(['other', 'late']);
  expect(performance.now() - began).toBeGreaterThan(900);
});

test('regression: reads and writes of the own profile by a member do not use up the prompt writes of others', async () => {
  const server = await limited({});
  const acme = { tenantId: 'acme' };
  await accountWithKey(server, acme);
  const viewer = await memberWithToken(server, acme, 'viewer');
  const owner = await memberWithToken(server, acme, 'owner');
  await times(61, () => server.call('GET', '/v1/me', { as: viewer }));
  await times(61, () => server.call('PUT', '/v1/me/profile', { as: viewer, body: { displayName: 'Viewer' } }));
  await times(61, () => server.call('POST', '/v1/gateways', { as: viewer, body: { name: 'no' } }));
  expect(server.services.promptWrites.take('acme')).toBe(true);
  const create = (index: number) =>
    server.call('POST', '/v1/gateways', { as: owner, body: { name: `gateway-${index}`, providerIds: [] } });
  for (let index = 0; index < 59; index += 1) expect((await create(index)).status).toBe(200);
  expect(server.services.promptWrites.take('acme')).toBe(false);
  expect((await create(60)).status).toBe(200);
});

test('a tenant that uses its points much faster than evenly waits while another one works, and only then', async () => {
  const server = await limited({ QM_RATE_LIMIT_PRINCIPAL: '100000' });
  const fast = await accountWithKey(server, { tenantId: 'acme' });
  const other = await accountWithKey(server, { tenantId: 'globex' });
  const tookMs = async (request: () => Promise<unknown>) => {
    const from = performance.now();
    await request();
    return performance.now() - from;
  };
  // What does not wait is quick at least once of three times, also on a busy machine.
  const fastestMs = async (request: () => Promise<unknown>) => {
    const took = [await tookMs(request), await tookMs(request), await tookMs(request)];
    return Math.min(...took);
  };
  // Ten points each. The clock stands still: 300 points may be used at once, and each further one waits 50 ms longer than the last.
  const sync = () => server.call('POST', '/v1/providers/none/sync', { as: fast });
  expect(await times(30, sync)).toEqual(repeated([30, 404]));
  await list(server, other);
  const beside = await tookMs(() => times(10, sync));
  expect(beside).toBeGreaterThanOrEqual(1500);
  expect(await fastestMs(() => list(server, other))).toBeLessThan(beside / 5);
  // After two seconds without a request the other tenant no longer counts as working.
  await sleep(2100);
  await sync();
  expect(await fastestMs(() => times(10, sync))).toBeLessThan(beside / 5);
});
