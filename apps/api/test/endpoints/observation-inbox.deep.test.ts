import { onPostgres } from '@quartermaster/db/testing/test-database.ts';
import { beforeAll, describe, expect, test } from 'vitest';
import { newTenant, type Tenant } from '../governance/loop-support.ts';
import { partOfLongestTurn } from '../support/cpu-of-turns.ts';
import { chat, sendSpans } from '../telemetry/traces/sending.ts';
import { checkCoverageAfterAll, type Endpoints, serverFor } from './harness.ts';

let server: Endpoints;
beforeAll(async () => {
  server = await serverFor({});
});
checkCoverageAfterAll(() => server);

const MINUTE_MS = 60_000;

/** Reports the use of a model at openai some minutes ago. */
function see(tenant: Tenant, model: string, { minutes = 10, service = 'billing', as = tenant.sender } = {}) {
  const start = BigInt(server.services.now().getTime() - minutes * MINUTE_MS) * 1_000_000n;
  const span = chat(model, { 'gen_ai.provider.name': 'openai' });
  return sendSpans(server, as, [{ ...span, service, start, end: start + 1_000_000n }]);
}

// On PostgreSQL the database works in another process.
describe.skipIf(onPostgres())(
  'regression: 4,000 observations with much evidence are read in many turns of the event loop',
  () => {
    let tenant: Tenant;
    beforeAll(async () => {
      tenant = await newTenant(server);
      await see(tenant, 'first');
      const { db } = server.services;
      const { id } = await tenant.observation('first');
      const row = await db
        .selectFrom('runtime_observations')
        .selectAll()
        .where('id', '=', id)
        .executeTakeFirstOrThrow();
      const evidence = JSON.stringify({ ...JSON.parse(row.evidence), responseModels: ['m'.repeat(8000)] });
      for (let batch = 0; batch < 40; batch += 1) {
        const rows = Array.from({ length: 100 }, (_, index) => {
          const name = `model-${batch}-${index}`;
          return { ...row, id: `${id}${batch}-${index}`, name, name_key: name, name_family: name, evidence };
        });
        await db.insertInto('runtime_observations').values(rows).execute();
      }
    });

    test.each([
      ['/counts', ''],
      ['/counts', '?agent=billing'],
      ['/groups', '?by=agent'],
      ['', '?sort=last_seen_at&view=blocked'],
      ['', '?provider_id={provider_id}&view=blocked'],
    ])('by %s%s', async (path, query) => {
      const { providerId } = await tenant.observation('first');
      const url = `/v1/runtime-observations${path}${query.replace('{provider_id}', providerId)}`;
      const part = await partOfLongestTurn(() => server.ok('GET', url, { as: tenant.operator }), 0.4);
      expect(part).toBeLessThan(0.4);
    });
  },
);
