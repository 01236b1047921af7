import { type DecidingWorld, decidingWorld } from '../gateway-decisions/sessions.ts';
import type { Peer } from '../inventory-sync/peers.ts';
import type { TestServer } from '../support/server.ts';

export type ProxiedWorld = DecidingWorld & {
  /** The address of the provider at the proxy. */
  url: string;
};

/** A gateway that proxies the MCP server of a provider, with a credential `upstream-credential`. */
export async function proxiedWorld(
  server: TestServer,
  peer: Pick<Peer, 'url'>,
  options: Parameters<typeof decidingWorld>[1] = {},
): Promise<ProxiedWorld> {
  const world = await decidingWorld(server, {
    ...options,
    provider: { baseUrl: peer.url, ...options.provider },
    gateway: { mcpProxy: 'on', ...options.gateway },
  });
  const credential = { secret: CREDENTIAL };
  await server.ok('PUT', `/v1/providers/${world.providerId}/credential`, { as: world.as, body: credential });
  return { ...world, url: `${server.url}/v1/gateways/${world.gatewayId}/mcp/${world.providerName}` };
}

/** What the MCP server gets, and the agent must not. */
export const CREDENTIAL = 'upstream-credential-0123456789';

type Sent = { method?: string; headers?: Record<string, string>; body?: unknown; text?: string; signal?: AbortSignal };

/** Not by `server.call`, which compares answers with the document: the answers are those of MCP. */
export function send({ url, token }: ProxiedWorld, { method = 'POST', headers, body, text, signal }: Sent = {}) {
  const sent = text ?? (body === undefined ? undefined : JSON.stringify(body));
  return fetch(url, {
    method,
    headers: {
      Authorization: `Bearer ${token}`,
      Accept: 'application/json, text/event-stream',
      ...(sent !== undefined && { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(sent !== undefined && { body: sent }),
    ...(signal && { signal }),
  });
}

/** Whether a read ends as it should, or because the connection broke. */
export const outcome = (reading: Promise<unknown>) =>
  reading.then(
    () => 'ended',
    () => 'broken',
  );

export const call = (name: string, id: number | string = 1) => {
  return { jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: {} } };
};

export const MODERN = '2026-07-28';

/** A message of revision 2026-07-28, with its headers. */
export function modern(method: string, params: Record<string, unknown> = {}) {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': MODERN,
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const name = params['name'] ?? params['uri'];
  return {
    headers: {
      'MCP-Protocol-Version': MODERN,
      'Mcp-Method': method,
      ...(typeof name === 'string' && { 'Mcp-Name': name }),
    },
    body: { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } },
  };
}
