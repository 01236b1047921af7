import { expect } from 'vitest';
import { accountWithKey } from '../support/people.ts';
import type { Body, TestServer } from '../support/server.ts';
import { all } from '../telemetry/traces/sending.ts';

/** A provider as a test declares it. */
export type Declared = {
  name: string;
  aliases?: string[];
  kind?: string;
  baseUrl?: string;
  subTenantId?: string;
  tools?: string[];
  models?: string[];
  available?: { kind: string; name: string }[];
  blocked?: { kind: string; name: string }[];
  status?: string;
};

/** An MCP server with a blocked tool. */
export const TICKETS: Declared = {
  name: 'tickets',
  kind: 'mcp',
  baseUrl: 'https://mcp.example.com/mcp',
  blocked: [{ kind: 'tool', name: 'delete_ticket' }],
};

/** Declares a provider with its inventory, as the administrator. Returns its id. */
export async function declare(
  server: TestServer,
  tenantId: string,
  { tools = [], models = [], available = [], blocked = [], subTenantId, ...provider }: Declared,
): Promise<string> {
  // Creating an account also creates its tenant and sub-tenant.
  await accountWithKey(server, { tenantId, subTenantId });
  const body = { kind: 'other', tenantId, subTenantId, ...provider };
  const { id } = await server.ok('POST', '/v1/providers', { as: server.admin, body });
  const items = [
    ...tools.map((name) => ({ kind: 'tool', name })),
    ...models.map((name) => ({ kind: 'model', name })),
    ...available,
    ...blocked.map((item) => ({ ...item, status: 'blocked' })),
  ];
  for (const item of items) await server.ok('POST', `/v1/providers/${id}/inventory`, { as: server.admin, body: item });
  return id;
}

/** `provider: kind name xoccurrences` of all observations, sorted. Discovered providers have a `?` after their name. */
export async function observedIn(server: TestServer, tenantId: string): Promise<string[]> {
  const providers = await all(server, `/v1/providers?tenant_id=${tenantId}`, server.admin);
  const lines = providers.map(async (provider: Body) => {
    if (provider.status === 'discovered') expect(provider.baseUrl).toBeNull();
    const mark = provider.status === 'discovered' ? '?' : '';
    const at = provider.subTenantId === null ? '' : `@${provider.subTenantId}`;
    const observations = await all(server, `/v1/providers/${provider.id}/observations`, server.admin);
    return observations.map((one) => `${provider.name}${mark}${at}: ${one.kind} ${one.name} x${one.occurrences}`);
  });
  return (await Promise.all(lines)).flat().toSorted();
}
