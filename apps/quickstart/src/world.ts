import { randomBytes } from 'node:crypto';
import {
  createGateway,
  createGatewaySession,
  createProvider,
  createServiceAccount,
  createServiceAccountKey,
  createTenant,
  type CreatedGatewaySession,
  type Gateway,
  type Provider,
  type Scope,
} from '@quartermaster/client';
import type { Client } from '@quartermaster/client/client/index.ts';
import { AGENT } from './agent.ts';
import { clientOf, dataOf } from './calls.ts';

/** The records that the quickstart creates, in a new tenant for each run. */
export type World = {
  url: string;
  tenantId: string;
  /** The platform administrator, who created the tenant. */
  admin: Client;
  /** The operator of the agents, who may read, review and apply, and open sessions for others. */
  operator: Client;
  /** The agent's key, which may only send spans. */
  agentKey: string;
  agentSubject: string;
  provider: Provider;
  gateway: Gateway;
};

const OPERATOR_SCOPES: Scope[] = [
  'gateway_sessions:impersonate',
  'gateway_sessions:write',
  'operator_tasks:read',
  'providers:read',
  'providers:write',
  'recommendations:apply',
  'recommendations:read',
  'runtime_observations:read',
  'runtime_observations:review',
  'traces:read',
];

export async function makeWorld(client: Client, { url, mcpUrl }: { url: string; mcpUrl: string }): Promise<World> {
  const tenantId = `quickstart-${randomBytes(3).toString('hex')}`;
  await dataOf(createTenant({ client, body: { id: tenantId, displayName: 'Quickstart' } }));
  const keyOf = async (id: string, scopes: Scope[]) => {
    await dataOf(createServiceAccount({ client, body: { id, name: id, tenantId } }));
    const key = { path: { service_account_id: id }, query: { tenant_id: tenantId }, body: { scopes } };
    return (await dataOf(createServiceAccountKey({ client, ...key }))).key;
  };
  const agentKey = await keyOf(AGENT, ['traces:write']);
  const operator = clientOf(url, { key: await keyOf('operator', OPERATOR_SCOPES) });
  const declared = { name: 'everything', kind: 'mcp', baseUrl: mcpUrl, tenantId } as const;
  const provider = await dataOf(createProvider({ client, body: declared }));
  const edge = { name: 'edge', providerIds: [provider.id], tenantId };
  const gateway = await dataOf(createGateway({ client, body: edge }));
  const agentSubject = `service_account:${tenantId}/${AGENT}`;
  return { url, tenantId, admin: client, operator, agentKey, agentSubject, provider, gateway };
}

/** A session of the agent at a gateway, which the operator opens for it. */
export async function openSession(
  { operator: client, agentSubject }: World,
  { id }: Pick<Gateway, 'id'>,
): Promise<CreatedGatewaySession> {
  const body = { subject: agentSubject, ttlSeconds: 300 };
  return dataOf(createGatewaySession({ client, path: { gateway_id: id }, body }));
}
