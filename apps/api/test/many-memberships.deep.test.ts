import { afterAll, beforeAll, expect, test } from 'vitest';
import { accountWithKey, registeredUser } from './support/people.ts';
import { startTestServer, type TestServer } from './support/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

/** Makes a user an operator of many places: whole tenants and sub-tenants in turn. */
async function memberOfMany(name: string, count: number) {
  const user = await registeredUser(server);
  const { db } = server.services;
  const time = server.services.now().toISOString();
  const tenants = Array.from({ length: count }, (_, index) => `${name}-${String(index).padStart(4, '0')}`);
  const common = { created_at: time, updated_at: time };
  for (let start = 0; start < count; start += 500) {
    const some = tenants.slice(start, start + 500);
    const places = some.map((id, index) => ({ tenant_id: id, sub_tenant_id: index % 2 === 0 ? '' : 'eu' }));
    await db
      .insertInto('tenants')
      .values(some.map((id) => ({ id, display_name: null, capture_content: 0, span_retention_days: null, ...common })))
      .execute();
    await db
      .insertInto('sub_tenants')
      .values(some.map((tenant_id) => ({ tenant_id, id: 'eu', created_at: time })))
      .execute();
    await db
      .insertInto('memberships')
      .values(
        places.map((place) => ({
          ...place,
          user_id: user.id,
          email: user.email,
          role: 'operator' as const,
          accepted_at: time,
          ...common,
        })),
      )
      .execute();
  }
  return { as: { token: user.token }, tenants };
}

test.each([1500, 5000])(
  'regression: a user of %i tenants can read and write',
  async (count) => {
    const { as, tenants } = await memberOfMany(`many${count}`, count);
    const [first = '', second = ''] = tenants;
    const last = tenants.at(-2) ?? '';
    const stranger = await accountWithKey(server, { tenantId: `stranger${count}` });
    await server.ok('POST', '/v1/providers', { as: stranger, body: { name: 'hidden', kind: 'llm' } });
    const made: string[] = [];
    for (const tenantId of [first, last]) {
      const body = { name: 'mine', kind: 'llm', tenantId };
      const { id } = await server.ok('POST', '/v1/providers', { as, body });
      expect((await server.ok('GET', `/v1/providers/${id}`, { as })).tenantId).toBe(tenantId);
      made.push(id);
    }
    // In the second tenant the user has only a sub-tenant.
    await server.ok('POST', '/v1/providers', {
      as: server.admin,
      body: { name: 'whole', kind: 'llm', tenantId: second },
    });
    const inPart = { name: 'part', kind: 'llm', tenantId: second, subTenantId: 'eu' };
    made.push((await server.ok('POST', '/v1/providers', { as: server.admin, body: inPart })).id);

    const paths = ['providers', 'tenants', 'gateways', 'manifests', 'operator/tasks', 'runtime-observations', 'traces'];
    for (const path of paths) await server.ok('GET', `/v1/${path}`, { as });
    for (const query of ['', '?kind=llm', '?limit=2']) {
      const found: string[] = [];
      for (let cursor: string | null = ''; cursor !== null; ) {
        const mark = query === '' ? '?' : '&';
        const page: { items: { id: string }[]; nextCursor: string | null } = await server.ok(
          'GET',
          `/v1/providers${query}${cursor === '' ? '' : `${mark}cursor=${encodeURIComponent(cursor)}`}`,
          { as },
        );
        found.push(...page.items.map(({ id }) => id));
        cursor = page.nextCursor;
      }
      expect(found).toEqual(made.toReversed());
    }
    const { items } = await server.ok('GET', '/v1/tenants?limit=100', { as });
    expect(items).toHaveLength(100);
  },
  120_000,
);
