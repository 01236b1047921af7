import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cpuOfTurns } from '../support/cpu-of-turns.ts';
import { type Body, startTestServer, type TestServer } from '../support/server.ts';
import { nowInNanoseconds, sendSpans } from '../telemetry/traces/sending.ts';
import { atOpenai, newTenant, type Tenant } from './loop-support.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

/** Sends a call of a model that begins now, or a while ago. */
function use({ sender }: Tenant, model: string, { agoMs = 0, answeredBy = model } = {}): Promise<void> {
  const start = nowInNanoseconds(server) - BigInt(agoMs) * 1_000_000n;
  const span = atOpenai(model);
  const attributes = { ...span.attributes, 'gen_ai.response.model': answeredBy };
  return sendSpans(server, sender, [{ ...span, start, attributes }]);
}

describe('a blocked model that answered', () => {
  const isBlockedUse = async (tenant: Tenant) => {
    const { risk } = await tenant.observation('alias');
    return risk.factors.some(({ factor }: Body) => factor === 'blocked_item');
  };

  test('regression: is looked for in the evidence of many observations in many turns of the event loop', async () => {
    const tenant = await newTenant(server);
    await use(tenant, 'alias', { answeredBy: 'gpt-x' });
    const { db } = server.services;
    const { id } = await tenant.observation('alias');
    const row = await db.selectFrom('runtime_observations').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
    const serviceNames = Array.from({ length: 100 }, (_, index) => `${index}`.padEnd(200, 's'));
    const evidence = JSON.stringify({ ...JSON.parse(row.evidence), responseModels: ['gpt-y'], serviceNames });
    for (let batch = 0; batch < 120; batch += 1) {
      const rows = Array.from({ length: 100 }, (_, index) => {
        const name = `alias-${batch}-${index}`;
        return { ...row, id: `${id}${batch}-${index}`, name, name_key: name, name_family: name, evidence };
      });
      await db.insertInto('runtime_observations').values(rows).execute();
    }
    const { operator: as, path } = tenant;
    const body = { kind: 'model', name: 'gpt-x', status: 'blocked' };
    const { longest, total } = await cpuOfTurns(() => server.ok('POST', `${path}/inventory`, { as, body }));
    expect(longest / total).toBeLessThan(0.35);
    expect(await isBlockedUse(tenant)).toBe(true);
  });
});
