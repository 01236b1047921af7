import * as contract from '@quartermaster/contracts/provider-credentials.ts';
import pino from 'pino';
import { beforeAll, expect, test } from 'vitest';
import { LOOPBACK, startPeer } from '../inventory-sync/peers.ts';
import { accountWithKey, unique } from '../support/people.ts';
import { type Body, startTestServer } from '../support/server.ts';
import { textOf } from '../support/tables.ts';
import {
  auditOf,
  checkCoverageAfterAll,
  type Endpoints,
  expectFields,
  expectInvalid,
  expectProblem,
  serverFor,
} from './harness.ts';

const HOUR = 3_600_000;

let server: Endpoints;
beforeAll(async () => {
  server = await serverFor(contract, LOOPBACK);
});
checkCoverageAfterAll(() => server);

async function providerIn(
  tenantId: string,
): Promise<{ as: { key: string }; principal: string; id: string; path: string }> {
  const { key, principal } = await accountWithKey(server, { tenantId });
  const body = { name: unique('llm'), kind: 'llm', baseUrl: 'https://vendor.example.com/v1' };
  const { id } = await server.ok('POST', '/v1/providers', { as: { key }, body });
  return { as: { key }, principal, id, path: `/v1/providers/${id}/credential` };
}

async function credentialsOf(id: string): Promise<Body[]> {
  const body = { providerId: id, limit: 100 };
  return (await server.ok('POST', '/v1/credentials/search', { as: server.admin, body })).items;
}

/** The stored row of a credential. */
function stored(credentialId: string): Promise<Record<string, unknown>> {
  const rows = server.services.db.selectFrom('credentials').selectAll();
  return rows.where('id', '=', credentialId).executeTakeFirstOrThrow();
}

test('put_provider_credential answers the record without the secret, and searches show it', async () => {
  const { as, principal, id, path } = await providerIn('put-1');
  const expiresAt = new Date(server.services.now().getTime() + 90 * 24 * HOUR).toISOString();
  const credential = await server.ok('PUT', path, { as, body: { secret: 'sk-1', name: 'production', expiresAt } });
  expectFields(credential, 'id tenantId subTenantId kind name ownerType ownerId status expiresAt slot header');
  expect(credential).toMatchObject({
    tenantId: 'put-1',
    kind: 'provider_secret',
    name: 'production',
    ownerType: 'provider',
    ownerId: id,
    prefix: null,
    scopes: [],
    status: 'active',
    expiresAt,
    lastUsedAt: null,
    createdBy: principal,
    revokedAt: null,
    rotationCount: 0,
    slot: 'current',
    header: 'Authorization',
  });
  expect(await credentialsOf(id)).toEqual([credential]);
  expect(await stored(credential.id)).toMatchObject({ scheme: 'Bearer', secret: expect.stringMatching(/^v2\./) });
  const [event] = await auditOf(server, { operation: 'put_provider_credential', target_id: credential.id });
  expect(event).toMatchObject({
    target: { type: 'provider_credential' },
    changedFields: expect.arrayContaining(['secret']),
  });
});

test('the scheme before the secret is Bearer in Authorization, empty in other headers, or the given one', async () => {
  const { as, path } = await providerIn('put-2');
  const rows: [object, string, string | null][] = [
    [{}, 'Authorization', 'Bearer'],
    [{ header: 'authorization' }, 'authorization', 'Bearer'],
    [{ header: null }, 'Authorization', 'Bearer'],
    [{ scheme: null }, 'Authorization', null],
    [{ scheme: 'Token' }, 'Authorization', 'Token'],
    [{ header: 'x-api-key' }, 'x-api-key', null],
    [{ header: 'X-Auth', scheme: 'Key' }, 'X-Auth', 'Key'],
  ];
  for (const [body, header, scheme] of rows) {
    const credential = await server.ok('PUT', path, { as, body: { secret: 'sk-1', ...body } });
    expect(credential.header).toBe(header);
    expect(await stored(credential.id)).toMatchObject({ header, scheme });
  }
});

test('another secret revokes and erases the former one, and increments the rotation count', async () => {
  const { as, id, path } = await providerIn('put-3');
  const first = await server.ok('PUT', path, { as, body: { secret: 'sk-1' } });
  const second = await server.ok('PUT', path, { as, body: { secret: 'sk-2' } });
  expect(second).toMatchObject({ rotationCount: 1, slot: 'current' });
  expect(await stored(first.id)).toMatchObject({ secret: null, replaced_by: second.id });
  const [newest, oldest] = (await credentialsOf(id)).toSorted((a, b) => b.rotationCount - a.rotationCount);
  expect(newest).toEqual(second);
  expect(oldest).toMatchObject({ id: first.id, status: 'revoked', slot: 'former' });
});

test('a standby secret is stored next to the current one, and is replaced by the next', async () => {
  const { as, id, path } = await providerIn('put-4');
  const current = await server.ok('PUT', path, { as, body: { secret: 'sk-1' } });
  const standby = await server.ok('PUT', path, { as, body: { secret: 'sk-2', standby: true } });
  expect(standby).toMatchObject({ slot: 'standby', status: 'active', rotationCount: 1 });
  const better = await server.ok('PUT', path, { as, body: { secret: 'sk-3', standby: true } });
  const all = await credentialsOf(id);
  expect(all.find((one) => one.id === current.id)).toEqual(current);
  expect(all.find((one) => one.id === better.id)).toMatchObject({ slot: 'standby', rotationCount: 1 });
  expect(all.find((one) => one.id === standby.id)).toMatchObject({ slot: 'former', status: 'revoked' });
  expect(await stored(standby.id)).toMatchObject({ secret: null });
});

test('delete_provider_credential revokes and erases the stored secrets, and answers the final record once', async () => {
  const { as, id, path } = await providerIn('delete-1');
  expectProblem(await server.call('DELETE', path, { as }), 404, 'provider_credential_not_found');
  const current = await server.ok('PUT', path, { as, body: { secret: 'sk-1' } });
  await server.ok('PUT', path, { as, body: { secret: 'sk-2', standby: true } });
  const deleted = await server.ok('DELETE', path, { as });
  expect(deleted).toMatchObject({ id: current.id, status: 'revoked', slot: 'former' });
  for (const { id: one, status } of await credentialsOf(id)) {
    expect(status).toBe('revoked');
    expect((await stored(one))['secret']).toBeNull();
  }
  expectProblem(await server.call('DELETE', path, { as }), 404, 'provider_credential_not_found');
  expect(await auditOf(server, { operation: 'delete_provider_credential' })).toHaveLength(2);
});

test('put_provider_secret_header answers the record without the secret, and a second value replaces the first', async () => {
  const { as, id, path } = await providerIn('header-1');
  const at = (name: string) => `${path.replace('credential', 'secret-headers')}/${name}`;
  const first = await server.ok('PUT', at('X-Organization'), { as, body: { secret: 'org-1' } });
  expect(first).toMatchObject({ kind: 'provider_secret', ownerId: id, slot: 'header', header: 'X-Organization' });
  expect(JSON.stringify(first)).not.toContain('org-1');
  expect(await stored(first.id)).toMatchObject({ scheme: null, secret: expect.stringMatching(/^v2\./) });
  const other = await server.ok('PUT', at('X-Team'), { as, body: { secret: 'team-1' } });
  const second = await server.ok('PUT', at('x-organization'), { as, body: { secret: 'org-2' } });
  expect(second).toMatchObject({ slot: 'header', rotationCount: 1 });
  expect(await stored(first.id)).toMatchObject({ secret: null, replaced_by: second.id });
  const active = (await credentialsOf(id)).filter(({ status }) => status === 'active');
  expect(new Set(active.map(({ id: one }) => one))).toEqual(new Set([other.id, second.id]));
  const [event] = await auditOf(server, { operation: 'put_provider_secret_header', target_id: second.id });
  expect(event).toMatchObject({ target: { type: 'provider_credential' }, changedFields: ['secret'] });
});

test('delete_provider_secret_header revokes and erases one header, and answers its final record once', async () => {
  const { as, path } = await providerIn('header-2');
  const at = `${path.replace('credential', 'secret-headers')}/X-Organization`;
  expectProblem(await server.call('DELETE', at, { as }), 404, 'provider_credential_not_found');
  const { id } = await server.ok('PUT', at, { as, body: { secret: 'org-1' } });
  expect(await server.ok('DELETE', at, { as })).toMatchObject({ id, status: 'revoked', slot: 'former' });
  expect(await stored(id)).toMatchObject({ secret: null });
  expectProblem(await server.call('DELETE', at, { as }), 404, 'provider_credential_not_found');
});

test('a provider has at most ten secret headers, and their names and values can be sent', async () => {
  const { as, path } = await providerIn('header-3');
  const put = (name: string, secret = 'x') =>
    server.call('PUT', `${path.replace('credential', 'secret-headers')}/${name}`, { as, body: { secret } });
  for (const name of ['Host', 'content-length', 'Cookie', 'mcp-session-id', 'a%20b', '__proto__']) {
    expectInvalid(await put(name), { loc: ['path', 'header_name'], type: 'value_error' });
  }
  expect((await put('X-A', 'x\r\nHost: y')).status).toBe(422);
  for (let index = 0; index < 10; index += 1) expect((await put(`X-${index}`)).status).toBe(200);
  expectInvalid(await put('X-10'), { loc: ['path', 'header_name'], type: 'value_error' });
  expect((await put('x-9', 'another')).status).toBe(200);
});

test('a provider that is missing or out of reach is 404', async () => {
  const { path } = await providerIn('hidden-1');
  const { as: stranger } = await providerIn('hidden-2');
  for (const [method, body] of [['PUT', { secret: 'sk-1' }], ['DELETE']] as [string, object?][]) {
    for (const part of ['credential', 'secret-headers/X-Organization']) {
      const sent = body && { body };
      const hidden = path.replace('credential', part);
      expectProblem(await server.call(method, hidden, { as: stranger, ...sent }), 404, 'provider_not_found');
      const none = `/v1/providers/none/${part}`;
      expectProblem(await server.call(method, none, { as: server.admin, ...sent }), 404, 'provider_not_found');
    }
  }
});

test('values that would break a header, and headers of the connection itself, are refused', async () => {
  const { as, path } = await providerIn('invalid-1');
  const put = (body: object) => server.call('PUT', path, { as, body: { secret: 'sk-1', ...body } });
  for (const header of [
    'Host',
    'content-type',
    'Content-Length',
    'cookie',
    'Transfer-Encoding',
    'mcp-session-id',
    '__proto__',
  ]) {
    expectInvalid(await put({ header }), { loc: ['body', 'header'], type: 'value_error' });
  }
  expectInvalid(await put({ header: 'a b' }), { loc: ['body', 'header'], type: 'value_error' });
  expectInvalid(await put({ scheme: 'Bear er' }), { loc: ['body', 'scheme'], type: 'string_pattern_mismatch' });
  for (const secret of ['sk\r\nHost: x', 'sk-ü', ' sk', 'sk\0']) {
    expect((await put({ secret })).status).toBe(422);
  }
  expectInvalid(await put({ secret: '' }), { loc: ['body', 'secret'], type: 'string_too_short' });
  expectInvalid(await put({ secret: 'x'.repeat(4097) }), { loc: ['body', 'secret'], type: 'string_too_long' });
  expectInvalid(await put({ expiresAt: '2020-01-01T00:00:00Z' }), { loc: ['body', 'expiresAt'], type: 'value_error' });
});

test('the answer to a refused body does not repeat the secret from any field', async () => {
  const { as, path } = await providerIn('invalid-2');
  const secret = 'sk-refused-and-not-repeated';
  const bodies: unknown[] = [
    { value: secret },
    { secret: [secret] },
    { secret, header: secret.repeat(9) },
    { secret, name: { of: secret } },
    secret,
    [secret],
  ];
  for (const body of bodies) {
    const answered = await server.call('PUT', path, { as, body });
    expect(answered.status).toBe(422);
    expect(answered.text).not.toContain(secret);
  }
});

test('a change of the origin of the base URL detaches the credential; a path below the bound one does not', async () => {
  const { as, id, path } = await providerIn('detach-1');
  const change = (body: object) => server.ok('PUT', `/v1/providers/${id}`, { as, body });
  const inForce = async () => (await credentialsOf(id)).filter(({ status }) => status !== 'revoked');
  const origins = ['https://vendor.example.com:8443/v1', 'http://vendor.example.com:8443/v1', null];
  for (const baseUrl of origins) {
    const put = await server.ok('PUT', path, { as, body: { secret: 'sk-1' } });
    await server.ok('PUT', path, { as, body: { secret: 'sk-2', standby: true } });
    await change({ displayName: unique('name') });
    expect(await inForce()).toHaveLength(2);
    const { baseUrl: before } = await server.ok('GET', `/v1/providers/${id}`, { as });
    await change({ baseUrl: `${before}/eu` });
    expect(await inForce()).toHaveLength(2);
    await change({ baseUrl });
    expect(await inForce()).toEqual([]);
    expect((await stored(put.id))['secret']).toBeNull();
    const [event] = await auditOf(server, { operation: 'update_provider', target_id: put.id });
    expect(event).toMatchObject({ target: { type: 'provider_credential' }, changedFields: ['revokedAt'] });
  }
});

test('a deleted provider has no credential', async () => {
  const { as, id, path } = await providerIn('detach-2');
  const put = await server.ok('PUT', path, { as, body: { secret: 'sk-1' } });
  await server.ok('DELETE', `/v1/providers/${id}`, { as });
  expect(await credentialsOf(id)).toMatchObject([{ id: put.id, status: 'revoked' }]);
  expect((await stored(put.id))['secret']).toBeNull();
});

test('a sync records when the credential was used, to the minute, and does not use an expired one', async () => {
  const { as, id, path } = await providerIn('used-1');
  const peer = await startPeer((_req, res) => void res.end('{"object":"list","data":[]}'));
  await server.ok('PUT', `/v1/providers/${id}`, { as, body: { baseUrl: peer.url } });
  const expiresAt = new Date(server.services.now().getTime() + HOUR).toISOString();
  await server.ok('PUT', path, { as, body: { secret: 'sk-1', expiresAt } });
  const sync = () => server.call('POST', `/v1/providers/${id}/sync`, { as });
  const usedAt = async () => (await credentialsOf(id))[0].lastUsedAt;
  await sync();
  const first = await usedAt();
  expect(first).not.toBeNull();
  server.travel(30_000);
  await sync();
  expect(await usedAt()).toBe(first);
  server.travel(60_000);
  await sync();
  expect((await usedAt()) > first).toBe(true);
  const { length } = peer.requests;
  server.travel(HOUR);
  const answered = await sync();
  expectProblem(answered, 502, 'sync_failed');
  expect(answered.body.detail).toMatch(/the credential of the provider has expired/);
  expect(peer.requests).toHaveLength(length);
});

test('the secret is in no answer, log, audit event, task or row, also when its use fails', async () => {
  const lines: string[] = [];
  const log = pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) });
  const own = await startTestServer({ ...LOOPBACK, QM_LOG_LEVEL: 'debug' }, { log, syncLimits: { pauseMs: 1 } });
  try {
    const as = own.admin;
    const secret = 'sk-that-must-not-be-seen-anywhere';
    const seen: (string | undefined)[] = [];
    let status = 200;
    let repeating = false;
    const peer = await startPeer((req, res) => {
      seen.push(req.headers.authorization);
      // A server that echoes its request.
      res
        .writeHead(status, { 'x-echo': req.headers.authorization })
        .end(JSON.stringify(repeating ? { data: [{ id: 'a', description: req.headers.authorization }] } : req.headers));
    });
    const answers: string[] = [];
    const call = async (method: string, path: string, body?: unknown) => {
      const answered = await own.call(method, path, { as, ...(body !== undefined && { body }) });
      answers.push(answered.text);
      return answered.body;
    };
    const { id } = await call('POST', '/v1/providers', { name: 'echo', kind: 'llm', baseUrl: peer.url });
    const path = `/v1/providers/${id}`;
    await call('PUT', `${path}/credential`, { secret, name: 'echoed' });
    await call('PUT', `${path}/credential`, { secret, standby: true });
    for (status of [200, 401, 429, 500, 302]) await call('POST', `${path}/sync`);
    repeating = true;
    status = 200;
    expect((await call('POST', `${path}/sync`)).detail).toMatch(/it lists the credential that it was sent/);
    repeating = false;
    await call('PUT', path, { kind: 'mcp' });
    for (status of [200, 400, 401]) await call('POST', `${path}/sync`);
    await call('PUT', `${path}/credential`, { secret: 'sk\n', value: secret });
    await call('POST', '/v1/credentials/search', {});
    await call('GET', '/v1/operator/tasks?limit=100');
    await call('GET', '/v1/audit-events?limit=100');
    expect(seen.length).toBeGreaterThan(5);
    expect(new Set(seen)).toEqual(new Set([`Bearer ${secret}`]));
    expect(lines.length).toBeGreaterThan(5);
    const held = [...answers, ...lines, await textOf(own.services.db)].join('\n');
    expect(held).toContain('echoed');
    for (const form of [
      secret,
      Buffer.from(secret).toString('base64').slice(0, 24),
      Buffer.from(secret).toString('hex'),
    ]) {
      expect(held.includes(form)).toBe(false);
    }
  } finally {
    await own.stop();
  }
});
