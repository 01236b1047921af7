import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { ROOT } from '../../../src/config.ts';
import { accountWithKey, unique } from '../../support/people.ts';
import { type TestServer, startTestServer } from '../../support/server.ts';
import { type DecidingWorld, decidingWorld } from '../sessions.ts';
import { callTool, type McpSide, outcome, ROWS, send, startMcpSide } from './rows.ts';
import { INSTALLED_PROXIES } from './start.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({}, { decisionsFreshMs: 0 });
  return () => server.stop();
});

/** Asks one point whether a session may use a tool. @returns `allowed`, or the status or reason of the refusal */
type Point = { title: string; ask: (token: string, tool: string) => Promise<string> };

const isComplete = INSTALLED_PROXIES.every(({ start }) => start !== null);

/**
 * The table of docs/enforcement/matrix.md. After a change, `npm run test:one -- proxies/matrix -u` writes it again, on a machine with all
 * three proxies.
 */
test.skipIf(!isComplete)('what each point answers in each situation is as documented', async () => {
  const world = await decidingWorld(server);
  const body = { mcp: { headerChecks: 'trusted' } };
  await server.ok('PUT', `/v1/providers/${world.providerId}`, { as: world.as, body });
  const mcp = await startMcpSide();
  const points = await pointsOf(world, mcp);
  const table: string[][] = [];
  for await (const { situation, token, tool } of situations(world)) {
    const answers: string[] = [];
    for (const { ask } of points) answers.push(await ask(token, tool));
    table.push([situation, ...answers]);
  }
  const requests = ROWS.map(({ row, answer }) => [row, ...INSTALLED_PROXIES.map(() => shown(answer))]);
  const text = [
    '# What each point answers',
    '',
    'A test writes this page: `apps/api/test/gateway-decisions/proxies/matrix.deep.test.ts` asks each point in each situation.',
    'The gateway is in the mode `enforce`. A reason is that of a denial, and 401 is an invalid credential. Hooks and',
    'AuthZEN have the session of the agent as their subject.',
    '',
    ...markdown(['situation', ...points.map(({ title }) => title)], table),
    '',
    'Not run here: Envoy, agentgateway, Traefik, LiteLLM, ToolHive, ContextForge and Cursor themselves. Claude Code and Codex: see their pages.',
    '',
    '## MCP requests through each proxy',
    '',
    '200 and 400 are answers of the MCP server: it did the request, or refused it because its headers differ from its body. The',
    'others are answers of the proxy (`proxies.deep.test.ts`). While the service is away, each answers 5xx.',
    '',
    ...markdown(['request', ...INSTALLED_PROXIES.map(({ name }) => name)], requests),
    '',
  ];
  await expect(text.join('\n')).toMatchFileSnapshot(join(ROOT, 'docs/enforcement/matrix.md'));
  expect(mcp.ran).not.toContain('secret');
});

async function pointsOf(world: DecidingWorld, mcp: McpSide): Promise<Point[]> {
  const { gatewayId, providerName, as } = world;
  const path = `/v1/gateways/${gatewayId}`;
  const at = { quartermaster: new URL(server.url).host, mcpServer: new URL(mcp.url).host, gatewayId, providerName };
  const proxies: Point[] = [];
  for (const { name, start } of INSTALLED_PROXIES) {
    const url = (await start?.(at)) ?? '';
    proxies.push({
      title: name,
      ask: async (token, tool) => shown(await outcome(await send(url, token, callTool(tool)))),
    });
  }
  const bearer = (token: string) => ({ Authorization: `Bearer ${token}` });
  return [
    {
      title: 'forward authentication with a body',
      ask: async (token, tool) =>
        shown(
          await outcome(
            await send(`${server.url}${path}/authorize/${providerName}/mcp`, token, { body: callTool(tool).body }),
          ),
        ),
    },
    ...proxies,
    {
      title: 'guard',
      ask: async (token, tool) => {
        const body = { provider: providerName, kind: 'tool', name: tool };
        const answer = await server.call('POST', `${path}/decisions`, { headers: bearer(token), body });
        return answer.status === 200 ? (answer.body.reason ?? 'allowed') : String(answer.status);
      },
    },
    {
      title: 'hook',
      ask: async (token, tool) => {
        const body = { hook_event_name: 'PreToolUse', tool_name: `mcp__${providerName}__${tool}` };
        const answer = await server.call('POST', `${path}/hooks/claude-code`, { headers: bearer(token), body });
        if (answer.status !== 200) return String(answer.status);
        return answer.body.hookSpecificOutput === undefined ? 'allowed' : 'denied';
      },
    },
    {
      title: 'AuthZEN',
      ask: async (token, tool) => {
        const [, payload = ''] = token.split('.');
        const { jti } = JSON.parse(Buffer.from(payload, 'base64url').toString() || '{}');
        const body = {
          subject: { type: 'session', id: jti, properties: { token } },
          action: { name: 'call' },
          resource: { type: 'tool', id: tool, properties: { provider: providerName } },
        };
        const { decision, context } = await server.ok('POST', `${path}/access/v1/evaluation`, { as, body });
        return decision === true ? 'allowed' : context.reason;
      },
    },
  ];
}

/** Each one sets up its situation, and leaves it when the next one is asked for. */
async function* situations(world: DecidingWorld): AsyncGenerator<{ situation: string; token: string; tool: string }> {
  const { gatewayId, providerId, as } = world;
  const path = `/v1/gateways/${gatewayId}`;
  const provider = `/v1/providers/${providerId}`;
  const open = (body: object = {}, opener: { key: string } = as) =>
    server.ok('POST', `${path}/sessions`, { as: opener, body });
  const { token } = world;
  yield { situation: 'granted', token, tool: 'search' };
  yield { situation: 'not granted', token, tool: 'secret' };
  const item = await server.ok('POST', `${provider}/inventory`, { as, body: { kind: 'tool', name: 'slow' } });
  await server.ok('PUT', `${provider}/inventory/${item.id}`, { as, body: { status: 'blocked' } });
  yield { situation: 'blocked', token, tool: 'slow' };
  await server.ok('POST', `${provider}/inventory`, { as, body: { kind: 'tool', name: 'get_time' } });
  yield { situation: 'approved since, in the same session', token, tool: 'get_time' };
  const granting = await open();
  const [known] = (await server.ok('GET', `${provider}/inventory?name=get_time`, { as })).items;
  await server.ok('PUT', `${provider}/inventory/${known.id}`, { as, body: { status: 'blocked' } });
  yield { situation: 'blocked since, by which the session ended', token: granting.token, tool: 'search' };
  const revoked = await open();
  await server.ok('DELETE', `${path}/sessions/${revoked.id}`, { as });
  yield { situation: 'session revoked', token: revoked.token, tool: 'search' };
  const other = await accountWithKey(server, { tenantId: world.tenantId });
  const ofKey = await open({}, other);
  const keys = `/v1/service-accounts/${other.id}/keys/${other.keyId}`;
  await server.ok('DELETE', keys, { as });
  yield { situation: 'key of the session revoked', token: ofKey.token, tool: 'search' };
  const [head, payload = ''] = token.split('.');
  yield { situation: 'tampered token', token: `${head}.${payload}.AAAA`, tool: 'search' };
  const none = Buffer.from(JSON.stringify({ alg: 'none', typ: 'qm-session+jwt' })).toString('base64url');
  yield { situation: 'token with `alg: none`', token: `${none}.${payload}.`, tool: 'search' };
  yield { situation: "another tenant's token", token: (await decidingWorld(server)).token, tool: 'search' };
  const second = await server.ok('POST', '/v1/gateways', {
    as,
    body: { name: unique('second'), providerIds: [providerId] },
  });
  const there = await server.ok('POST', `/v1/gateways/${second.id}/sessions`, { as, body: {} });
  yield { situation: "another gateway's token", token: there.token, tool: 'search' };
  const { id: otherId } = await server.ok('POST', '/v1/providers', {
    as,
    body: { name: unique('other'), kind: 'mcp' },
  });
  await server.ok('PUT', path, { as, body: { providerIds: [providerId, otherId] } });
  const limited = await open({ providerIds: [otherId] });
  yield { situation: 'session of other providers', token: limited.token, tool: 'search' };
  const spec = { allow: [{ provider: providerId, kind: 'tool', names: ['read_*'] }] };
  const manifest = await server.ok('POST', '/v1/manifests', {
    as,
    body: { kind: 'gateway', name: unique('edge'), spec },
  });
  await server.ok('PUT', path, { as, body: { manifestId: manifest.id } });
  yield { situation: 'the manifest denies', token, tool: 'search' };
  await server.ok('PUT', path, { as, body: { manifestId: null } });
  await server.ok('PUT', provider, { as, body: { status: 'disabled' } });
  yield { situation: 'the provider is disabled', token, tool: 'search' };
  await server.ok('PUT', provider, { as, body: { status: 'active' } });
  server.travel(3_600_000);
  yield { situation: 'expired', token, tool: 'search' };
}

/** `200` is `allowed`, and `403 reason` is the reason. */
function shown(answer: string): string {
  return answer === '200' ? 'allowed' : answer.replace(/^403 /, '');
}

function markdown(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)];
}
