import { expect, test } from 'vitest';
import { accountWithKey } from '../support/people.ts';
import { serverOfTest } from '../support/server.ts';
import { decidingWorld } from './sessions.ts';

test('regression: questions of an API key about gateways that do not exist are limited', async () => {
  const server = await serverOfTest({ QM_RATE_LIMITS: 'on', QM_RATE_LIMIT_PRINCIPAL: '20' });
  const world = await decidingWorld(server);
  const { key } = await accountWithKey(server, { tenantId: world.tenantId }, ['gateway_sessions:evaluate']);
  const body = { operation: 'mcp:tool:call', resource: 'mrn:mcp:x:tool:search' };
  const ask = async (id: string) =>
    (await server.call('POST', `/v1/gateways/${id}/toolhive/decision`, { as: { key }, body })).status;
  const statuses: number[] = [];
  for (let index = 0; index < 25; index += 1) statuses.push(await ask(`gw_${index}`));
  expect(statuses).toContain(404);
  expect(statuses.at(-1)).toBe(429);
});

test('regression: each evaluation of a batch counts as a decision', async () => {
  const server = await serverOfTest({ QM_RATE_LIMITS: 'on' });
  const world = await decidingWorld(server);
  const path = `/v1/gateways/${world.gatewayId}/access/v1/evaluations`;
  const evaluation = { subject: { type: 'x', id: 'x' }, action: { name: 'unknown' }, resource: { type: 'x', id: 'x' } };
  const evaluations = Array.from({ length: 100 }, () => evaluation);
  const ask = async () => (await server.call('POST', path, { as: world.as, body: { evaluations } })).status;
  server.freeze();
  const statuses: number[] = [];
  // 60,000 decisions in a minute.
  for (let index = 0; index <= 600; index += 1) statuses.push(await ask());
  expect(statuses.slice(0, 600).every((status) => status === 200)).toBe(true);
  expect(statuses.at(-1)).toBe(429);
});
