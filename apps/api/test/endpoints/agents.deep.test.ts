import { onPostgres } from '@quartermaster/db/testing/test-database.ts';
import { expect, test } from 'vitest';
import { partOfLongestTurn } from '../support/cpu-of-turns.ts';
import { accountWithKey, unique } from '../support/people.ts';
import { serverOfTest } from '../support/server.ts';
import { addCalls } from '../support/usage.ts';

// On PostgreSQL the database works in another process.
test.skipIf(onPostgres())('regression: 20,000 agents are listed in many turns of the event loop', async () => {
  const server = await serverOfTest();
  const tenantId = unique('agents');
  const { key, principal: account } = await accountWithKey(server, { tenantId });
  const place = { tenantId, subTenantId: null };
  const subjects = Array.from({ length: 20_000 }, (_, index) => {
    return { providerId: 'p', kind: 'model' as const, name: 'm', nameKey: 'm', agent: `agent-${index}`, account };
  });
  await addCalls(server, place, subjects);
  const part = await partOfLongestTurn(async () => {
    const { items } = await server.ok('GET', '/v1/agents?limit=1', { as: { key } });
    expect(items).toMatchObject([{ name: 'agent-0', usage: { calls: 1 } }]);
  }, 0.3);
  expect(part).toBeLessThan(0.3);
});
