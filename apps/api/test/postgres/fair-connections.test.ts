import { sql } from 'kysely';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { accountWithKey } from '../support/people.ts';
import { type Credential, startTestServer, type TestServer } from '../support/server.ts';

/*
 * The writes of one tenant wait for a lock. Before, they took all ten connections of the pool, so other tenants were not served
 * and the service was not ready.
 */
let server: TestServer;
let noisy: Credential;
let quiet: Credential;
beforeAll(async () => {
  server = await startTestServer({ QM_MAX_CONNECTIONS_PER_ADDRESS: '1000' });
  noisy = await accountWithKey(server, { tenantId: 'noisy' });
  quiet = await accountWithKey(server, { tenantId: 'quiet' });
});
afterAll(() => server.stop());

test('regression: 200 blocked updates of one tenant leave connections for other tenants and for readiness', async () => {
  const body = { name: 'hot', kind: 'llm', tenantId: 'noisy' };
  const { id } = await server.ok('POST', '/v1/providers', { as: noisy, body });
  const released = Promise.withResolvers<void>();
  onTestFinished(() => released.resolve());
  const locked = Promise.withResolvers<void>();
  const holding = server.services.db.transaction().execute(async (trx) => {
    await sql`select 1 from providers where id = ${id} for update`.execute(trx);
    locked.resolve();
    await released.promise;
  });
  await locked.promise;

  const updates = Array.from({ length: 200 }, (_, index) =>
    server.call('PUT', `/v1/providers/${id}`, { as: noisy, body: { description: `change ${index}` } }),
  );
  for (let round = 0; round < 20; round += 1) {
    const answers = await Promise.all([
      server.call('GET', '/readyz'),
      server.call('GET', '/v1/providers', { as: quiet }),
      server.call('POST', '/v1/providers', {
        as: quiet,
        body: { name: `quiet-${round}`, kind: 'llm', tenantId: 'quiet' },
      }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
  }
  released.resolve();
  await holding;

  const outcomes = await Promise.all(updates);
  for (const { status, body: answer, headers } of outcomes) {
    if (status === 200) continue;
    expect([status, answer.code]).toEqual([503, 'database_unavailable']);
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
  }
  expect(outcomes.some(({ status }) => status === 200)).toBe(true);
});

test('readiness has its own connection, even if all others are in use', async () => {
  const released = Promise.withResolvers<void>();
  onTestFinished(() => released.resolve());
  const begun = Array.from({ length: 10 }, () => Promise.withResolvers<void>());
  const holding = begun.map(({ resolve }) =>
    server.services.db.transaction().execute(async () => {
      resolve();
      await released.promise;
    }),
  );
  await Promise.all(begun.map(({ promise }) => promise));
  expect((await server.call('GET', '/readyz')).status).toBe(200);
  released.resolve();
  await Promise.all(holding);
});
