import { isOperation, type Operation } from '@quartermaster/contracts/operation.ts';
import { type Scope, ScopeSchema } from '@quartermaster/contracts/scopes.ts';
import { procedures } from '../../src/router.ts';
import { accountWithKey, unique } from '../support/people.ts';
import type { TestServer } from '../support/server.ts';

/** The owner's place, and where strangers stand. */
export const OWNER = { tenantId: 'tenant-a', subTenantId: 'sub-a1' };
const SIBLING = { tenantId: 'tenant-a', subTenantId: 'sub-a2' };
const OTHER = { tenantId: 'tenant-b' };

export type Input = { path?: Record<string, string>; query?: Record<string, unknown>; body?: unknown };

/** An operation, and the tRPC path of its procedure. */
export type Served = { operation: Operation; procedure: string; type: 'query' | 'mutation' };

/** Every operation that the router serves. */
export const SERVED: Served[] = Object.entries(procedures).flatMap(([procedure, { _def }]) => {
  const { operation } = (_def.meta ?? {}) as { operation?: unknown };
  return isOperation(operation) ? [{ operation, procedure, type: _def.type as Served['type'] }] : [];
});

/** The keys of the cells: who tries what is not theirs, or with a credential that does not do. */
export type Strangers = { otherTenant: string; sibling: string; revoked: string; disabled: string };

export async function makeStrangers(server: TestServer): Promise<Strangers> {
  // Names a tenant and sub-tenant that do not exist: a platform administrator makes them so.
  const otherTenant = await accountWithKey(server, OTHER);
  const sibling = await accountWithKey(server, SIBLING);
  const revoked = await accountWithKey(server, OWNER);
  const { id, keyId } = revoked;
  await server.ok('DELETE', `/v1/service-accounts/${id}/keys/${keyId}?tenant_id=${OWNER.tenantId}`, {
    as: server.admin,
  });
  const disabled = await accountWithKey(server, OWNER);
  await server.ok('POST', `/v1/service-accounts/${disabled.id}/disable?tenant_id=${OWNER.tenantId}`, {
    as: server.admin,
  });
  return { otherTenant: otherTenant.key, sibling: sibling.key, revoked: revoked.key, disabled: disabled.key };
}

const keys = new Map<string, string>();

/** A key in a place with exactly these scopes; the same for the same question. */
export async function keyWith(server: TestServer, place: { tenantId: string; subTenantId?: string }, scopes: Scope[]) {
  const name = JSON.stringify([place, scopes]);
  const key = keys.get(name) ?? (await accountWithKey(server, place, scopes)).key;
  keys.set(name, key);
  return key;
}

/** Everything but one scope. */
export function allScopesBut(scope: Scope): Scope[] {
  return ScopeSchema.options.filter((option) => option !== '*' && option !== scope);
}

type Maker = (server: TestServer, made: Record<string, string>) => Promise<string>;

async function create(server: TestServer, path: string, body: object): Promise<Record<string, string>> {
  return server.ok('POST', path, { as: server.admin, body });
}

/** One unknown model, seen at a provider that nobody declared. */
async function observed(server: TestServer): Promise<{ providerId: string; name: string; traceId: string }> {
  const key = await keyWith(server, OWNER, ['traces:write']);
  const provider = unique('provider');
  const traceId = unique('').replace('-', '').padStart(32, '1');
  const attribute = (name: string, value: string) => ({ key: name, value: { stringValue: value } });
  const attributes = [
    attribute('gen_ai.operation.name', 'chat'),
    attribute('gen_ai.provider.name', provider),
    attribute('gen_ai.request.model', 'model-1'),
  ];
  const times = { startTimeUnixNano: '1750000000000000000', endTimeUnixNano: '1750000001000000000' };
  const span = { traceId, spanId: '1111111111111111', name: 'chat', kind: 3, ...times, attributes };
  await server.ok('POST', '/v1/traces', {
    as: { key },
    body: { resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] },
  });
  const found = await server.ok('GET', `/v1/providers?name=${provider}&tenant_id=${OWNER.tenantId}`, {
    as: server.admin,
  });
  return { providerId: found.items[0].id, name: provider, traceId };
}

/**
 * How the record behind each path parameter is made, in the owner's place. `made` has what the path's earlier
 * parameters got. A path parameter that is not here fails the suite: a new operation cannot slip past it.
 */
export const PATH_PARAMETERS: Record<string, Maker> = {
  tenant_id: async () => OWNER.tenantId,
  async service_account_id(server) {
    const id = unique('account');
    await create(server, '/v1/service-accounts', { id, name: id, ...OWNER });
    return id;
  },
  async key_id(server, made) {
    const path = `/v1/service-accounts/${made['service_account_id']}/keys?tenant_id=${OWNER.tenantId}`;
    return idOf(await create(server, path, { scopes: ['credentials:write'] }));
  },
  provider_id: async (server) =>
    idOf(await create(server, '/v1/providers', { name: unique('provider'), kind: 'llm', ...OWNER })),
  item_id: async (server, made) =>
    idOf(
      await create(server, `/v1/providers/${made['provider_id']}/inventory`, { kind: 'model', name: unique('model') }),
    ),
  async observation_id(server) {
    const { providerId } = await observed(server);
    const page = await server.ok('GET', `/v1/providers/${providerId}/observations`, { as: server.admin });
    return page.items[0].id;
  },
  gateway_id: async (server) => idOf(await create(server, '/v1/gateways', { name: unique('gateway'), ...OWNER })),
  session_id: async (server, made) => {
    const key = await keyWith(server, OWNER, ['gateway_sessions:write']);
    const session = await server.ok('POST', `/v1/gateways/${made['gateway_id']}/sessions`, { as: { key } });
    return session.id;
  },
  manifest_id: async (server) =>
    idOf(await create(server, '/v1/manifests', { name: unique('manifest'), kind: 'agent', spec: {}, ...OWNER })),
  async task_id(server) {
    await observed(server);
    const page = await server.ok('GET', '/v1/operator/tasks?limit=1', {
      as: { key: await keyWith(server, OWNER, ['*']) },
    });
    return page.items[0].id;
  },
  trace_id: async (server) => (await observed(server)).traceId,
  async user_id(server) {
    const email = `${unique('member')}@example.com`;
    const path = `/v1/tenants/${OWNER.tenantId}/memberships`;
    const body = { email, role: 'viewer', subTenantId: OWNER.subTenantId };
    const membership = await server.ok('POST', path, { as: server.admin, body });
    return membership.userId;
  },
};

function idOf(record: Record<string, string>): string {
  const { id } = record;
  if (id === undefined) throw new Error('the record has no id');
  return id;
}
