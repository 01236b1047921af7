import { onPostgres } from '@quartermaster/db/testing/test-database.ts';
import { beforeAll, expect, test } from 'vitest';
import { cpuOfTurns } from '../support/cpu-of-turns.ts';
import { accountWithKey, unique } from '../support/people.ts';
import type { Body } from '../support/server.ts';
import { checkCoverageAfterAll, type Endpoints, serverFor } from './harness.ts';

let server: Endpoints;
beforeAll(async () => {
  server = await serverFor({});
});
checkCoverageAfterAll(() => server);

// On PostgreSQL the database works in another process.
test.skipIf(onPostgres()).each([
  ['revoked', 'DELETE', '', 'revoked'],
  ['rotated with an overlap', 'POST', '/rotate', 'active'],
] as const)(
  'regression: the 10,000 sessions of a key that is %s end in many turns of the event loop',
  async (...row) => {
    const [, method, action, status] = row;
    const tenantId = unique('keys');
    const { id, key, keyId } = await accountWithKey(server, { tenantId });
    const gateway = await server.ok('POST', '/v1/gateways', { as: { key }, body: { name: 'edge' } });
    const sessions = `/v1/gateways/${gateway.id}/sessions`;
    const session = await server.ok('POST', sessions, { as: { key } });
    const { db } = server.services;
    const stored = await db
      .selectFrom('gateway_sessions')
      .selectAll()
      .where('id', '=', session.id)
      .executeTakeFirstOrThrow();
    for (let batch = 0; batch < 100; batch += 1) {
      const rows = Array.from({ length: 100 }, (_, index) => ({ ...stored, id: `${session.id}${batch}-${index}` }));
      await db.insertInto('gateway_sessions').values(rows).execute();
    }
    const path = `/v1/service-accounts/${id}/keys/${keyId}${action}?tenant_id=${tenantId}`;
    const body = method === 'POST' ? { overlapSeconds: 60 } : undefined;
    const { longest, total } = await cpuOfTurns(() => server.ok(method, path, { as: server.admin, body }));
    expect(longest / total).toBeLessThan(0.5);
    const { items } = await server.ok('GET', `${sessions}?limit=100`, { as: server.admin });
    expect(new Set(items.map((one: Body) => one.status))).toEqual(new Set([status]));
    const latest = await db
      .selectFrom('gateway_sessions')
      .select(({ fn }) => fn.max('expires_at').as('at'))
      .where('gateway_id', '=', gateway.id)
      .executeTakeFirstOrThrow();
    if (status === 'active')
      expect(Date.parse(latest.at)).toBeLessThanOrEqual(server.services.now().getTime() + 60_000);
  },
);
