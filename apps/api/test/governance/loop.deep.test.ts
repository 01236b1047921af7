import { expect, test } from 'vitest';
import { serverOfTest } from '../support/server.ts';
import { exportRequest } from '../telemetry/traces/sending.ts';
import { atOpenai, newTenant } from './loop-support.ts';

test('a flood of unreviewed recommendations does not hide an approved one', async () => {
  const server = await serverOfTest();
  const tenant = await newTenant(server);
  const flood = Array.from({ length: 1100 }, (_, index) => atOpenai(`flood-${index}`));
  await server.ok('POST', '/v1/traces', { as: tenant.sender, body: exportRequest(flood) });
  server.travel(1000);
  await tenant.see('gpt-5');
  await tenant.review((await tenant.observation('gpt-5')).id, 'approved');
  const { applied, skipped } = await tenant.apply();
  expect(applied).toMatchObject([{ change: { after: { name: 'gpt-5' } } }]);
  expect(skipped).toHaveLength(999);
});
