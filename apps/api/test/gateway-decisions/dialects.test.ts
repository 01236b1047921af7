import { beforeAll, describe, expect, test } from 'vitest';
import { accountWithKey, unique } from '../support/people.ts';
import { type Body, type TestServer, startTestServer } from '../support/server.ts';
import { type DecidingWorld, decidingWorld } from './sessions.ts';

let server: TestServer;
let world: DecidingWorld;
let observing: DecidingWorld;
beforeAll(async () => {
  server = await startTestServer({}, { decisionsFreshMs: 0 });
  const items = [
    { kind: 'tool', name: 'search' },
    { kind: 'tool', name: 'file.read' },
    { kind: 'tool', name: 'sub__search' },
    { kind: 'model', name: 'gpt-5' },
    { kind: 'prompt', name: 'greeting' },
    { kind: 'resource', name: 'file:///notes' },
  ];
  const provider = { aliases: [unique('My Server')], baseUrl: 'https://mcp.example.com/mcp' };
  world = await decidingWorld(server, { items, provider });
  observing = await decidingWorld(server, { gateway: { enforcement: 'observe' } });
  return () => server.stop();
});

type Sent = { at?: DecidingWorld; headers?: Record<string, string>; as?: 'key' | 'session' };

function post(path: string, body: unknown, { at = world, as = 'key', headers }: Sent = {}) {
  // The parameter of OPA's path takes slashes, which OpenAPI cannot say.
  const unchecked = /^opa\/v1\/data\/.*\//.test(path);
  const own = as === 'key' ? { 'X-API-Key': at.as.key } : { Authorization: `Bearer ${at.token}` };
  return server.call('POST', `/v1/gateways/${at.gatewayId}/${path}`, { headers: headers ?? own, body, unchecked });
}

const basic = (secret: string) => ({ Authorization: `Basic ${Buffer.from(`any:${secret}`).toString('base64')}` });

/** How many decisions the service has counted, with their outcome. */
async function counted(point: string, at = world): Promise<number> {
  const { values } = await server.services.metrics.decisions.get();
  const { enforcement } = await server.ok('GET', `/v1/gateways/${at.gatewayId}`, { as: at.as });
  const ours = values.filter(({ labels }) => labels.point === point && labels.mode === enforcement);
  return ours.reduce((sum, { value }) => sum + value, 0);
}

describe('AuthZEN Authorization API 1.0', () => {
  const evaluation = (
    at: DecidingWorld = world,
    changes: { type?: string; id?: string; action?: string; subject?: object } = {},
  ) => ({
    subject: changes.subject ?? { type: 'session', id: at.session.id },
    action: { name: changes.action ?? 'call' },
    resource: { type: changes.type ?? 'tool', id: changes.id ?? 'search', properties: { provider: at.providerName } },
  });
  const allowed = { decision: true, context: { reason: null } };
  const denied = (reason: string) => ({ decision: false, context: { reason } });

  test.each([
    ['a session that may (6.1)', () => evaluation(), allowed],
    ['a session that may not (6.2)', () => evaluation(world, { id: 'drop' }), denied('not_in_inventory')],
    [
      'further members, as newer versions may have',
      () => ({ ...evaluation(), context: { time: '2024-10-26T01:22-07:00' }, more: 1 }),
      allowed,
    ],
    [
      'the token of the session',
      () =>
        evaluation(world, { subject: { type: 'session', id: world.session.id, properties: { token: world.token } } }),
      allowed,
    ],
    [
      'the token of another gateway',
      () =>
        evaluation(world, {
          subject: { type: 'session', id: world.session.id, properties: { token: observing.token } },
        }),
      denied('subject_unknown'),
    ],
    [
      'a session of another gateway',
      () => evaluation(world, { subject: { type: 'session', id: observing.session.id } }),
      denied('subject_unknown'),
    ],
    [
      'a service account without a session',
      () => evaluation(world, { subject: { type: 'service_account', id: world.accountId } }),
      allowed,
    ],
    [
      'the same with its tenant',
      () => evaluation(world, { subject: { type: 'service_account', id: `${world.tenantId}/${world.accountId}` } }),
      allowed,
    ],
    [
      'a service account of another tenant',
      () =>
        evaluation(world, { subject: { type: 'service_account', id: `${observing.tenantId}/${observing.accountId}` } }),
      denied('subject_unknown'),
    ],
    [
      'a user who does not exist',
      () => evaluation(world, { subject: { type: 'user', id: 'alice@acmecorp.com' } }),
      denied('subject_unknown'),
    ],
    [
      'a subject of an unknown type',
      () => evaluation(world, { subject: { type: 'robot', id: 'x' } }),
      denied('subject_unknown'),
    ],
    ['an unknown action', () => evaluation(world, { action: 'can_read' }), denied('action_unknown')],
    ['an unknown type of resource', () => evaluation(world, { type: 'account' }), denied('resource_unknown')],
    ['a method of MCP', () => evaluation(world, { action: 'tools/call' }), allowed],
    ['a list', () => evaluation(world, { action: 'list', id: 'drop' }), denied('not_in_inventory')],
    ['a model', () => evaluation(world, { type: 'model', id: 'gpt-5', action: 'use' }), allowed],
    [
      'no provider',
      () => ({ ...evaluation(), resource: { type: 'tool', id: 'search' } }),
      denied('provider_not_listed'),
    ],
  ])('evaluates %s', async (_what, body, expected) => {
    expect(await post('access/v1/evaluation', body())).toMatchObject({ status: 200, body: expected });
  });

  test('says where a person can review a denial, and which observation counts it', async () => {
    const { body } = await post('access/v1/evaluation', evaluation(world, { id: 'reviewed' }));
    expect(body.context).toMatchObject({ mode: 'enforce', observation_id: expect.stringMatching(/^obs_/) });
    expect(body.context.review_url).toContain('/console/inbox?');
  });

  test('allows in the mode observe, and says why it would not; an invalid subject is denied', async () => {
    const sent = { at: observing };
    const body = evaluation(observing, { id: 'drop' });
    expect((await post('access/v1/evaluation', body, sent)).body).toMatchObject({
      decision: true,
      context: { reason: 'not_in_inventory', mode: 'observe' },
    });
    const subject = { type: 'session', id: 'ses_unknown' };
    expect((await post('access/v1/evaluation', evaluation(observing, { subject }), sent)).body.decision).toBe(false);
  });

  test('does not count lists', async () => {
    const before = await counted('authzen');
    await post('access/v1/evaluation', evaluation(world, { action: 'tools/list', id: 'drop' }));
    expect(await counted('authzen')).toBe(before);
    await post('access/v1/evaluation', evaluation(world, { id: 'drop' }));
    expect(await counted('authzen')).toBe(before + 1);
  });

  test.each([
    [{ action: { name: 'call' }, resource: { type: 'tool', id: 'search' } }],
    [{ subject: { type: 'session' }, action: { name: 'call' }, resource: { type: 'tool', id: 'search' } }],
    ['{}'],
  ])('answers 400 to a malformed request: %j', async (body) => {
    expect(await post('access/v1/evaluation', body)).toMatchObject({
      status: 400,
      body: { code: 'request_malformed' },
    });
  });

  const resources = (...names: string[]) =>
    names.map((id) => ({ resource: { type: 'tool', id, properties: { provider: world.providerName } } }));
  const names = ['search', 'drop', 'file.read'];
  test.each([
    ['execute_all', [true, false, true]],
    ['deny_on_first_deny', [true, false]],
    ['permit_on_first_permit', [true]],
    [undefined, [true, false, true]],
  ])('evaluates several with the semantic %s (7.1.2.1)', async (evaluations_semantic, decisions) => {
    const { subject, action } = evaluation();
    const options = evaluations_semantic && { options: { evaluations_semantic } };
    const { body } = await post('access/v1/evaluations', {
      subject,
      action,
      ...options,
      evaluations: resources(...names),
    });
    expect(body.evaluations.map(({ decision }: Body) => decision)).toEqual(decisions);
  });

  test('an evaluation replaces the defaults, and an incomplete one is denied alone (7.1.1)', async () => {
    const { subject } = evaluation();
    const [search] = resources('search');
    const evaluations = [search, { ...search, action: { name: 'can_edit' } }, { action: { name: 'call' } }];
    const { body } = await post('access/v1/evaluations', { subject, action: { name: 'call' }, evaluations });
    expect(body.evaluations).toMatchObject([allowed, denied('action_unknown'), denied('request_incomplete')]);
    expect((await post('access/v1/evaluations', evaluation())).body).toMatchObject(allowed);
  });

  test('the path may name the provider, as for the profile for MCP, which names no server', async () => {
    const { subject, action } = evaluation();
    const body = { subject, action, resource: { type: 'tool', id: 'search', properties: { provider: 'other' } } };
    const path = `providers/${world.providerName}/access/v1`;
    expect((await post(`${path}/evaluation`, body)).body).toMatchObject(allowed);
    expect((await post(`${path}/evaluations`, { ...body, evaluations: [{}] })).body.evaluations).toMatchObject([
      allowed,
    ]);
    expect((await post('providers/other/access/v1/evaluation', body)).body).toMatchObject(
      denied('provider_not_listed'),
    );
  });

  test('describes each gateway and provider as a policy decision point, and echoes the request id (9, 10.1.6)', async () => {
    for (const path of [`/v1/gateways/${world.gatewayId}`, '/v1/gateways/any/providers/github']) {
      const point = `${server.services.publicUrl}${path}`;
      const { status, body } = await server.call('GET', `/.well-known/authzen-configuration${path}`);
      expect({ status, body }).toEqual({
        status: 200,
        body: {
          policy_decision_point: point,
          access_evaluation_endpoint: `${point}/access/v1/evaluation`,
          access_evaluations_endpoint: `${point}/access/v1/evaluations`,
          access_request_endpoint: `${point}/access/v1/requests`,
          jwks_uri: `${server.services.publicUrl}/.well-known/jwks.json`,
          capabilities: ['urn:openid:authzen:capability:access-request'],
        },
      });
    }
    const headers = { 'X-API-Key': world.as.key, 'X-Request-ID': 'bfe9eb29-ab87-4ca3-be83-a1d5d8305716' };
    const answer = await post('access/v1/evaluation', evaluation(), { headers });
    expect(answer.headers.get('x-request-id')).toBe(headers['X-Request-ID']);
  });

  test('a session asks only about itself', async () => {
    const sent = { as: 'session' } as const;
    expect((await post('access/v1/evaluation', evaluation(), sent)).body).toMatchObject(allowed);
    const itself = { type: 'service_account', id: world.accountId };
    expect((await post('access/v1/evaluation', evaluation(world, { subject: itself }), sent)).body).toMatchObject(
      allowed,
    );
    const other = await accountWithKey(server, { tenantId: world.tenantId });
    const subject = { type: 'service_account', id: other.id };
    expect((await post('access/v1/evaluation', evaluation(world, { subject }), sent)).body).toMatchObject(
      denied('subject_unknown'),
    );
  });
});

describe('Open Policy Agent', () => {
  const git = { tool: { name: 'search' }, args: { args: ['push', 'origin', 'main'] }, messages: [] };
  const payload = { user: 'none', context: {}, request_ip: 'none', headers: {}, mode: 'input' };
  test.each([
    ['plain', 'decision', () => ({ provider: world.providerName, kind: 'prompt', name: 'greeting' }), true],
    ['plain, denied', 'decision', () => ({ provider: world.providerName, name: 'drop' }), false],
    ['@ai-sdk/policy-opa, the provider in the path', '<provider>/decision', () => git, true],
    [
      '@ai-sdk/policy-opa, the provider in the context',
      'decision',
      () => ({ ...git, runtimeContext: { provider: world.providerName } }),
      true,
    ],
    ['@ai-sdk/policy-opa, denied', '<provider>/decision', () => ({ ...git, tool: { name: 'git' } }), false],
    [
      'the provider of the path comes first',
      'other/decision',
      () => ({ provider: world.providerName, name: 'search' }),
      false,
    ],
    [
      'ContextForge, a tool',
      '<provider>/allow',
      () => ({ kind: 'tool_pre_invoke', payload: { name: 'search', args: {} }, ...payload }),
      true,
    ],
    [
      'ContextForge, a tool that is denied',
      '<provider>/allow',
      () => ({ kind: 'tool_pre_invoke', payload: { name: 'drop', args: {} }, ...payload }),
      false,
    ],
    [
      'ContextForge, a prompt',
      '<provider>/allow',
      () => ({ kind: 'prompt_pre_fetch', payload: { name: 'greeting' }, ...payload }),
      true,
    ],
    [
      'ContextForge, a resource',
      '<provider>/allow',
      () => ({ kind: 'resource_pre_fetch', payload: { uri: 'file:///notes' }, ...payload }),
      true,
    ],
    [
      'ContextForge, a result',
      '<provider>/allow',
      () => ({ kind: 'tool_post_invoke', payload: { text: ['x'] }, ...payload, mode: 'output' }),
      true,
    ],
    ['nothing to decide', '<provider>/decision', () => ({}), false],
    ['a longer path', 'a/b/c', () => git, false],
  ])('%s', async (_what, path, input, allow) => {
    const { status, body } = await post(`opa/v1/data/${path.replace('<provider>', world.providerName)}`, {
      input: input(),
    });
    expect({ status, body }).toMatchObject({
      status: 200,
      body: { result: { allow, decision: allow ? 'allow' : 'deny' } },
    });
    expect(body.result.deny).toHaveLength(allow ? 0 : 1);
  });

  test('answers a refused credential or body with a denial, because clients take errors as permission', async () => {
    const path = `opa/v1/data/${world.providerName}/decision`;
    for (const headers of [{}, { 'X-API-Key': 'qm_key_x' }, { Authorization: `Bearer ${observing.token}` }]) {
      const { status, body } = await post(path, { input: git }, { headers });
      expect({ status, body }).toMatchObject({ status: 200, body: { result: { allow: false, decision: 'deny' } } });
    }
    expect((await post(path, [])).body.result.allow).toBe(false);
  });
});

describe('ToolHive', () => {
  test.each([
    ['mcp:tool:call', 'tool:search', true],
    ['mcp:tool:call', 'tool:drop', false],
    ['mcp:prompt:get', 'prompt:greeting', true],
    ['mcp:resource:read', 'resource:file:///notes', true],
    ['mcp:tool:list', 'tool:search', true],
    ['mcp:tool:call', 'prompt:greeting', false],
    ['mcp:tool:destroy', 'tool:search', false],
  ])('%s of %s', async (operation, resource, allow) => {
    const body = {
      principal: { sub: 'user@example.com', mroles: [] },
      operation,
      resource: `mrn:mcp:${world.providerName}:${resource}`,
      context: {},
    };
    expect((await post('toolhive/decision', body)).body).toEqual({ allow });
    // ToolHive sends what the URL has: user and password.
    expect((await post('toolhive/decision?probe=true', body, { headers: basic(world.as.key) })).body).toEqual({
      allow,
    });
  });
});

describe('hooks of coding agents', () => {
  const hook = (agent: string, body: object, query = '') =>
    post(`hooks/${agent}${query}`, { session_id: 's', cwd: '/', tool_input: {}, ...body }, { as: 'session' });
  const use = (tool: string) => ({ hook_event_name: 'PreToolUse', tool_name: tool });
  const denied = (agent: string) =>
    agent === 'cursor'
      ? { permission: 'deny', user_message: expect.any(String), agent_message: expect.any(String) }
      : {
          hookSpecificOutput: {
            hookEventName: 'PreToolUse',
            permissionDecision: 'deny',
            permissionDecisionReason: expect.stringContaining('Denied'),
          },
        };

  test.each([
    ['claude-code', 'a tool that is granted', () => use(`mcp__${world.providerName}__search`), true],
    ['claude-code', 'a tool that is not granted', () => use(`mcp__${world.providerName}__drop`), false],
    ['claude-code', 'a tool that Claude Code renamed', () => use(`mcp__${world.providerName}__file_read`), true],
    ['claude-code', 'a server that the gateway does not list', () => use('mcp__other__search'), false],
    ['claude-code', 'a tool of the agent itself', () => use('Bash'), true],
    ['claude-code', 'another event', () => ({ hook_event_name: 'PostToolUse', tool_name: 'mcp__other__search' }), true],
    ['codex', 'a tool that is granted', () => use(`mcp__${world.providerName}__search`), true],
    ['codex', 'a tool that is not granted', () => use(`mcp__${world.providerName}__drop`), false],
    [
      'cursor',
      'a tool beside the URL of its server',
      () => ({ hook_event_name: 'beforeMCPExecution', tool_name: 'search', url: 'https://mcp.example.com/mcp' }),
      true,
    ],
    [
      'cursor',
      'the same, not granted',
      () => ({ hook_event_name: 'beforeMCPExecution', tool_name: 'drop', url: 'https://mcp.example.com/mcp' }),
      false,
    ],
    [
      'cursor',
      'a tool with its server',
      () => ({ hook_event_name: 'beforeMCPExecution', tool_name: `MCP:${world.providerName}:search` }),
      true,
    ],
    [
      'cursor',
      'a server that is a command',
      () => ({ hook_event_name: 'beforeMCPExecution', tool_name: 'search', command: 'npx x' }),
      false,
    ],
    ['cursor', 'a command in the shell', () => ({ hook_event_name: 'beforeShellExecution', command: 'ls' }), true],
  ])('%s: %s', async (agent, _what, body, allowed) => {
    expect(await hook(agent, body())).toMatchObject({ status: 200 });
    expect((await hook(agent, body())).body).toEqual(allowed ? {} : denied(agent));
  });

  test('decides the tools of the agent itself at the provider of `builtins`', async () => {
    const query = `?builtins=${world.providerName}`;
    expect((await hook('claude-code', use('Bash'), query)).body).toEqual(denied('claude-code'));
    expect((await hook('claude-code', use('search'), query)).body).toEqual({});
  });

  test('regression: a name that Claude Code may have made of a tool that is denied is not the tool that is granted', async () => {
    const items = ['file.drop', 'file/drop'].map((name) => ({ kind: 'tool', name }));
    const at = await decidingWorld(server, { items });
    const spec = { allow: [{ provider: at.providerName, kind: 'tool', names: ['file.drop'] }] };
    const manifest = { kind: 'gateway', name: unique('edge'), spec };
    const { id } = await server.ok('POST', '/v1/manifests', { as: at.as, body: manifest });
    await server.ok('PUT', `/v1/gateways/${at.gatewayId}`, { as: at.as, body: { manifestId: id } });
    const body = use(`mcp__${at.providerName}__file_drop`);
    expect((await post('hooks/claude-code', body, { at, as: 'session' })).body).toEqual(denied('claude-code'));
  });

  test('regression: a name that can be read as tools of two servers is permitted only if both are', async () => {
    const { as, providerName, gatewayId } = world;
    const ask = async (tool: string) => (await hook('claude-code', use(`mcp__${providerName}__${tool}`))).body;
    expect(await ask('sub__search')).toEqual({});
    const body = { name: `${providerName}__sub`, kind: 'mcp' };
    const { id } = await server.ok('POST', '/v1/providers', { as, body });
    await server.ok('PUT', `/v1/gateways/${gatewayId}`, { as, body: { providerIds: [world.providerId, id] } });
    expect(await ask('sub__search')).toEqual(denied('claude-code'));
    const item = { kind: 'tool', name: 'search' };
    await server.ok('POST', `/v1/providers/${id}/inventory`, { as, body: item });
    expect(await ask('sub__search')).toEqual({});
  });

  test('regression: a name of a megabyte is not taken apart', async () => {
    const started = performance.now();
    const body = use(`mcp${'__a'.repeat(300_000)}`);
    expect((await hook('claude-code', body)).body).toEqual(denied('claude-code'));
    // Comparing each beginning of the name would take minutes.
    expect(performance.now() - started).toBeLessThan(10_000);
  });

  test.each([
    ['claude-code', 'PreToolUse'],
    ['cursor', 'beforeMCPExecution'],
  ])('regression: a hook of %s without a name of a tool is no permission', async (agent, hook_event_name) => {
    expect(await hook(agent, { hook_event_name, toolName: 'mcp__other__drop' })).toMatchObject({
      status: 400,
      body: { code: 'request_malformed' },
    });
  });

  test('regression: an id of a use that was counted hides no use of another tool', async () => {
    const before = await counted('hook');
    const tool_use_id = unique('toolu');
    for (const tool of ['drop', 'destroy'])
      await hook('claude-code', { ...use(`mcp__${world.providerName}__${tool}`), tool_use_id });
    expect(await counted('hook')).toBe(before + 2);
  });

  test('counts a use once that two hooks ask about', async () => {
    const before = await counted('hook');
    const body = { ...use(`mcp__${world.providerName}__drop`), tool_use_id: unique('toolu') };
    for (const agent of ['claude-code', 'claude-code']) expect((await hook(agent, body)).body).not.toEqual({});
    expect(await counted('hook')).toBe(before + 1);
  });
});

describe('LiteLLM', () => {
  const sent = { texts: ['hi'], request_data: { user_api_key_hash: 'x' }, litellm_call_id: '1', tools: null };
  const none = { action: 'NONE', blocked_reason: null };
  const blocked = { action: 'BLOCKED', blocked_reason: expect.stringContaining('Denied') };
  test.each([
    ['the provider in front of the model', '', () => `${world.providerName}/gpt-5`, none],
    ['a model that is not granted', '', () => `${world.providerName}/gpt-4`, blocked],
    ['no provider', '', () => 'gpt-5', blocked],
    ['the provider in the path', 'providers/<provider>/', () => 'gpt-5', none],
    ['no model', 'providers/<provider>/', () => null, blocked],
  ])('%s', async (_what, prefix, model, expected) => {
    const path = `${prefix.replace('<provider>', world.providerName)}litellm/beta/litellm_basic_guardrail_api`;
    expect((await post(path, { ...sent, input_type: 'request', model: model() })).body).toEqual(expected);
  });

  test('a response has nothing to decide', async () => {
    const body = { ...sent, input_type: 'response', model: 'other' };
    expect((await post('litellm/beta/litellm_basic_guardrail_api', body)).body).toEqual(none);
  });
});

describe('credentials', () => {
  const path = 'toolhive/decision';
  const body = () => ({ operation: 'mcp:tool:call', resource: `mrn:mcp:${world.providerName}:tool:search` });

  test.each([
    ['an API key', () => ({ 'X-API-Key': world.as.key })],
    ['an API key as a Bearer token', () => ({ Authorization: `Bearer ${world.as.key}` })],
    ['an API key as the password of a URL', () => basic(world.as.key)],
    ['the token of a session', () => ({ 'X-Quartermaster-Session': world.token })],
    ['the token of a session as the password of a URL', () => basic(world.token)],
  ])('accepts %s', async (_what, headers) => {
    expect(await post(path, body(), { headers: headers() })).toMatchObject({ status: 200, body: { allow: true } });
  });

  test('refuses keys without the scope, keys and tokens of others, and no credential', async () => {
    const { tenantId } = world;
    const evaluator = await accountWithKey(server, { tenantId }, ['gateway_sessions:evaluate']);
    const reader = await accountWithKey(server, { tenantId }, ['gateways:read']);
    const refusals: [object, number, string][] = [
      [{ 'X-API-Key': reader.key }, 403, 'scope_missing'],
      [{ 'X-API-Key': observing.as.key }, 404, 'gateway_not_found'],
      [{ Authorization: `Bearer ${observing.token}` }, 401, 'session_token_invalid'],
      [basic('wrong'), 401, 'credentials_invalid'],
      [{}, 401, 'credentials_missing'],
    ];
    for (const [headers, status, code] of refusals) {
      expect(await post(path, body(), { headers: { ...headers } })).toMatchObject({ status, body: { code } });
    }
    expect(await post(path, body(), { headers: { 'X-API-Key': evaluator.key } })).toMatchObject({ status: 200 });
  });

  test('refuses a gateway that is disabled, and other methods', async () => {
    const { gatewayId, as, providerName } = await decidingWorld(server);
    await server.ok('PUT', `/v1/gateways/${gatewayId}`, { as, body: { status: 'disabled' } });
    const asked = { operation: 'mcp:tool:call', resource: `mrn:mcp:${providerName}:tool:search` };
    const answer = await server.call('POST', `/v1/gateways/${gatewayId}/${path}`, { as, body: asked });
    expect(answer).toMatchObject({ status: 409, body: { code: 'gateway_not_active' } });
    const got = await server.call('GET', `/v1/gateways/${gatewayId}/${path}`, { as, unchecked: true });
    expect(got).toMatchObject({ status: 405, body: { code: 'method_not_allowed' } });
  });
});
