import { beforeAll, expect, test } from 'vitest';
import { accountWithKey } from '../support/people.ts';
import { type TestServer, startTestServer } from '../support/server.ts';
import { type DecidingWorld, decidingWorld, ODD_KEY_IDS, unsignedToken } from './sessions.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({}, { decisionsFreshMs: 0 });
  return () => server.stop();
});

type Asked = { provider?: string; kind?: string; name?: string; token?: string };

const decide = ({ gatewayId, providerName, token }: DecidingWorld, asked: Asked = {}) => {
  const { token: otherToken = token, ...body } = { provider: providerName, kind: 'tool', name: 'search', ...asked };
  return server.call('POST', `/v1/gateways/${gatewayId}/decisions`, {
    headers: { Authorization: `Bearer ${otherToken}` },
    body,
  });
};

test('decide_access allows what the inventory has, and denies everything else with its reason', async () => {
  const world = await decidingWorld(server);
  expect(await decide(world)).toMatchObject({
    status: 200,
    body: { allowed: true, wouldDeny: false, mode: 'enforce', reason: null, reviewUrl: null },
  });
  expect((await decide(world, { provider: world.providerId })).body).toMatchObject({ allowed: true });
  expect((await decide(world, { name: 'delete_everything' })).body).toMatchObject({
    allowed: false,
    wouldDeny: true,
    reason: 'not_in_inventory',
    reviewUrl: expect.stringContaining(`/console/inbox?provider=${world.providerId}&kind=tool&name=delete_everything`),
  });
  expect((await decide(world, { provider: 'other' })).body).toMatchObject({
    allowed: false,
    reason: 'provider_not_listed',
  });
});

test('in the mode observe everything is allowed, and the answer says what would be denied', async () => {
  const world = await decidingWorld(server, { gateway: { enforcement: 'observe' } });
  expect((await decide(world, { name: 'other' })).body).toMatchObject({
    allowed: true,
    wouldDeny: true,
    mode: 'observe',
    reason: 'not_in_inventory',
  });
});

test('what is approved later is allowed in the same session', async () => {
  const world = await decidingWorld(server);
  expect((await decide(world, { name: 'later' })).body).toMatchObject({ allowed: false });
  const body = { kind: 'tool', name: 'later' };
  await server.ok('POST', `/v1/providers/${world.providerId}/inventory`, { as: world.as, body });
  expect((await decide(world, { name: 'later' })).body).toMatchObject({ allowed: true });
});

test('a decision covers other spellings of a model, as the inventory does', async () => {
  const items = [
    { kind: 'model', name: 'gpt-5' },
    { kind: 'model', name: 'gpt-4', status: 'blocked' },
  ];
  const world = await decidingWorld(server, { items, provider: { kind: 'llm' } });
  const model = { kind: 'model' };
  expect((await decide(world, { ...model, name: 'gpt-5-2026-01-01' })).body).toMatchObject({ allowed: true });
  expect((await decide(world, { ...model, name: 'gpt-4-0613' })).body).toMatchObject({ reason: 'blocked' });
  expect((await decide(world, { ...model, name: 'other' })).body).toMatchObject({ reason: 'not_in_inventory' });
});

test('a session that is limited to some providers is denied the others', async () => {
  const world = await decidingWorld(server);
  const { id } = await server.ok('POST', '/v1/providers', { as: world.as, body: { name: 'second', kind: 'mcp' } });
  await server.ok('POST', `/v1/providers/${id}/inventory`, { as: world.as, body: { kind: 'tool', name: 'search' } });
  const path = `/v1/gateways/${world.gatewayId}`;
  await server.ok('PUT', path, { as: world.as, body: { providerIds: [world.providerId, id] } });
  const body = { providerIds: [world.providerId] };
  const { token, providerIds } = await server.ok('POST', `${path}/sessions`, { as: world.as, body });
  expect(providerIds).toEqual([world.providerId]);
  expect((await decide(world, { provider: 'second', token })).body).toMatchObject({
    reason: 'provider_not_in_session',
  });
  expect((await decide(world, { provider: 'second' })).body).toMatchObject({ allowed: true });
  await server.ok('PUT', `/v1/providers/${id}`, { as: world.as, body: { status: 'disabled' } });
  expect((await decide(world, { provider: 'second' })).body).toMatchObject({ reason: 'provider_disabled' });
});

test("the gateway's manifest decides about what is in the inventory", async () => {
  const world = await decidingWorld(server);
  const spec = { allow: [{ provider: world.providerName, kind: 'tool', names: ['read_*'] }] };
  const { id } = await server.ok('POST', '/v1/manifests', {
    as: world.as,
    body: { kind: 'gateway', name: 'edge', spec },
  });
  await server.ok('PUT', `/v1/gateways/${world.gatewayId}`, { as: world.as, body: { manifestId: id } });
  expect((await decide(world)).body).toMatchObject({ allowed: false, reason: 'manifest' });
});

test('a token with an id of its key that is no id is refused, and is no failure', async () => {
  const world = await decidingWorld(server);
  for (const kid of ODD_KEY_IDS) {
    const { status, body } = await decide(world, { token: unsignedToken('qm-session+jwt', kid) });
    expect({ kid, status, code: body.code }).toEqual({ kid, status: 401, code: 'session_token_invalid' });
  }
});

test('tokens that are missing, tampered with, of another gateway or of an ended session are refused', async () => {
  const [world, other] = [await decidingWorld(server), await decidingWorld(server)];
  const [head, payload] = world.token.split('.');
  for (const token of ['', 'x', `${head}.${payload}.AAAA`, other.token, `${head}.${payload}.`]) {
    expect(await decide(world, { token })).toMatchObject({ status: 401, body: { code: 'session_token_invalid' } });
  }
  const unknown = { ...world, gatewayId: 'gw_00000000000000000000000000' };
  expect(await decide(unknown)).toMatchObject({ status: 401, body: { code: 'session_token_invalid' } });
  await server.ok('DELETE', `/v1/gateways/${world.gatewayId}/sessions/${world.session.id}`, { as: world.as });
  expect(await decide(world)).toMatchObject({
    status: 401,
    body: { code: 'gateway_session_ended', reason: 'revoked' },
  });
});

test('get_own_gateway_session lists what the session may use now, and answers 304 while that is the same', async () => {
  const items = [
    { kind: 'tool', name: 'search' },
    { kind: 'tool', name: 'danger', status: 'blocked' },
  ];
  const world = await decidingWorld(server, { items });
  const read = (headers: object = {}) =>
    server.call('GET', `/v1/gateways/${world.gatewayId}/session`, {
      headers: { 'X-Quartermaster-Session': world.token, ...headers },
    });
  const first = await read();
  expect(first).toMatchObject({
    status: 200,
    body: {
      sessionId: world.session.id,
      gatewayId: world.gatewayId,
      mode: 'enforce',
      complete: true,
      providers: [{ id: world.providerId, name: world.providerName, items: [{ kind: 'tool', name: 'search' }] }],
    },
  });
  const etag = first.headers.get('etag') ?? '';
  const again = await read({ 'If-None-Match': etag });
  expect(again.status).toBe(304);
  // The token ends at a full second.
  expect(again.headers.get('x-quartermaster-expires-at')).toBe(`${world.session.expiresAt.slice(0, 19)}.000Z`);
  const body = { kind: 'tool', name: 'second' };
  await server.ok('POST', `/v1/providers/${world.providerId}/inventory`, { as: world.as, body });
  expect((await read({ 'If-None-Match': etag })).status).toBe(200);
});

test('regression: the own session names a provider only as decisions find it', async () => {
  const world = await decidingWorld(server);
  const { as, tenantId, providerName: name } = world;
  await accountWithKey(server, { tenantId, subTenantId: 'eu' });
  // A sub-tenant gives its provider the name of one of the whole tenant.
  const body = { name, kind: 'mcp', subTenantId: 'eu' };
  const { id } = await server.ok('POST', '/v1/providers', { as, body });
  const path = `/v1/gateways/${world.gatewayId}`;
  await server.ok('PUT', path, { as, body: { providerIds: [world.providerId, id] } });
  const { token } = await server.ok('POST', `${path}/sessions`, { as, body: { providerIds: [id] } });
  expect((await decide(world, { provider: name, token })).body).toMatchObject({ reason: 'provider_not_in_session' });
  const own = await server.ok('GET', `${path}/session`, { headers: { 'X-Quartermaster-Session': token } });
  expect(own.providers).toMatchObject([{ id, name: id, aliases: [] }]);
});
