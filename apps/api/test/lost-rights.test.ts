import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { accountWithKey, memberWithToken } from './support/people.ts';
import { headersOf, serverOfTest, type TestServer } from './support/server.ts';

/** Begins a write, calls `meanwhile` when its caller is authenticated, and then sends the body. Returns the status of the answer. */
async function writeDuring(
  server: TestServer,
  { path, token, userId, body }: { path: string; token: string; userId: string; body: object },
  meanwhile: () => Promise<unknown>,
): Promise<number> {
  const sent = JSON.stringify(body);
  const seen = async () => (await server.ok('GET', `/v1/users/${userId}`, { as: server.admin })).lastSeenAt;
  const before = await seen();
  const headers = { ...headersOf({ token }), 'content-type': 'application/json', 'content-length': sent.length };
  const answered = Promise.withResolvers<number>();
  const write = request(server.url + path, { method: 'POST', headers }, (answer) => {
    void text(answer).then(() => answered.resolve(answer.statusCode ?? 0));
  });
  write.write(sent.slice(0, 1));
  // The authentication stores when the user was last seen.
  await expect.poll(seen).not.toBe(before);
  await meanwhile();
  write.end(sent.slice(1));
  return answered.promise;
}

test.each([
  { what: 'is disabled', method: 'POST', path: (id: string) => `/v1/users/${id}/disable`, body: {} },
  { what: 'leaves the tenant', method: 'DELETE', path: (id: string) => `/v1/tenants/acme/memberships/${id}` },
  {
    what: 'becomes a viewer',
    method: 'PUT',
    path: (id: string) => `/v1/tenants/acme/memberships/${id}`,
    body: { role: 'viewer' },
  },
])('regression: a user who $what during a request creates no API key', async ({ method, path, body }) => {
  const server = await serverOfTest();
  const { id: accountId } = await accountWithKey(server, { tenantId: 'acme' });
  const { id: userId, token } = await memberWithToken(server, { tenantId: 'acme' }, 'admin');
  const keys = `/v1/service-accounts/${accountId}/keys?tenant_id=acme`;
  // Without time passing, the pipeline does not authenticate again. Later than the last minute, the user counts as seen anew.
  server.freeze(120_000);
  const write = { path: keys, token, userId, body: { scopes: ['providers:read'] } };
  const lose = () => server.ok(method, path(userId), { as: server.admin, body });
  expect(await writeDuring(server, write, lose)).toBe(403);
  expect((await server.ok('GET', keys, { as: server.admin })).items).toHaveLength(1);
});
