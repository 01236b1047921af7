import * as contract from '@quartermaster/contracts/gateway-sessions.ts';
import { createLocalJWKSet, decodeJwt, decodeProtectedHeader, type JWTVerifyOptions, jwtVerify } from 'jose';
import { beforeAll, expect, test } from 'vitest';
import { accountWithKey, memberWithToken, unique } from '../support/people.ts';
import type { Body, Credential } from '../support/server.ts';
import { auditOf, checkCoverageAfterAll, type Endpoints, expectInvalid, expectProblem, serverFor } from './harness.ts';
import { expectFilters, expectOwnCursorsOnly, expectStablePages } from './lists.ts';

let server: Endpoints;
/** Open sessions of a subject at a gateway. */
const MAX_OPEN = 30;
beforeAll(async () => {
  server = await serverFor(contract, { QM_MAX_OPEN_SESSIONS: String(MAX_OPEN) });
});
checkCoverageAfterAll(() => server);

type Gateway = { as: { key: string }; accountId: string; id: string; path: string; providerId: string };

/** A gateway with one provider, and a caller of its tenant. */
async function gatewayIn(tenantId: string, body: object = {}): Promise<Gateway> {
  const { id: accountId, key } = await accountWithKey(server, { tenantId });
  const as = { key };
  const provider = { name: unique('provider'), kind: 'llm' };
  const { id: providerId } = await server.ok('POST', '/v1/providers', { as, body: provider });
  const fields = { name: unique('gateway'), url: 'https://edge.example.com/', providerIds: [providerId], ...body };
  const { id } = await server.ok('POST', '/v1/gateways', { as, body: fields });
  return { as, accountId, id, path: `/v1/gateways/${id}/sessions`, providerId };
}

const open = (path: string, as: Credential, body: object = {}): Promise<Body> => server.ok('POST', path, { as, body });

/** Verifies a token as a gateway does: only with the published keys, its own id and the public URL. */
async function verified(token: string, audience: string, options: JWTVerifyOptions = {}) {
  const keys = createLocalJWKSet(await server.ok('GET', '/.well-known/jwks.json'));
  const issuer = server.publicUrl;
  return jwtVerify(token, keys, { issuer, audience, typ: 'qm-session+jwt', algorithms: ['ES256'], ...options });
}

test('a session token can be verified with the published keys, and has the data of the record', async () => {
  const { as, accountId, id, path, providerId } = await gatewayIn('token-1');
  const item = { kind: 'model', name: 'gpt-5' };
  await server.ok('POST', `/v1/providers/${providerId}/inventory`, { as, body: item });
  const { token, tokenType, ...session } = await open(path, as, { metadata: { run: 7 } });
  expect(tokenType).toBe('Bearer');
  const subject = `service_account:token-1/${accountId}`;
  expect(session).toMatchObject({
    gatewayId: id,
    subject,
    actor: null,
    status: 'active',
    revokedAt: null,
    revokedReason: null,
    tenantId: 'token-1',
    gatewayUrl: 'https://edge.example.com/',
    metadata: { run: 7 },
  });
  expect(session.grants).toMatchObject([{ providerId, items: [item] }]);
  const { payload } = await verified(token, id);
  expect(payload).toMatchObject({ sub: subject, jti: session.id, tenant_id: 'token-1', grants: session.grants });
  expect(payload).not.toHaveProperty('act');
  expect(Number(payload.exp) - Number(payload.iat)).toBe(3600);
  expect(Date.parse(session.expiresAt) - Date.parse(session.issuedAt)).toBe(3_600_000);
  await expect(verified(token, 'gw_other')).rejects.toMatchObject({ claim: 'aud' });
  expect(await server.ok('GET', `${path}/${session.id}`, { as })).toEqual(session);
  const [event] = await auditOf(server, { target_id: session.id });
  expect(event).toMatchObject({ operation: 'create_gateway_session', changedFields: ['metadata'] });
});

test('a session token is not accepted as a bearer token', async () => {
  const { as, path } = await gatewayIn('token-2');
  const { token } = await open(path, as);
  expectProblem(await server.call('GET', '/v1/providers', { as: { token } }), 401, 'credentials_invalid');
});

test('the published keys have no private part', async () => {
  const { as, path } = await gatewayIn('token-3');
  const { token } = await open(path, as);
  const { keys } = await server.ok('GET', '/.well-known/jwks.json');
  expect(keys.map((key: Body) => key.kid)).toContain(decodeProtectedHeader(token).kid);
  for (const key of keys) expect(Object.keys(key)).not.toContain('d');
});

test('a session has the requested lifetime, up to the maximum of its gateway', async () => {
  const { as, path } = await gatewayIn('ttl-1', { sessionTtlSeconds: 300 });
  const lasts = async (body: object) => {
    const { issuedAt, expiresAt } = await open(path, as, body);
    return (Date.parse(expiresAt) - Date.parse(issuedAt)) / 1000;
  };
  expect([await lasts({}), await lasts({ ttlSeconds: 60 }), await lasts({ ttlSeconds: null })]).toEqual([300, 60, 300]);
  const rows: [number, string][] = [
    [301, 'less_than_equal'],
    [59, 'greater_than_equal'],
    [86_401, 'less_than_equal'],
  ];
  for (const [ttlSeconds, type] of rows) {
    const answered = await server.call('POST', path, { as, body: { ttlSeconds } });
    expectInvalid(answered, { loc: ['body', 'ttlSeconds'], type });
  }
});

test('blocked and retired items and items of inactive providers are not granted', async () => {
  const { as, id, path, providerId } = await gatewayIn('grants-1');
  const inventory = `/v1/providers/${providerId}/inventory`;
  for (const status of ['available', 'blocked', 'retired']) {
    await server.ok('POST', inventory, { as, body: { kind: 'tool', name: status, status } });
  }
  const other = await server.ok('POST', '/v1/providers', { as, body: { name: 'other', kind: 'mcp' } });
  await server.ok('PUT', `/v1/gateways/${id}`, { as, body: { providerIds: [providerId, other.id] } });
  const granted = async (body: object = {}) =>
    (await open(path, as, body)).grants.map((grant: Body) => [grant.providerId, grant.items.length]);
  expect((await open(path, as)).grants[0].items).toEqual([{ kind: 'tool', name: 'available' }]);
  expect(await granted()).toEqual([
    [providerId, 1],
    [other.id, 0],
  ]);
  expect(await granted({ providerIds: [other.id] })).toEqual([[other.id, 0]]);
  expect(await granted({ providerIds: [] })).toEqual([]);
  await server.ok('PUT', `/v1/providers/${providerId}`, { as, body: { status: 'disabled' } });
  expect(await granted()).toEqual([[other.id, 0]]);
  const answered = await server.call('POST', path, { as, body: { providerIds: [other.id, 'prov_none'] } });
  expectInvalid(answered, { loc: ['body', 'providerIds', 1], type: 'value_error' });
});

test('a session for another subject needs gateway_sessions:impersonate, and its token names the actor', async () => {
  const { as, accountId, path, id } = await gatewayIn('act-1');
  const plain = await accountWithKey(server, { tenantId: 'act-1' }, ['gateway_sessions:write']);
  const user = await memberWithToken(server, { tenantId: 'act-1' }, 'viewer');
  await server.ok('GET', '/v1/providers', { as: { token: user.token } });
  const stranger = await accountWithKey(server, { tenantId: 'act-2' });
  const subject = `user:${user.id}`;
  const refused = await server.call('POST', path, { as: { key: plain.key }, body: { subject } });
  expectProblem(refused, 403, 'scope_missing');
  expect(refused.body.scope).toBe('gateway_sessions:impersonate');
  const session = await open(path, as, { subject });
  const actor = `service_account:act-1/${accountId}`;
  expect(session).toMatchObject({ subject, actor });
  expect((await verified(session.token, id)).payload).toMatchObject({ sub: subject, act: { sub: actor } });
  const own = await open(path, { key: plain.key }, { subject: plain.principal });
  expect(own.actor).toBeNull();
  expect(decodeJwt(own.token)).not.toHaveProperty('act');
  for (const unknown of [
    stranger.principal,
    `service_account:act-1/${stranger.id}`,
    'service_account:act-1/nobody',
    'user:nobody',
  ]) {
    const answered = await server.call('POST', path, { as, body: { subject: unknown } });
    expectInvalid(answered, { loc: ['body', 'subject'], type: 'value_error' });
  }
});

test('a disabled gateway opens no session; one that is missing or out of reach is 404', async () => {
  const { as, id, path } = await gatewayIn('inactive-1');
  const session = await open(path, as);
  await server.ok('PUT', `/v1/gateways/${id}`, { as, body: { status: 'disabled' } });
  expectProblem(await server.call('POST', path, { as }), 409, 'gateway_not_active');
  const stranger = await gatewayIn('inactive-2');
  const calls: [string, string][] = [
    ['POST', ''],
    ['GET', ''],
    ['GET', `/${session.id}`],
    ['DELETE', `/${session.id}`],
    ['POST', '/introspect'],
  ];
  const body = { token: session.token };
  for (const [method, end] of calls) {
    const sent = end === '/introspect' ? { body } : {};
    expectProblem(await server.call(method, path + end, { as: stranger.as, ...sent }), 404, 'gateway_not_found');
    const missing = await server.call(method, `/v1/gateways/none/sessions${end}`, { as: server.admin, ...sent });
    expectProblem(missing, 404, 'gateway_not_found');
    if (end === '' || end === '/introspect') continue;
    const elsewhere = await server.call(method, stranger.path + end, { as: server.admin });
    expectProblem(elsewhere, 404, 'gateway_session_not_found');
  }
});

test('list_gateway_session_grants answers what the session grants, item by item', async () => {
  const { as, path, providerId } = await gatewayIn('grants-1');
  for (const name of ['a', 'b', 'c']) {
    await server.ok('POST', `/v1/providers/${providerId}/inventory`, { as, body: { kind: 'tool', name } });
  }
  const { id, grants } = await open(path, as);
  const [{ providerName }] = grants;
  const first = await server.ok('GET', `${path}/${id}/grants?limit=2`, { as });
  const next = `${path}/${id}/grants?limit=2&cursor=${first.nextCursor}`;
  const last = await server.ok('GET', next, { as });
  const provider = { providerId, providerName, providerStatus: 'active' };
  const listed = ['a', 'b', 'c'].map((name) => ({ ...provider, kind: 'tool', name }));
  expect([...first.items, ...last.items]).toEqual(listed);
  expect(last.nextCursor).toBeNull();
  const stranger = await gatewayIn('grants-2');
  expectProblem(await server.call('GET', next, { as: stranger.as }), 404, 'gateway_not_found');
  const elsewhere = await server.call('GET', `${stranger.path}/${id}/grants`, { as: stranger.as });
  expectProblem(elsewhere, 404, 'gateway_session_not_found');
});

test('a session stays active when a provider is disabled; its grants and introspection show it', async () => {
  const { as, path, providerId } = await gatewayIn('disabled-1');
  await server.ok('POST', `/v1/providers/${providerId}/inventory`, { as, body: { kind: 'tool', name: 'a' } });
  const { id, token } = await open(path, as);
  await server.ok('PUT', `/v1/providers/${providerId}`, { as, body: { status: 'disabled' } });
  expect(await server.ok('GET', `${path}/${id}`, { as })).toMatchObject({ status: 'active', grantedItems: 1 });
  const { items } = await server.ok('GET', `${path}/${id}/grants`, { as });
  expect(items).toMatchObject([{ name: 'a', providerStatus: 'disabled' }]);
  const introspected = await server.ok('POST', `${path}/introspect`, { as, body: { token } });
  expect(introspected).toMatchObject({ active: true, grants: [] });
  expect((await open(path, as)).grants).toEqual([]);
});

test('a subject has a limited number of open sessions at a gateway', async () => {
  const { as, path } = await gatewayIn('limit-1');
  for (let index = 0; index < MAX_OPEN; index += 1) await open(path, as);
  expectProblem(await server.call('POST', path, { as }), 409, 'session_limit_reached');
});

test('a session can be revoked once, also after it expired; its record stays', async () => {
  const { as, path } = await gatewayIn('revoke-1');
  const [fresh, expired] = [await open(path, as), await open(path, as, { ttlSeconds: 60 })];
  server.travel(61_000);
  expect((await server.ok('GET', `${path}/${expired.id}`, { as })).status).toBe('expired');
  for (const { id } of [fresh, expired]) {
    const revoked = await server.ok('DELETE', `${path}/${id}`, { as });
    expect(revoked).toMatchObject({ id, status: 'revoked', revokedAt: expect.any(String) });
    expect(revoked).not.toHaveProperty('token');
    expectProblem(await server.call('DELETE', `${path}/${id}`, { as }), 404, 'gateway_session_not_found');
    expect(await server.ok('GET', `${path}/${id}`, { as })).toEqual(revoked);
    const [event] = await auditOf(server, { target_id: id });
    expect(event).toMatchObject({ operation: 'revoke_gateway_session', changedFields: ['revokedAt', 'revokedReason'] });
  }
});

test('list_gateway_sessions filters by status and subject, and shows no token', async () => {
  const { as, accountId, path } = await gatewayIn('list-1');
  const other = await accountWithKey(server, { tenantId: 'list-1' });
  const expired = await open(path, as, { ttlSeconds: 60 });
  const active = await open(path, as);
  const revoked = await open(path, { key: other.key });
  await server.ok('DELETE', `${path}/${revoked.id}`, { as });
  server.travel(61_000);
  const rows: [Record<string, string>, string[]][] = [
    [{}, [expired.id, active.id, revoked.id]],
    [{ status: 'active' }, [active.id]],
    [{ status: 'expired' }, [expired.id]],
    [{ status: 'revoked' }, [revoked.id]],
    [{ subject: other.principal }, [revoked.id]],
    [{ subject: `service_account:list-1/${accountId}`, status: 'active' }, [active.id]],
    [{ subject: 'user:nobody' }, []],
  ];
  await expectFilters(server, { path, as }, rows);
  expect((await server.call('GET', path, { as })).text).not.toContain(active.token);
});

test('list_gateway_sessions walks all pages, and its cursors work only for their own query and caller', async () => {
  const { as, path } = await gatewayIn('pages-1');
  await expectStablePages(server, { path, as }, async () => (await open(path, as)).id);
  const other = await gatewayIn('pages-1');
  await expectOwnCursorsOnly(
    server,
    { path, as },
    { filter: { status: 'active' }, list: { path: other.path }, principal: server.admin },
  );
});

test('introspect_gateway_session describes a token to callers with its scope', async () => {
  const { as, id, path } = await gatewayIn('introspect-1');
  const session = await open(path, as);
  const gateway = await accountWithKey(server, { tenantId: 'introspect-1' }, ['gateway_sessions:introspect']);
  const body = { token: session.token };
  const active = await server.ok('POST', `${path}/introspect`, { as: gateway, body });
  expect(active).toMatchObject({ active: true, aud: id, jti: session.id, grants: session.grants });
  const plain = await accountWithKey(server, { tenantId: 'introspect-1' }, ['gateway_sessions:read']);
  expectProblem(await server.call('POST', `${path}/introspect`, { as: plain, body }), 403, 'scope_missing');
});

test('a token from before a key rotation can be verified until it expires', async () => {
  const { as, id, path } = await gatewayIn('rotation-1', { sessionTtlSeconds: 86_400 });
  const day = 24 * 3_600_000;
  await open(path, as);
  const before = server.services.now();
  server.travel(90 * day - 60_000);
  const old = await open(path, as);
  server.travel(3_600_000);
  const fresh = await open(path, as);
  expect(server.services.now().getTime() - before.getTime()).toBeGreaterThan(90 * day);
  expect(decodeProtectedHeader(fresh.token).kid).not.toBe(decodeProtectedHeader(old.token).kid);
  for (const { token } of [old, fresh]) {
    await verified(token, id, { currentDate: server.services.now() });
    expect(await server.ok('POST', `${path}/introspect`, { as, body: { token } })).toMatchObject({ active: true });
  }
});
