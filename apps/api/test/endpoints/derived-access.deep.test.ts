import { ROLE_SCOPES, type Scope } from '@quartermaster/contracts/scopes.ts';
import { beforeAll, describe, expect, test } from 'vitest';
import { signedInBrowser } from '../support/browser.ts';
import { acceptPath, accountWithKey, memberWithToken, type Person, registeredUser, unique } from '../support/people.ts';
import type { Credential } from '../support/server.ts';
import { auditOf, checkCoverageAfterAll, type Endpoints, serverFor } from './harness.ts';
import { derivedAccess } from './derived.ts';

let server: Endpoints;
beforeAll(async () => {
  server = await serverFor({});
});
checkCoverageAfterAll(() => server);

const { tenant, keyBy, invite, derived, revoke, works } = derivedAccess(() => server);

test("an administrator of a tenant sees an owner's browsers, and cannot end them", async () => {
  const { tenantId, asAda } = await tenant();
  const owner = await memberWithToken(server, { tenantId }, 'owner');
  await signedInBrowser(server, owner.email);
  const source = `user:${owner.id}`;
  expect(await derived(source, asAda)).toMatchObject([{ kind: 'console_session' }]);
  expect((await revoke(asAda, { source, kinds: ['console_session'] })).body).toMatchObject({
    revoked: { console_session: 0, platform_administrator: 0 },
    skipped: 1,
  });
});

test('regression: the platform administrators that a user or key made are shown, and one call takes the rights away', async () => {
  const { as } = await tenant();
  const [leaving, friend, other] = [
    await registeredUser(server),
    await registeredUser(server),
    await registeredUser(server),
  ];
  const pathOf = ({ id }: Person) => `/v1/users/${id}/platform-administrator`;
  await server.ok('PUT', pathOf(leaving), { as: server.admin });
  await server.ok('PUT', pathOf(friend), { as: { token: leaving.token } });
  const me = await server.ok('GET', '/v1/me', { as: server.admin });
  const keys = `/v1/service-accounts/${me.id}/keys?tenant_id=${me.tenantId}`;
  const key = await server.ok('POST', keys, { as: { token: leaving.token }, body: { scopes: ['*'] } });
  await server.ok('PUT', pathOf(other), { as: { key: key.key } });

  const source = `user:${leaving.id}`;
  const ofKey = { kind: 'platform_administrator', tenantId: null, isSuccessor: false, grantedByKey: key.id };
  expect(await derived(`api_key:${key.id}`, server.admin)).toMatchObject([{ ...ofKey, id: other.id }]);
  const found = (await derived(source, server.admin)).filter(({ kind }) => kind === 'platform_administrator');
  expect(found).toMatchObject([
    { ...ofKey, id: other.id, holder: `user:${other.id}` },
    {
      id: friend.id,
      holder: `user:${friend.id}`,
      grantedBy: source,
      grantedByKey: null,
      createdAt: expect.any(String),
    },
  ]);
  expect(await derived(source, as)).toEqual([]);

  const body = { source, kinds: ['platform_administrator'] };
  const narrow = await server.ok('POST', keys, {
    as: server.admin,
    body: { scopes: ['credentials:write', 'users:write'] },
  });
  expect((await revoke({ key: narrow.key }, body)).body).toMatchObject({
    revoked: { platform_administrator: 0 },
    skipped: 2,
  });
  expect((await revoke(server.admin, body)).body).toMatchObject({
    revoked: { platform_administrator: 2 },
    skipped: 0,
    isComplete: true,
  });
  for (const { id } of [friend, other]) {
    expect(await server.ok('GET', `/v1/users/${id}`, { as: server.admin })).toMatchObject({
      platformAdministrator: false,
    });
    const events = await auditOf(server, { target_id: id, operation: 'revoke_derived_access' });
    expect(events).toMatchObject([{ changedFields: ['platformAdministrator'], tenantId: null }]);
  }
});

test('regression: an accepted membership whose role a user or key changed is shown as given by them, and is ended', async () => {
  const { tenantId, as, ada, asAda } = await tenant();
  const scopes: Scope[] = ['memberships:write', ...ROLE_SCOPES.operator];
  const byAda = await keyBy(asAda, tenantId, scopes);
  const [raised, byKey] = [await invite(as, tenantId), await invite(as, tenantId)];
  for (const person of [raised, byKey])
    await server.ok('POST', acceptPath({ tenantId }), { as: { token: person.token } });
  const source = `user:${ada.id}`;
  const memberships = async (of: string) => (await derived(of, as)).filter(({ kind }) => kind === 'membership');
  expect(await memberships(source)).toEqual([]);
  const change = (caller: Credential, { id }: Person) =>
    server.ok('PUT', `/v1/tenants/${tenantId}/memberships/${id}`, { as: caller, body: { role: 'operator' } });
  await change(asAda, raised);
  await change(byAda.as, byKey);

  const ofKey = { id: byKey.id, grantedBy: `service_account:${tenantId}/${byAda.ownerId}`, grantedByKey: byAda.id };
  expect(await memberships(`api_key:${byAda.id}`)).toMatchObject([{ ...ofKey, isSuccessor: false }]);
  expect(await memberships(source)).toMatchObject([
    { ...ofKey, isSuccessor: false },
    { id: raised.id, grantedBy: source, grantedByKey: null, isSuccessor: false },
  ]);
  // The inviter is still known.
  const inviter = await server.ok('GET', '/v1/me', { as });
  const invited = await memberships(`service_account:${tenantId}/${inviter.id}`);
  expect(invited.map(({ id }) => id)).toEqual(expect.arrayContaining([raised.id, byKey.id]));
  expect((await revoke(as, { source, kinds: ['membership'] })).body).toMatchObject({
    revoked: { membership: 2 },
    skipped: 0,
    isComplete: true,
  });
  expect(await memberships(source)).toEqual([]);
});

test('regression: a key that other callers rotated many times is still found', async () => {
  const { tenantId, as, ada, asAda } = await tenant();
  let key = await keyBy(asAda, tenantId);
  for (let rotation = 0; rotation < 55; rotation += 1) {
    const rotated = await server.ok('POST', `${key.keys}/${key.id}/rotate`, { as, body: { overlapSeconds: 0 } });
    key = { ...key, ...rotated };
  }
  expect(await derived(`user:${ada.id}`, as)).toMatchObject([{ id: key.id, isSuccessor: true }]);
});

test('more records than one call revokes are revoked by repeating it', async () => {
  const { as, ada, asAda, gateway } = await tenant();
  const { id } = await server.ok('POST', gateway, { as: asAda });
  const { db } = server.services;
  const session = await db.selectFrom('gateway_sessions').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
  const more = Array.from({ length: 600 }, (_, index) => ({ ...session, id: `${id}_${index}` }));
  for (const half of [more.slice(0, 300), more.slice(300)])
    await db.insertInto('gateway_sessions').values(half).execute();
  const body = { source: `user:${ada.id}`, kinds: ['gateway_session'] };
  expect((await revoke(as, body)).body).toMatchObject({ revoked: { gateway_session: 500 }, isComplete: false });
  expect((await revoke(as, body)).body).toMatchObject({ revoked: { gateway_session: 101 }, isComplete: true });
  expect(await derived(`user:${ada.id}`, as)).toEqual([]);
});

describe('records out of reach', () => {
  test('regression: more memberships beyond the caller’s role than a call reads do not hide another one', async () => {
    const { tenantId, as, asAda } = await tenant();
    const inviter = await keyBy(server.admin, tenantId, ['*']);
    const viewer = await invite(inviter.as, tenantId);
    const { db } = server.services;
    const row = await db
      .selectFrom('memberships')
      .selectAll()
      .where('user_id', '=', viewer.id)
      .executeTakeFirstOrThrow();
    const other = await registeredUser(server);
    const user = await db.selectFrom('users').selectAll().where('id', '=', other.id).executeTakeFirstOrThrow();
    const created_at = new Date(server.services.now().getTime() + 1000).toISOString();
    for (let made = 0; made < 2100; made += 300) {
      const ids = Array.from({ length: 300 }, (_, index) => `${user.id}${made + index}`);
      const users = ids.map((id) => ({ ...user, id, email: `${id}@x.example`, email_key: `${id}@x.example` }));
      await db.insertInto('users').values(users).execute();
      const owners = ids.map((user_id) => ({ ...row, user_id, role: 'owner' as const, created_at }));
      await db.insertInto('memberships').values(owners).execute();
    }
    const body = { source: `api_key:${inviter.id}`, kinds: ['invitation'] };
    expect((await revoke(asAda, body)).body).toMatchObject({ revoked: { invitation: 1 }, isComplete: true });
    expect((await revoke(as, body)).body).toMatchObject({ revoked: { invitation: 500 }, isComplete: false });
  });
});

test('regression: an answer is not complete if more keys derive from the source than are followed', async () => {
  const tenantId = unique('derived');
  const { key } = await accountWithKey(server, { tenantId });
  const as = { key };
  const scopes: Scope[] = ['credentials:write', 'service_accounts:write'];
  const leaked = await keyBy(as, tenantId, scopes);
  const revoked = await keyBy(leaked.as, tenantId, scopes);
  const hidden = await keyBy(revoked.as, tenantId, scopes);
  await server.ok('DELETE', `${revoked.keys}/${revoked.id}`, { as });
  const { db } = server.services;
  const row = await db.selectFrom('credentials').selectAll().where('id', '=', revoked.id).executeTakeFirstOrThrow();
  for (let made = 0; made < 50_000; made += 500) {
    const more = Array.from({ length: 500 }, (_, index) => ({ ...row, id: `${row.id}_${made + index}` }));
    await db.insertInto('credentials').values(more).execute();
  }
  const body = { source: `api_key:${leaked.id}`, kinds: ['api_key'], includeSource: true };
  expect((await revoke(as, body)).body).toMatchObject({ revoked: { api_key: 1 }, isComplete: false });
  expect(await works(hidden.as)).toBe(true);
  const next = { ...body, source: `api_key:${revoked.id}` };
  expect((await revoke(as, next)).body).toMatchObject({ revoked: { api_key: 1 }, isComplete: true });
  expect(await works(hidden.as)).toBe(false);
});
