import * as contract from '@quartermaster/contracts/derived-access.ts';
import { type Scope } from '@quartermaster/contracts/scopes.ts';
import { beforeAll, describe, expect, test } from 'vitest';
import { signedInBrowser } from '../support/browser.ts';
import { acceptPath, accountWithKey, registeredUser, unique } from '../support/people.ts';
import type { Body } from '../support/server.ts';
import { auditOf, checkCoverageAfterAll, type Endpoints, expectInvalid, expectProblem, serverFor } from './harness.ts';
import { derivedAccess, namesOf } from './derived.ts';

let server: Endpoints;
beforeAll(async () => {
  server = await serverFor(contract);
});
checkCoverageAfterAll(() => server);

const { tenant, keyBy, invite, derived, revoke, works } = derivedAccess(() => server);

const ALL = ['api_key', 'gateway_session', 'invitation', 'membership', 'console_session', 'platform_administrator'];

test('list_derived_access shows the keys, sessions, invitations and memberships that a user created, directly or with these keys', async () => {
  const { tenantId, as, ada, asAda, gateway } = await tenant();
  const scopes: Scope[] = ['credentials:write', 'service_accounts:write', 'gateway_sessions:write'];
  const first = await keyBy(asAda, tenantId, scopes);
  const second = await keyBy(first.as, tenantId, scopes);
  const own = await server.ok('POST', gateway, { as: asAda });
  const byKey = await server.ok('POST', gateway, { as: second.as });
  const invited = await invite(asAda, tenantId);
  const joined = await invite(asAda, tenantId);
  await server.ok('POST', acceptPath({ tenantId }), { as: { token: joined.token } });
  await keyBy(as, tenantId);
  const wanted = [
    `api_key ${second.id}`,
    `api_key ${first.id}`,
    `gateway_session ${byKey.id}`,
    `gateway_session ${own.id}`,
    `invitation ${invited.id}`,
    `membership ${joined.id}`,
  ];
  for (const limit of [1, 2, 3, 100]) expect(namesOf(await derived(`user:${ada.id}`, as, limit))).toEqual(wanted);
  const items = await derived(`user:${ada.id}`, as);
  const place = { tenantId, subTenantId: null, isSuccessor: false };
  expect(items[0]).toMatchObject({
    ...place,
    grantedByKey: first.id,
    holder: `service_account:${tenantId}/${second.ownerId}`,
  });
  expect(items[2]).toMatchObject({
    ...place,
    grantedByKey: second.id,
    gatewayId: byKey.gatewayId,
    expiresAt: byKey.expiresAt,
  });
  expect(items[4]).toMatchObject({
    ...place,
    grantedBy: `user:${ada.id}`,
    grantedByKey: null,
    holder: `user:${invited.id}`,
  });
  const ofKey = await derived(`api_key:${first.id}`, as);
  expect(namesOf(ofKey)).toEqual([`api_key ${second.id}`, `gateway_session ${byKey.id}`]);
  const account = `service_account:${tenantId}/${first.ownerId}`;
  expect(namesOf(await derived(account, as))).toEqual(namesOf(ofKey));
  // The replaced key of a rotation is left out. What was created with it stays.
  await server.ok('DELETE', `${first.keys}/${first.id}`, { as });
  expect(namesOf(await derived(`user:${ada.id}`, as))).toEqual(wanted.filter((name) => !name.includes(first.id)));
});

test('the browsers in which a user is signed in are shown and ended by who may disable the user', async () => {
  const { as, ada } = await tenant();
  const browser = await signedInBrowser(server, ada.email);
  const source = `user:${ada.id}`;
  const [session] = await derived(source, as);
  expect(session).toMatchObject({
    kind: 'console_session',
    tenantId: null,
    subTenantId: null,
    holder: source,
    grantedBy: source,
    expiresAt: expect.any(String),
  });
  const isSignedIn = async () => (await browser.call('GET', '/v1/me')).status === 200;
  expect(await isSignedIn()).toBe(true);

  // A membership elsewhere: who reaches only one of the places may not end a session that acts in both.
  const elsewhere = await tenant();
  await server.ok('POST', `/v1/tenants/${elsewhere.tenantId}/memberships`, {
    as: elsewhere.as,
    body: { email: ada.email, role: 'viewer' },
  });
  await server.ok('POST', acceptPath({ tenantId: elsewhere.tenantId }), { as: { token: ada.token } });
  expect(await derived(source, as)).toEqual([]);
  const body = { source, kinds: ['console_session'] };
  expect((await revoke(as, body)).body).toMatchObject({
    revoked: { console_session: 0, platform_administrator: 0 },
    isComplete: true,
  });
  expect(await isSignedIn()).toBe(true);

  expect(namesOf(await derived(source, server.admin))).toEqual(namesOf([session ?? {}]));
  expect((await revoke(server.admin, body)).body).toMatchObject({ revoked: { console_session: 1 }, skipped: 0 });
  expect(await isSignedIn()).toBe(false);
  expect(await derived(source, server.admin)).toEqual([]);
  const events = await auditOf(server, { target_id: session?.id, operation: 'revoke_derived_access' });
  expect(events).toMatchObject([{ target: { type: 'console_session' }, tenantId: null }]);
});

test('a key that another caller rotated is shown as a successor, and is revoked only on request', async () => {
  const { tenantId, as, ada, asAda } = await tenant();
  const key = await keyBy(asAda, tenantId);
  const successor = await server.ok('POST', `${key.keys}/${key.id}/rotate`, { as, body: { overlapSeconds: 0 } });
  expect(await derived(`user:${ada.id}`, as)).toMatchObject([{ id: successor.id, isSuccessor: true }]);
  const body = { source: `user:${ada.id}`, kinds: ['api_key'] };
  expect((await revoke(as, body)).body.revoked.api_key).toBe(0);
  expect(await works({ key: successor.key })).toBe(true);
  expect((await revoke(as, { ...body, includeSuccessors: true })).body.revoked.api_key).toBe(1);
  expect(await works({ key: successor.key })).toBe(false);
});

test('regression: one call shows, and one call revokes, what a removed administrator created, by kind', async () => {
  const { tenantId, as, ada, asAda, gateway } = await tenant();
  const scopes: Scope[] = ['credentials:write', 'service_accounts:write', 'gateway_sessions:write'];
  const first = await keyBy(asAda, tenantId, scopes);
  const second = await keyBy(first.as, tenantId, scopes);
  const session = await server.ok('POST', gateway, { as: second.as });
  const invited = await invite(asAda, tenantId);
  const joined = await invite(asAda, tenantId);
  await server.ok('POST', acceptPath({ tenantId }), { as: { token: joined.token } });
  await server.ok('DELETE', `/v1/tenants/${tenantId}/memberships/${ada.id}`, { as });
  expect(await works(second.as)).toBe(true);
  const source = `user:${ada.id}`;
  const keys = await revoke(as, { source, kinds: ['api_key', 'invitation'] });
  expect(keys.body).toEqual({
    revoked: {
      api_key: 2,
      gateway_session: 0,
      invitation: 1,
      membership: 0,
      console_session: 0,
      platform_administrator: 0,
    },
    skipped: 0,
    isComplete: true,
  });
  expect([await works(first.as), await works(second.as)]).toEqual([false, false]);
  const ended = await server.ok('GET', `${gateway}/${session.id}`, { as });
  expect(ended).toMatchObject({ status: 'revoked', revokedReason: 'key_ended' });
  const accepted = await server.call('POST', acceptPath({ tenantId }), { as: { token: invited.token } });
  expectProblem(accepted, 404, 'membership_not_found');
  expect(namesOf(await derived(source, as))).toEqual([`membership ${joined.id}`]);
  const events = await auditOf(server, { operation: 'revoke_derived_access', tenant_id: tenantId });
  expect(new Set(events.map(({ target }) => target.id))).toEqual(new Set([first.id, second.id, invited.id]));
  expect(events).toHaveLength(3);
  expect((await revoke(as, { source, kinds: ALL })).body.revoked.membership).toBe(1);
  expect(await derived(source, as)).toEqual([]);
});

test('regression: one call revokes a leaked key and everything created with it', async () => {
  const { tenantId, as } = await tenant();
  const leaked = await keyBy(as, tenantId, ['credentials:write', 'service_accounts:write']);
  let last = leaked;
  const chain: Body[] = [];
  for (let depth = 0; depth < 12; depth += 1) {
    last = await keyBy(last.as, tenantId, ['credentials:write', 'service_accounts:write']);
    chain.push(last);
  }
  const body = { source: `api_key:${leaked.id}`, kinds: ['api_key'], includeSource: true };
  expect((await revoke(as, body)).body).toMatchObject({ revoked: { api_key: 13 }, isComplete: true });
  for (const { as: key } of [leaked, ...chain]) expect(await works(key)).toBe(false);
  // Regression: the call was 404 from the second time on, although it has to be repeated until it is complete.
  const nothing = {
    api_key: 0,
    gateway_session: 0,
    invitation: 0,
    membership: 0,
    console_session: 0,
    platform_administrator: 0,
  };
  expect((await revoke(as, body)).body).toEqual({ revoked: nothing, skipped: 0, isComplete: true });
});

test('regression: a leaked key with more records than one call revokes is revoked with all of them by repeating the call', async () => {
  const { tenantId, as } = await tenant();
  const leaked = await keyBy(as, tenantId, ['credentials:write', 'service_accounts:write']);
  const made = await keyBy(leaked.as, tenantId, ['credentials:write', 'service_accounts:write']);
  const { db } = server.services;
  const row = await db.selectFrom('credentials').selectAll().where('id', '=', made.id).executeTakeFirstOrThrow();
  const more = Array.from({ length: 600 }, (_, index) => ({ ...row, id: `${made.id}_${index}` }));
  for (const half of [more.slice(0, 300), more.slice(300)]) await db.insertInto('credentials').values(half).execute();
  const body = { source: `api_key:${leaked.id}`, kinds: ['api_key'], includeSource: true };
  expect((await revoke(as, body)).body).toMatchObject({ revoked: { api_key: 501 }, isComplete: false });
  expect((await revoke(as, body)).body).toMatchObject({ revoked: { api_key: 101 }, isComplete: true });
  expect(await works(made.as)).toBe(false);
});

test('only the chosen records are revoked, with an audit event for each', async () => {
  const { tenantId, as, asAda, ada } = await tenant();
  const keys = [await keyBy(asAda, tenantId), await keyBy(asAda, tenantId)];
  const [kept, chosen] = keys;
  const [friend, stranger] = [await invite(asAda, tenantId), await invite(asAda, tenantId)];
  // Not derived from Ada: naming it does nothing.
  const foreign = await keyBy(as, tenantId);
  const source = `user:${ada.id}`;
  const records = [
    { kind: 'api_key', id: chosen?.id, tenantId },
    { kind: 'api_key', id: foreign.id, tenantId },
    { kind: 'invitation', id: friend.id, tenantId },
    { kind: 'invitation', id: stranger.id, tenantId: 'elsewhere' },
    { kind: 'invitation', id: stranger.id, tenantId, subTenantId: 'elsewhere' },
    // A record of a kind that is not among the kinds.
    { kind: 'membership', id: ada.id, tenantId },
  ];
  const answered = await revoke(as, { source, kinds: ['api_key', 'invitation'], records });
  expect(answered.body).toEqual({
    revoked: {
      api_key: 1,
      gateway_session: 0,
      invitation: 1,
      membership: 0,
      console_session: 0,
      platform_administrator: 0,
    },
    skipped: 0,
    isComplete: true,
  });
  expect([await works({ key: kept?.key }), await works({ key: chosen?.key })]).toEqual([true, false]);
  expect(await works(foreign.as)).toBe(true);
  expect(namesOf(await derived(source, as))).toEqual([`api_key ${kept?.id}`, `invitation ${stranger.id}`]);
  const events = await auditOf(server, { operation: 'revoke_derived_access', tenant_id: tenantId });
  expect(events.map(({ target }) => target.id)).toHaveLength(2);
  const tooMany = Array.from({ length: 501 }, (_, index) => ({ kind: 'api_key', id: `key_${index}`, tenantId }));
  expectInvalid(await revoke(as, { source, kinds: ['api_key'], records: tooMany }), {
    loc: ['body', 'records'],
    type: 'too_long',
  });
});

describe('records out of reach', () => {
  test('in other tenants, and of kinds for which the caller has no scope, are neither shown nor revoked', async () => {
    const { tenantId, as, ada, asAda, gateway } = await tenant();
    const key = await keyBy(asAda, tenantId);
    const session = await server.ok('POST', gateway, { as: asAda });
    const source = `user:${ada.id}`;
    const stranger = await tenant();
    expect(await derived(source, stranger.as)).toEqual([]);
    expect((await revoke(stranger.as, { source, kinds: ALL })).body.revoked).toMatchObject({
      api_key: 0,
      gateway_session: 0,
    });
    const narrow = await accountWithKey(server, { tenantId }, ['credentials:read', 'credentials:write']);
    expect(namesOf(await derived(source, narrow))).toEqual([`api_key ${key.id}`]);
    expectProblem(await revoke(narrow, { source, kinds: ['gateway_session'] }), 403, 'scope_missing');
    expectProblem(await revoke(narrow, { source, kinds: ['membership'] }), 403, 'scope_missing');
    const east = await accountWithKey(server, { tenantId, subTenantId: 'east' });
    expect(await derived(source, east)).toEqual([]);
    expect((await revoke(east, { source, kinds: ALL })).body.revoked.api_key).toBe(0);
    expect(namesOf(await derived(source, as))).toEqual([`api_key ${key.id}`, `gateway_session ${session.id}`]);
    const records = [{ kind: 'api_key', id: key.id, tenantId }];
    for (const outside of [stranger.as, east]) {
      expect((await revoke(outside, { source, kinds: ['api_key'], records })).body.revoked.api_key).toBe(0);
    }
    expect(await works(key.as)).toBe(true);
    const foreign = { source: `api_key:${key.id}`, kinds: ALL, includeSource: true };
    expectProblem(await revoke(stranger.as, foreign), 404, 'key_not_found');
  });

  test('such as memberships beyond the caller’s role, and the last owner, are skipped', async () => {
    const { tenantId, as, asAda } = await tenant();
    const inviter = await keyBy(server.admin, tenantId, ['*']);
    for (let owners = 0; owners < 2; owners += 1) {
      const { email, token } = await registeredUser(server);
      const body = { email, role: 'owner' };
      await server.ok('POST', `/v1/tenants/${tenantId}/memberships`, { as: inviter.as, body });
      await server.ok('POST', acceptPath({ tenantId }), { as: { token } });
    }
    const body = { source: `api_key:${inviter.id}`, kinds: ['membership'] };
    const revoked = {
      api_key: 0,
      gateway_session: 0,
      invitation: 0,
      membership: 0,
      console_session: 0,
      platform_administrator: 0,
    };
    // An administrator does not hold the scopes of owners. An owner's key ends one of the two.
    expect((await revoke(asAda, body)).body).toEqual({ revoked, skipped: 2, isComplete: true });
    expect((await revoke(as, body)).body).toMatchObject({ revoked: { ...revoked, membership: 1 }, skipped: 1 });
    expect((await revoke(as, body)).body).toEqual({ revoked, skipped: 1, isComplete: true });
  });

  test('such as keys of platform administrators’ accounts are shown only to platform administrators', async () => {
    const { tenantId, as } = await tenant();
    const root = { id: unique('root'), name: 'root', tenantId, platformAdministrator: true };
    await server.ok('POST', '/v1/service-accounts', { as: server.admin, body: root });
    const keys = `/v1/service-accounts/${root.id}/keys`;
    const first = await server.ok('POST', keys, { as: server.admin, body: { scopes: ['*'] } });
    const second = await server.ok('POST', keys, { as: { key: first.key }, body: { scopes: ['*'] } });
    const body = { source: `api_key:${first.id}`, kinds: ['api_key'] };
    expect((await revoke(as, body)).body.revoked.api_key).toBe(0);
    expectProblem(await revoke(as, { ...body, includeSource: true }), 403, 'platform_administrator_required');
    const asAdmin = await revoke(server.admin, { ...body, includeSource: true });
    expect(asAdmin.body.revoked.api_key).toBe(2);
    expect(await works({ key: second.key })).toBe(false);
  });

  test('a source is a user, service account or key; only a key can be revoked together with what it created', async () => {
    const { as, ada } = await tenant();
    for (const source of ['ada', 'user:', 'service_account:bot', 'key:1']) {
      const listed = await server.call('GET', `/v1/derived-access?source=${source}`, { as });
      expectInvalid(listed, { loc: ['query', 'source'], type: 'string_pattern_mismatch' });
    }
    const answered = await revoke(as, { source: `user:${ada.id}`, kinds: ALL, includeSource: true });
    expectInvalid(answered, { loc: ['body', 'includeSource'], type: 'value_error' });
  });
});
