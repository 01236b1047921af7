import { requestBytes } from '../load/plan.ts';
import { callerAt } from './caller.ts';
import type { World } from './world.ts';

/** The revision of MCP that has the name of a tool in a header. */
const REVISION = '2026-07-28';

/** A gateway that decides about an MCP server, and a session at it. */
export type DecidingGateway = { id: string; provider: string; token: string };

/** An MCP server with many tools, behind a gateway that enforces and one that observes; and a small gateway of another tenant. */
export type Deciding = {
  names: string[];
  enforcing: DecidingGateway;
  observing: DecidingGateway;
  other: DecidingGateway;
};

const TOGETHER = 16;

/** Creates the gateways through the API. @param tools how many the MCP server has */
export async function makeDeciding(
  port: number,
  world: World,
  { tools, mcpServerUrl }: { tools: number; mcpServerUrl: string },
): Promise<Deciding> {
  const names = Array.from({ length: tools }, (_, index) => `tool-${String(index).padStart(4, '0')}`);
  const [otherKey = ''] = world.tenantKeys;
  const providerId = await makeProvider(port, world.key, { names, mcpServerUrl });
  const otherProviderId = await makeProvider(port, otherKey, { names: names.slice(0, 10), mcpServerUrl });
  return {
    names,
    enforcing: await makeGateway(port, world.key, { name: 'enforcing', providerId, enforcement: 'enforce' }),
    observing: await makeGateway(port, world.key, { name: 'observing', providerId, enforcement: 'observe' }),
    other: await makeGateway(port, otherKey, { name: 'other', providerId: otherProviderId, enforcement: 'enforce' }),
  };
}

async function makeProvider(
  port: number,
  key: string,
  { names, mcpServerUrl }: { names: readonly string[]; mcpServerUrl: string },
): Promise<string> {
  const caller = callerAt(port, key);
  const provider = { name: 'tools', kind: 'mcp', baseUrl: mcpServerUrl, status: 'active' };
  const { id } = (await caller.post('/v1/providers', provider)) as { id: string };
  await caller.put(`/v1/providers/${id}`, { mcp: { headerChecks: 'trusted' } });
  for (let at = 0; at < names.length; at += TOGETHER) {
    const some = names.slice(at, at + TOGETHER);
    await Promise.all(some.map((name) => caller.post(`/v1/providers/${id}/inventory`, { kind: 'tool', name })));
  }
  return id;
}

async function makeGateway(
  port: number,
  key: string,
  { name, providerId, enforcement }: { name: string; providerId: string; enforcement: string },
): Promise<DecidingGateway> {
  const caller = callerAt(port, key);
  const gateway = { name, providerIds: [providerId], enforcement, mcpProxy: 'on' };
  const { id } = (await caller.post('/v1/gateways', gateway)) as { id: string };
  const { token } = (await caller.post(`/v1/gateways/${id}/sessions`, {})) as { token: string };
  return { id, provider: 'tools', token };
}

/** What a reverse proxy asks before it passes on a call of a tool. */
export function forwardAuth({ id, provider, token }: DecidingGateway, tool: string) {
  return {
    method: 'GET',
    path: `/v1/gateways/${id}/authorize/${provider}/mcp`,
    headers: { Authorization: `Bearer ${token}`, 'X-Original-Method': 'POST', ...toolHeaders(tool) },
  };
}

/** What a guard asks. */
export function question({ id, provider, token }: DecidingGateway, name: string): Buffer {
  return requestBytes({
    method: 'POST',
    path: `/v1/gateways/${id}/decisions`,
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ provider, kind: 'tool', name }),
  });
}

/** A call of a tool, as an agent sends it to an MCP server or to what is before it. */
export function toolCall(path: string, token: string, tool: string): Buffer {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': REVISION,
    'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const params = { name: tool, arguments: { query: 'invoices of November' }, _meta: meta };
  return requestBytes({
    method: 'POST',
    path,
    headers: {
      Authorization: `Bearer ${token}`,
      Accept: 'application/json, text/event-stream',
      'Content-Type': 'application/json',
      ...toolHeaders(tool),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
  });
}

function toolHeaders(tool: string): Record<string, string> {
  return { 'MCP-Protocol-Version': REVISION, 'Mcp-Method': 'tools/call', 'Mcp-Name': tool };
}
