import { type CryptoKey, decodeJwt, generateKeyPair, type JWTPayload, SignJWT, UnsecuredJWT } from 'jose';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { currentSigner } from '../src/resources/signing-keys/service.ts';
import { auditOf, expectInvalid, expectProblem } from './endpoints/harness.ts';
import { accountWithKey, memberWithToken, unique } from './support/people.ts';
import { type Answered, type Body, type Credential, startTestServer, type TestServer } from './support/server.ts';

let server: TestServer;
const logged: string[] = [];
beforeAll(async () => {
  const log = pino({ level: 'debug' }, { write: (line: string) => logged.push(line) });
  server = await startTestServer({}, { log });
});
afterAll(() => server.stop());
afterEach(expectNoTokenLogged);

/** No token of a session may appear in the log. Heads of audit chains are tokens too, but public ones. */
function expectNoTokenLogged(): void {
  expect(logged.filter((line) => line.includes('eyJ') && !line.includes('"head":"eyJ'))).toEqual([]);
}

const INACTIVE = { active: false };
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

type Edge = { as: { key: string }; tenantId: string; gatewayId: string; providerId: string; path: string };

/** A gateway with one provider that has two models, and an administrator of its tenant. */
async function edge(): Promise<Edge> {
  const tenantId = unique('introspection');
  const as = await accountWithKey(server, { tenantId });
  const { id: providerId } = await server.ok('POST', '/v1/providers', { as, body: { name: 'openai', kind: 'llm' } });
  for (const name of ['gpt-5', 'gpt-5-mini']) await declare({ as, providerId }, name);
  const body = { name: 'edge', providerIds: [providerId] };
  const { id: gatewayId } = await server.ok('POST', '/v1/gateways', { as, body });
  return { as, tenantId, gatewayId, providerId, path: `/v1/gateways/${gatewayId}/sessions` };
}

const declare = ({ as, providerId }: Pick<Edge, 'as' | 'providerId'>, name: string): Promise<Body> =>
  server.ok('POST', `/v1/providers/${providerId}/inventory`, { as, body: { kind: 'model', name } });

const open = ({ path, as }: Pick<Edge, 'path' | 'as'>, body: object = {}): Promise<Body> =>
  server.ok('POST', path, { as, body });

const introspect = ({ path }: Pick<Edge, 'path'>, token: string, as: Credential = server.admin): Promise<Body> =>
  server.ok('POST', `${path}/introspect`, { as, body: { token } });

const namesOf = ({ grants }: Body): string[][] =>
  grants.map((grant: Body) => grant.items.map((item: Body) => item.name));

test('introspection of an active session answers the claims of its token, its grants and its metadata, and nothing else', async () => {
  const at = await edge();
  const session = await open(at, { metadata: { run: 7 } });
  const { sub, aud, iss, jti, iat, exp, grants, tenant_id } = decodeJwt(session.token);
  const answered = await server.call('POST', `${at.path}/introspect`, { as: at.as, body: { token: session.token } });
  expect(answered.body).toEqual({
    active: true,
    token_type: 'Bearer',
    iss,
    sub,
    aud,
    jti,
    iat,
    exp,
    client_id: sub,
    tenant_id,
    gateway_id: at.gatewayId,
    session_id: session.id,
    grants: session.grants,
    metadata: { run: 7 },
  });
  expect(grants).toEqual(session.grants);
  expect(answered.headers.get('cache-control')).toBe('no-store');
});

test('introspection shows the actor, the subject and the sub-tenant', async () => {
  const at = await edge();
  const { principal } = await accountWithKey(server, { tenantId: at.tenantId, subTenantId: 'eu' });
  const body = { name: 'eu', subTenantId: 'eu' };
  const { id } = await server.ok('POST', '/v1/gateways', { as: at.as, body });
  const eu = { path: `/v1/gateways/${id}/sessions`, as: at.as };
  const { token, actor } = await open(eu, { subject: principal });
  const expected = { sub: principal, act: { sub: actor }, client_id: actor, sub_tenant_id: 'eu', grants: [] };
  expect(await introspect(eu, token)).toMatchObject(expected);
});

test('introspection causes no audit event, and does not change the session', async () => {
  const at = await edge();
  const session = await open(at);
  await introspect(at, session.token, at.as);
  expect(await auditOf(server, { tenant_id: at.tenantId, operation: 'introspect_gateway_session' })).toEqual([]);
  const { token: _token, tokenType: _type, ...record } = session;
  expect(await server.ok('GET', `${at.path}/${session.id}`, { as: at.as })).toEqual(record);
});

describe('introspection answers only active: false for a token that is', () => {
  let at: Edge;
  let session: Body;
  let claims: JWTPayload;
  beforeAll(async () => {
    at = await edge();
    session = await open(at);
    claims = decodeJwt(session.token);
  });

  /** The claims of the session with changes, signed with the key of the service or the given one. */
  async function signed(changed: JWTPayload, header: Record<string, string> = {}, key?: CryptoKey): Promise<string> {
    const signer = await currentSigner(server.services);
    return new SignJWT({ ...claims, ...changed })
      .setProtectedHeader({ alg: 'ES256', typ: 'qm-session+jwt', kid: signer.kid, ...header })
      .sign(key ?? signer.key);
  }
  const part = (token: string, index: number) => token.split('.')[index] ?? '';

  test('the helper signs claims that are active if they are unchanged', async () => {
    expect(await introspect(at, await signed({}))).toMatchObject({ active: true, session_id: session.id });
  });

  test.each<[string, () => Promise<string> | string]>([
    ['of another gateway', async () => (await open(await edge())).token],
    ['of this gateway, with an unknown session id', () => signed({ jti: 'ses_00000000000000000000000000' })],
    ['for another audience', () => signed({ aud: 'gw_other' })],
    ['of another issuer', () => signed({ iss: 'https://quartermaster.example.com' })],
    ['of another type', () => signed({}, { typ: 'JWT' })],
    ['expired', () => signed({ exp: Number(claims.iat) - 1 })],
    ['without an expiry', () => signed({ exp: undefined } as unknown as JWTPayload)],
    ['without an id', () => signed({ jti: undefined } as unknown as JWTPayload)],
    ['of an unknown key', () => signed({}, { kid: 'sig_other' })],
    ['signed with another key', async () => signed({}, {}, (await generateKeyPair('ES256')).privateKey)],
    ['unsigned', () => new UnsecuredJWT(claims).encode()],
    ['unsigned, with the original header', () => `${part(session.token, 0)}.${part(session.token, 1)}.`],
    [
      'signed with the public key as an HMAC secret',
      async () => {
        const { keys } = await server.ok('GET', '/.well-known/jwks.json');
        const secret = new TextEncoder().encode(JSON.stringify(keys[0]));
        const header = { alg: 'HS256', typ: 'qm-session+jwt', kid: keys[0].kid };
        return new SignJWT(claims).setProtectedHeader(header).sign(secret);
      },
    ],
    [
      'edited',
      () => {
        const payload = Buffer.from(JSON.stringify({ ...claims, sub: 'user:root' })).toString('base64url');
        return `${part(session.token, 0)}.${payload}.${part(session.token, 2)}`;
      },
    ],
    ['cut', () => session.token.slice(0, -1)],
    ['an API key', () => at.as.key],
    ['not a JWT', () => 'a.b.c'],
    ['two dots', () => '..'],
    ['a space', () => ' '],
    ['100 KB long', () => `${session.token}${'A'.repeat(100_000)}`],
  ])('%s', async (_, make) => {
    const token = await make();
    const answered = await server.call('POST', `${at.path}/introspect`, { as: at.as, body: { token } });
    expect([answered.status, answered.body]).toEqual([200, INACTIVE]);
  });
});

describe('a session is inactive at once, and its record says why, after', () => {
  const rows: [string, string, (at: Edge, session: Body) => Promise<unknown>][] = [
    ['revoked', 'revoked', (at, session) => server.ok('DELETE', `${at.path}/${session.id}`, { as: at.as })],
    [
      'its gateway was disabled and enabled again',
      'gateway_ended',
      async ({ as, gatewayId }) => {
        const path = `/v1/gateways/${gatewayId}`;
        await server.ok('PUT', path, { as, body: { status: 'disabled' } });
        await server.ok('PUT', path, { as, body: { status: 'active' } });
      },
    ],
    [
      'an item that it was granted was blocked',
      'item_blocked',
      async ({ as, providerId }) => {
        const inventory = `/v1/providers/${providerId}/inventory`;
        const { items } = await server.ok('GET', inventory, { as });
        await server.ok('PUT', `${inventory}/${items[0].id}`, { as, body: { status: 'blocked' } });
      },
    ],
  ];
  test.each(rows)('%s', async (_, reason, end) => {
    const at = await edge();
    const session = await open(at);
    expect(await introspect(at, session.token)).toMatchObject({ active: true });
    await end(at, session);
    expect(await introspect(at, session.token)).toEqual(INACTIVE);
    const record = await server.ok('GET', `${at.path}/${session.id}`, { as: at.as });
    expect(record).toMatchObject({ status: 'revoked', revokedReason: reason, revokedAt: expect.any(String) });
  });

  test.each(['account', 'user'])('its subject was disabled: %s', async (kind) => {
    const at = await edge();
    const account = await accountWithKey(server, { tenantId: at.tenantId });
    const user = await memberWithToken(server, { tenantId: at.tenantId }, 'operator');
    const session = await open(at, { subject: kind === 'user' ? `user:${user.id}` : account.principal });
    expect(await introspect(at, session.token)).toMatchObject({ active: true });
    const path = kind === 'user' ? `/v1/users/${user.id}` : `/v1/service-accounts/${account.id}`;
    await server.ok('POST', `${path}/disable`, { as: kind === 'user' ? server.admin : at.as });
    expect(await introspect(at, session.token)).toEqual(INACTIVE);
    const record = await server.ok('GET', `${at.path}/${session.id}`, { as: at.as });
    expect(record).toMatchObject({ status: 'revoked', revokedReason: 'principal_ended' });
  });

  test('it expired', async () => {
    const at = await edge();
    const { token } = await open(at, { ttlSeconds: 60 });
    server.travel(61_000);
    const answer = await introspect(at, token);
    server.travel(-61_000);
    expect(answer).toEqual(INACTIVE);
    expect(await introspect(at, token)).toMatchObject({ active: true });
  });
});

describe('introspection shows only grants that are still allowed, after', () => {
  const rows: [string, (at: Edge, items: Body[]) => Promise<unknown>, string[][]][] = [
    [
      'an item was retired',
      ({ as, providerId }, [, item]) =>
        server.ok('PUT', `/v1/providers/${providerId}/inventory/${item.id}`, { as, body: { status: 'retired' } }),
      [['gpt-5']],
    ],
    [
      'an item was deleted',
      ({ as, providerId }, [item]) => server.ok('DELETE', `/v1/providers/${providerId}/inventory/${item.id}`, { as }),
      [['gpt-5-mini']],
    ],
    [
      'the provider was disabled',
      ({ as, providerId }) => server.ok('PUT', `/v1/providers/${providerId}`, { as, body: { status: 'disabled' } }),
      [],
    ],
    [
      'the provider was removed from the gateway and deleted',
      async ({ as, gatewayId, providerId }) => {
        await server.ok('PUT', `/v1/gateways/${gatewayId}`, { as, body: { providerIds: [] } });
        await server.ok('DELETE', `/v1/providers/${providerId}`, { as });
      },
      [],
    ],
    [
      'the gateway got a manifest that allows less',
      async ({ as, gatewayId }) => {
        const spec = { allow: [{ provider: 'openai', names: ['gpt-5-*'] }] };
        const body = { name: 'policy', kind: 'gateway', spec };
        const { id: manifestId } = await server.ok('POST', '/v1/manifests', { as, body });
        await server.ok('PUT', `/v1/gateways/${gatewayId}`, { as, body: { manifestId } });
      },
      [['gpt-5-mini']],
    ],
    ['only more was declared', (at) => declare(at, 'gpt-6'), [['gpt-5', 'gpt-5-mini']]],
  ];
  test.each(rows)('%s', async (_, change, expected) => {
    const at = await edge();
    const { token, grants } = await open(at);
    const { items } = await server.ok('GET', `/v1/providers/${at.providerId}/inventory`, { as: at.as });
    const byName = items.toSorted((a: Body, b: Body) => (a.name < b.name ? -1 : 1));
    await change(at, byName);
    const answer = await introspect(at, token);
    expect(answer.active).toBe(true);
    expect(namesOf(answer)).toEqual(expected);
    // The token itself still contains the grants of the time when it was signed.
    expect(decodeJwt(token)['grants']).toEqual(grants);
  });

  test('introspection shows the grants of a token that contains only their digest', async () => {
    const at = await edge();
    for (let index = 0; index < 60; index += 1) await declare(at, `${'long-'.repeat(10)}${index}`);
    const { token, grants } = await open(at);
    expect(decodeJwt(token)).toHaveProperty('grants_digest');
    expect((await introspect(at, token)).grants).toEqual(grants);
  });
});

describe('the body', () => {
  let at: Edge;
  let token: string;
  beforeAll(async () => {
    at = await edge();
    token = (await open(at)).token;
  });
  const send = (raw: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = FORM): Promise<Answered> =>
    server.call('POST', `${at.path}/introspect`, { as: at.as, raw, headers });

  test.each([
    ['plain', (text: string) => `token=${text}`],
    // Regression: common RFC 7662 clients send these fields, and were refused.
    ['with client credentials', (text: string) => `client_id=edge&client_secret=x&token=${text}`],
    ['with names of inherited members', (text: string) => `__proto__=x&constructor=y&token=${text}`],
    ['with a hint', (text: string) => `token=${text}&token_type_hint=access_token`],
    ['escaped', (text: string) => `to%6ben=${text.replaceAll('.', '%2E')}`],
    ['with empty pairs', (text: string) => `&token=${text}&&`],
  ])('may be a form: %s', async (_, form) => {
    for (const type of [FORM['content-type'], 'Application/X-WWW-Form-URLEncoded ; charset=UTF-8']) {
      const answered = await send(form(token), { 'content-type': type });
      expect(answered.body, answered.text).toMatchObject({ active: true });
    }
  });

  test('is decoded as a form', async () => {
    const answered = await send('token=a%20b+c&token_type_hint=%E2%82%AC');
    expect(answered.body).toEqual(INACTIVE);
  });

  test.each<[string, (text: string) => string | Uint8Array<ArrayBuffer>, { loc: string[]; type: string }]>([
    ['empty', () => '', { loc: ['body'], type: 'missing' }],
    ['that is only &', () => '&', { loc: ['body', 'token'], type: 'missing' }],
    ['without the token', () => 'token_type_hint=x', { loc: ['body', 'token'], type: 'missing' }],
    ['with an empty token', () => 'token=', { loc: ['body', 'token'], type: 'string_too_short' }],
    ['with two tokens', (text) => `token=${text}&token=${text}`, { loc: ['body', 'token'], type: 'value_error' }],
    [
      'with an unknown field twice',
      (text) => `token=x&jwt=${text}&jwt=x`,
      { loc: ['body', 'jwt'], type: 'value_error' },
    ],
    ['that is only a token', (text) => text, { loc: ['body'], type: 'value_error' }],
    ['with an incomplete escape', (text) => `token=${text}%2`, { loc: ['body'], type: 'value_error' }],
    ['escaped in Latin-1', (text) => `token=${text}%e9`, { loc: ['body'], type: 'value_error' }],
    [
      'in Latin-1',
      (text) => new Uint8Array(Buffer.from(`token=${text}\u00e9`, 'latin1')),
      { loc: ['body'], type: 'value_error' },
    ],
    ['with a NUL', (text) => `token=${text}%00`, { loc: ['body', 'token'], type: 'value_error' }],
  ])('is 422 as a form %s, and the token is not repeated', async (_, form, fault) => {
    const answered = await send(form(token));
    expectInvalid(answered, fault);
    expect(answered.text).not.toContain(token.slice(0, 20));
  });

  test.each<[string, (text: string) => unknown]>([
    ['of the wrong type', (text) => ({ token: [text] })],
    ['under another name', (text) => ({ token: 'x', jwt: text })],
    ['for the whole body', (text) => text],
    ['in a list', (text) => [text]],
    ['with a hint that is not a text', (text) => ({ token: text, token_type_hint: [text] })],
  ])('is 422 as JSON with the token %s, and the token is not repeated', async (_, body) => {
    const json = JSON.stringify(body(token));
    const answered = await send(json, { 'content-type': 'application/json' });
    expect(answered.status).toBe(422);
    expect(answered.text).not.toContain(token.slice(0, 20));
  });

  test('of another media type, charset or size is refused', async () => {
    for (const type of [
      'text/plain',
      'multipart/form-data; boundary=x',
      'application/x-www-form-urlencoded; charset=latin1',
    ]) {
      const answered = await send(`token=${token}`, { 'content-type': type });
      expectProblem(answered, 415, 'media_type_unsupported');
      expect(answered.headers.get('accept')).toBe('application/json, application/x-www-form-urlencoded');
    }
    expectProblem(await send(`token=${'a'.repeat(1024 * 1024)}`), 413, 'body_too_large');
  });

  test('as a form is refused by operations that do not accept one', async () => {
    const sent = { as: at.as, raw: 'name=x', headers: FORM };
    expectProblem(await server.call('POST', '/v1/gateways', sent), 415, 'media_type_unsupported');
  });

  test('is documented in both media types', async () => {
    const { paths } = await server.ok('GET', '/openapi.json');
    const { requestBody } = paths['/v1/gateways/{gateway_id}/sessions/introspect'].post;
    const schema = { $ref: '#/components/schemas/IntrospectGatewaySessionInput' };
    expect(requestBody).toEqual({
      required: true,
      content: { 'application/json': { schema }, [FORM['content-type']]: { schema } },
    });
  });
});

test('the method distinguishes this path from the path of a session', async () => {
  const { path, as } = await edge();
  for (const method of ['GET', 'DELETE']) {
    expectProblem(await server.call(method, `${path}/introspect`, { as }), 404, 'gateway_session_not_found');
  }
  const refused = await server.call('PUT', `${path}/introspect`, { as });
  expectProblem(refused, 405, 'method_not_allowed');
  expect(refused.headers.get('allow')).toBe('GET, HEAD, POST, DELETE');
});

test('the log has a line for an introspection, without the token', async () => {
  const at = await edge();
  const { token } = await open(at);
  await introspect(at, token);
  const lines = () => logged.filter((line) => line.includes('introspect_gateway_session') && line.includes(at.path));
  await expect.poll(lines).toHaveLength(1);
  expect(lines().join()).not.toContain(token.split('.')[1]);
});
