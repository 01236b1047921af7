import { expect, test } from 'vitest';
import { serverOfTest } from '../support/server.ts';
import { all, chat, sendSpans } from '../telemetry/traces/sending.ts';
import { newTenant } from './loop-support.ts';

test('a rename merges more observations than one batch, and the counter of observations stays right', async () => {
  const server = await serverOfTest({ QM_MAX_OBSERVATIONS: '900' });
  const { operator: as, sender, path } = await newTenant(server);
  const names = Array.from({ length: 210 }, (_, index) => [`acme/m-${index}`, `m-${index}`]).flat();
  const spans = names.map((name) => chat(name, { 'gen_ai.provider.name': 'openai' }));
  await sendSpans(server, sender, spans);
  await server.ok('PUT', path, { as, body: { name: 'acme' } });
  const merged = await all(server, `${path}/observations?limit=100`, as);
  expect(merged).toHaveLength(210);
  expect(merged.every(({ occurrences }) => occurrences === 2)).toBe(true);
  const more = Array.from({ length: 250 }, (_, index) => chat(`n-${index}`, { 'gen_ai.provider.name': 'acme' }));
  await sendSpans(server, sender, more);
  // The share of one account: half of the tenant's limit.
  expect(await all(server, '/v1/runtime-observations?limit=100', as)).toHaveLength(450);
});
