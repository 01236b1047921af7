import { decodeJwt, decodeProtectedHeader } from 'jose';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { accountWithKey, joinPlace, keyIn, memberWithToken } from '../support/people.ts';
import { type Answered, type Body, startTestServer, type TestServer } from '../support/server.ts';
import { type DecidingWorld, decidingWorld, ODD_KEY_IDS, unsignedToken } from './sessions.ts';

// AuthZEN Access Request and Approval Profile 1.0, draft 1.

let server: TestServer;
let world: DecidingWorld;
let other: DecidingWorld;
beforeAll(async () => {
  server = await startTestServer({}, { decisionsFreshMs: 0 });
  world = await decidingWorld(server);
  other = await decidingWorld(server);
  return () => server.stop();
});

type Sent = { at?: DecidingWorld; headers?: Record<string, string>; below?: string };

const keyOf = ({ as }: DecidingWorld) => ({ 'X-API-Key': as.key });
const sessionOf = ({ token }: Pick<DecidingWorld, 'token'>) => ({ Authorization: `Bearer ${token}` });

function call(method: string, path: string, body?: unknown, { at = world, headers, below = '' }: Sent = {}) {
  const url = `/v1/gateways/${at.gatewayId}${below}/access/v1/${path}`;
  return server.call(method, url, { headers: headers ?? keyOf(at), ...(body !== undefined && { body }) });
}

const evaluationOf = (at: DecidingWorld, name: string) => ({
  subject: { type: 'service_account', id: at.accountId },
  action: { name: 'call' },
  resource: { type: 'tool', id: name, properties: { provider: at.providerName } },
});

/** A denial. Asks until the observation of the denial is stored, which takes longer on a busy machine. */
async function requestable(evaluation: Body, sent: Sent): Promise<Body> {
  return vi.waitFor(
    async () => {
      const { body } = await call('POST', 'evaluation', evaluation, sent);
      expect(body).toMatchObject({ decision: false, context: { next_action: 'request' } });
      return body;
    },
    { timeout: 60_000, interval: 200 },
  );
}

/** The request about a denial. */
async function denialOf(name: string, sent: Sent = {}): Promise<Body> {
  const evaluation = evaluationOf(sent.at ?? world, name);
  const { evaluation_id, access_request } = (await requestable(evaluation, sent)).context;
  const { expires_at, binding_token } = access_request;
  return { ...evaluation, denial: { evaluation_id, expires_at, binding_token } };
}

/** Requests what is denied, and returns the id of its task. */
async function taskOf(name: string, sent: Sent = {}): Promise<string> {
  const { status, body, text } = await call('POST', 'requests', await denialOf(name, sent), sent);
  expect(status, text).toBe(202);
  return body.task.id;
}

const statusOf = async (taskId: string, sent: Sent = {}): Promise<Body> =>
  (await call('GET', `requests/${taskId}`, undefined, sent)).body;

async function complete(taskId: string, outcome: string): Promise<void> {
  await server.ok('POST', `/v1/operator/tasks/${taskId}/complete`, { as: world.as, body: { outcome } });
}

const apply = () =>
  server.ok('POST', `/v1/providers/${world.providerId}/recommendations/apply`, { as: world.as, body: {} });

function expectProblem({ status, body, headers }: Answered, expected: number, code: string): void {
  expect({ status, body }).toMatchObject({
    status: expected,
    body: { status: expected, code, type: `urn:openid:authzen:access-request:error:${code}` },
  });
  expect(headers.get('content-type')).toContain('application/problem+json');
}

describe('from a denial to a permission', () => {
  test('a session requests what it was denied, an operator approves and applies it, and the same session is permitted', async () => {
    const headers = sessionOf(world);
    const sent = { headers };
    const request = await denialOf('drop_table', sent);
    const content = { context: { business_justification: 'for-people-only' }, requested_access: { emergency: true } };
    const submitted = await call('POST', 'requests', { ...request, ...content, client: { id: 'c' } }, sent);
    const { task } = submitted.body;
    const endpoint = `${server.services.publicUrl}/v1/gateways/${world.gatewayId}/access/v1/requests`;
    expect(submitted).toMatchObject({
      status: 202,
      body: { task: { status: 'pending', status_endpoint: `${endpoint}/${task.id}` } },
    });
    expect(submitted.headers.get('location')).toBe(task.status_endpoint);
    expect(Number(submitted.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(task.links.review).toContain('/console/inbox?');
    expect((await call('POST', 'requests', request, sent)).body).toEqual(submitted.body);

    const polled = await call('GET', `requests/${task.id}`, undefined, sent);
    expect(polled).toMatchObject({ status: 200, body: submitted.body });
    expect(Number(polled.headers.get('retry-after'))).toBeGreaterThan(0);

    await complete(task.id, 'approved');
    const { approval } = (await statusOf(task.id, sent)).result;
    expect(Date.parse(approval.approved_until) - Date.parse(approval.approved_at)).toBe(24 * 3600_000);
    const approved = { task: { status: 'approved' }, result: { mode: 'reevaluate', approval } };
    expect(await call('POST', 'requests', request, sent)).toMatchObject({ status: 201, body: approved });
    const again = { ...evaluationOf(world, 'drop_table'), context: { approval } };
    expect((await call('POST', 'evaluation', again, sent)).body).toMatchObject({
      decision: false,
      context: { next_action: 'retry', retry_after: expect.any(Number) },
    });
    await apply();
    expect((await call('POST', 'evaluation', again, sent)).body.decision).toBe(true);
    expect(await statusOf(task.id, sent)).toMatchObject(approved);

    await server.services.audit.reads.flush('all');
    const path = `/v1/audit-events?operation=request_access&target_id=${task.id}`;
    const { items } = await server.ok('GET', path, { as: world.as });
    expect(items.length).toBeGreaterThan(0);
    expect(items[0]).toMatchObject({
      actor: { type: 'service_account', id: world.accountId, tenantId: world.tenantId },
      scheme: null,
      outcome: 'success',
    });
    expect(JSON.stringify(items)).not.toContain('for-people-only');
  });

  test.each(['rejected', 'ignored'])('what was %s is denied, and cannot be requested again', async (outcome) => {
    const request = await denialOf(outcome);
    const { body } = await call('POST', 'requests', request);
    await complete(body.task.id, outcome);
    expect(await statusOf(body.task.id)).toEqual({ task: { ...body.task, status: 'denied' } });
    expect(await call('POST', 'requests', request)).toMatchObject({
      status: 201,
      body: { task: { status: 'denied' } },
    });
    const { context } = (await call('POST', 'evaluation', evaluationOf(world, outcome))).body;
    expect(context).not.toHaveProperty('access_request');
    expect(context).not.toHaveProperty('next_action');
  });

  test('a task that an operator cancels is cancelled', async () => {
    const id = await taskOf('cancelled');
    await server.ok('POST', `/v1/operator/tasks/${id}/cancel`, { as: world.as, body: {} });
    expect(await statusOf(id)).toMatchObject({ task: { status: 'cancelled' } });
  });

  test('a task that is no longer needed, because its subject was declared, is approved', async () => {
    const id = await taskOf('declared');
    const item = { kind: 'tool', name: 'declared' };
    await server.ok('POST', `/v1/providers/${world.providerId}/inventory`, { as: world.as, body: item });
    expect(await statusOf(id)).toMatchObject({ task: { status: 'approved' }, result: { mode: 'reevaluate' } });
  });

  test('the decision point of a provider takes requests about it', async () => {
    const sent = { below: `/providers/${world.providerName}` };
    const request = await denialOf('of-provider', sent);
    const { body } = await call('POST', 'requests', request, sent);
    expect(body.task.status_endpoint).toContain(`${sent.below}/access/v1/requests/${body.task.id}`);
    expect(await statusOf(body.task.id, sent)).toEqual(body);
    expectProblem(await call('POST', 'requests', request), 400, 'invalid_denial_binding');
  });

  test('each denial of a batch has a token of its own', async () => {
    const first = await denialOf('batch-1');
    const second = await denialOf('batch-2');
    const { subject, action } = first;
    const evaluations = [first, second].map(({ resource }) => ({ resource }));
    const { body } = await call('POST', 'evaluations', { subject, action, evaluations });
    const denials = body.evaluations.map(({ context }: Body) => ({
      binding_token: context.access_request.binding_token,
      expires_at: context.access_request.expires_at,
    }));
    const parts = { subject, action, resource: second.resource };
    expect((await call('POST', 'requests', { ...parts, denial: denials[1] })).status).toBe(202);
    expectProblem(await call('POST', 'requests', { ...parts, denial: denials[0] }), 400, 'invalid_denial_binding');
  });
});

describe('denials that cannot be requested', () => {
  test('what was blocked, what filters lists, and what the gateway does not list', async () => {
    const body = { kind: 'tool', name: 'blocked', status: 'blocked' };
    await server.ok('POST', `/v1/providers/${world.providerId}/inventory`, { as: world.as, body });
    await denialOf('listed');
    const evaluations = [
      evaluationOf(world, 'blocked'),
      { ...evaluationOf(world, 'listed'), action: { name: 'tools/list' } },
      { ...evaluationOf(world, 'listed'), resource: { type: 'tool', id: 'listed', properties: { provider: 'none' } } },
    ];
    const answered = await call('POST', 'evaluations', { evaluations });
    for (const { decision, context } of answered.body.evaluations) {
      expect(decision).toBe(false);
      expect(context).not.toHaveProperty('access_request');
    }
  });

  test('what the mode observe permits', async () => {
    const at = await decidingWorld(server, { gateway: { enforcement: 'observe' } });
    const { context } = (await call('POST', 'evaluation', evaluationOf(at, 'drop'), { at })).body;
    expect(context).toMatchObject({ reason: 'not_in_inventory' });
    expect(context).not.toHaveProperty('access_request');
  });
});

describe('binding tokens', () => {
  const changed: [string, (request: Body) => Body][] = [
    ['another resource', ({ resource, ...rest }) => ({ ...rest, resource: { ...resource, id: 'search' } })],
    ['a further property', ({ resource, ...rest }) => ({ ...rest, resource: { ...resource, more: 1 } })],
    ['another action', (request) => ({ ...request, action: { name: 'use' } })],
    ['another subject', (request) => ({ ...request, subject: { type: 'session', id: world.session.id } })],
    ['a later end', withDenial({ expires_at: '2999-01-01T00:00:00Z' })],
    ['another evaluation', withDenial({ evaluation_id: 'other' })],
    ['no token', withDenial({ binding_token: undefined })],
    ['a text that is no token', withDenial({ binding_token: 'x.y.z' })],
    ['the token of a session', (request) => withDenial({ binding_token: world.token })(request)],
  ];

  test.each(changed)('a request with %s is refused', async (_what, change) => {
    expectProblem(await call('POST', 'requests', change(await denialOf('bound'))), 400, 'invalid_denial_binding');
  });

  test('a token with an id of its key that is no id is refused, and is no failure', async () => {
    for (const kid of ODD_KEY_IDS) {
      const denial = { binding_token: unsignedToken('qm-denial+jwt', kid), expires_at: '2999-01-01T00:00:00Z' };
      const answered = await call('POST', 'requests', { ...evaluationOf(world, 'bound'), denial });
      expectProblem(answered, 400, 'invalid_denial_binding');
    }
  });

  test('the token of another gateway is refused', async () => {
    const request = await denialOf('elsewhere', { at: other });
    expectProblem(await call('POST', 'requests', request), 400, 'invalid_denial_binding');
  });

  test('an expired token is refused', async () => {
    const request = await denialOf('expired');
    server.travel(10 * 60_000 + 1000);
    expectProblem(await call('POST', 'requests', request), 410, 'expired_denial');
  });

  test('an actor may have moved from the subject to the client', async () => {
    const request = await denialOf('acted');
    const subject = { ...request.subject, properties: { act: { sub: 'agent' } } };
    const { body } = await call('POST', 'evaluation', { ...request, subject });
    const { binding_token, expires_at } = body.context.access_request;
    const moved = { ...request, subject: { ...request.subject, properties: {} } };
    const answered = await call('POST', 'requests', { ...moved, denial: { binding_token, expires_at } });
    expect(answered.status).toBe(202);
  });

  test('a token cannot be used as that of a session, and has no values of the request', async () => {
    const { denial } = await denialOf('private-name');
    const token = denial.binding_token;
    const evaluation = evaluationOf(world, 'search');
    for (const [headers, code] of [
      [{ 'X-Quartermaster-Session': token }, 'session_token_invalid'],
      [{ Authorization: `Bearer ${token}` }, 'credentials_invalid'],
    ] as const) {
      const answered = await call('POST', 'evaluation', evaluation, { headers });
      expect(answered).toMatchObject({ status: 401, body: { code } });
    }
    const headers = { Authorization: `Bearer ${token}` };
    const path = `/v1/gateways/${world.gatewayId}`;
    expect((await server.call('GET', `${path}/session`, { headers })).status).toBe(401);
    expect(decodeProtectedHeader(token)).toMatchObject({ alg: 'ES256', typ: 'qm-denial+jwt' });
    expect(JSON.stringify(decodeJwt(token))).not.toContain('private-name');
  });

  test('bundles are refused with a reason', async () => {
    const { subject, action, resource, denial } = await denialOf('bundled');
    const { status, body } = await call('POST', 'requests', { subject, denial, items: [{ action, resource }] });
    expect({ status, body }).toMatchObject({
      status: 400,
      body: { code: 'request_malformed', detail: expect.stringContaining('bundles are not supported') },
    });
  });
});

describe('who may ask', () => {
  test('nobody outside of the tenant, the gateway and the account of the denial', async () => {
    const id = await taskOf('isolated');
    const missing = await call('GET', 'requests/task_missing');
    expectProblem(missing, 404, 'unknown_task');
    const { as, tenantId, providerId } = world;
    const body = { name: 'second', providerIds: [providerId], enforcement: 'enforce' };
    const second = await server.ok('POST', '/v1/gateways', { as, body });
    const colleague = await accountWithKey(server, { tenantId });
    const path = `/v1/gateways/${world.gatewayId}/sessions`;
    const { token } = await server.ok('POST', path, { as: { key: colleague.key } });
    const strangers: Sent[] = [
      { at: other },
      { at: { ...world, gatewayId: second.id } },
      { headers: sessionOf({ token }) },
      { below: '/providers/other' },
    ];
    for (const sent of strangers) {
      const answered = await call('GET', `requests/${id}`, undefined, sent);
      expectProblem(answered, 404, 'unknown_task');
      expect({ ...answered.body, instance: '' }).toEqual({ ...missing.body, instance: '' });
    }
    expect(await call('GET', `requests/${id}`, undefined, { headers: keyOf(other) })).toMatchObject({
      status: 404,
      body: { code: 'gateway_not_found' },
    });
    const request = await denialOf('isolated');
    const colleagues = await call('POST', 'requests', request, { headers: sessionOf({ token }) });
    expectProblem(colleagues, 400, 'invalid_denial_binding');
    expect((await call('POST', 'requests', request, { headers: keyOf(other) })).status).toBe(404);
    const reader = await accountWithKey(server, { tenantId }, ['gateways:read', 'operator_tasks:read']);
    const unscoped = { headers: { 'X-API-Key': reader.key } };
    expect((await call('POST', 'requests', request, unscoped)).status).toBe(403);
    expect((await call('GET', `requests/${id}`, undefined, unscoped)).status).toBe(403);
    expect((await call('GET', `requests/${id}`, undefined, { headers: {} })).status).toBe(401);
  });

  test('a sub-tenant does not reach the requests of its sibling, and the tenant reaches both', async () => {
    const { tenantId, as } = await decidingWorld(server);
    const at = await decidingWorld(server, { place: { tenantId, subTenantId: 'one' } });
    const sibling = await decidingWorld(server, { place: { tenantId, subTenantId: 'two' } });
    const id = await taskOf('drop', { at });
    expectProblem(await call('GET', `requests/${id}`, undefined, { at: sibling }), 404, 'unknown_task');
    const reached = await call('GET', `requests/${id}`, undefined, { at, headers: { 'X-API-Key': as.key } });
    expect(reached).toMatchObject({ status: 200, body: { task: { id, status: 'pending' } } });
  });

  test('each sub-tenant of a user is told its own observation and task, and not those of the other', async () => {
    const { tenantId, as, providerId, providerName } = await decidingWorld(server);
    const one = { tenantId, subTenantId: 'one' };
    const two = { tenantId, subTenantId: 'two' };
    const points = [];
    for (const place of [one, two]) {
      const headers = { 'X-API-Key': (await keyIn(server, place)).key };
      const body = { name: place.subTenantId, ...place, providerIds: [providerId], enforcement: 'enforce' };
      const { id } = await server.ok('POST', '/v1/gateways', { as, body });
      points.push({ place, sent: { at: { ...world, gatewayId: id }, headers } });
    }
    const user = await memberWithToken(server, one, 'viewer');
    await joinPlace(server, user, { place: two, role: 'viewer' });
    const evaluation = {
      subject: { type: 'user', id: user.id },
      action: { name: 'call' },
      resource: { type: 'tool', id: 'drop', properties: { provider: providerName } },
    };
    for (const { place, sent } of points) {
      const { context } = await requestable(evaluation, sent);
      expect(await server.ok('GET', `/v1/runtime-observations/${context.observation_id}`, { as })).toMatchObject(place);
      const { binding_token, expires_at } = context.access_request;
      const answered = await call('POST', 'requests', { ...evaluation, denial: { binding_token, expires_at } }, sent);
      expect(answered.status, answered.text).toBe(202);
      expect(await statusOf(answered.body.task.id, sent)).toEqual(answered.body);
    }
  });
});

/** A change of the members of the denial. */
function withDenial(members: object): (request: Body) => Body {
  return (request) => ({ ...request, denial: { ...request.denial, ...members } });
}
