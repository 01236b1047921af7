import { type Scope, ScopeSchema } from '@quartermaster/contracts/scopes.ts';
import { expect, vi } from 'vitest';
import { agentIdOf, agentOfId } from '../../src/resources/agents/known-agents.ts';
import {
  accountWithKey,
  memberWithToken,
  type Place,
  registeredUser,
  startConsoleSession,
  unique,
} from '../support/people.ts';
import type { Credential, TestServer } from '../support/server.ts';
import { sendSpans } from '../telemetry/traces/sending.ts';

/** The places of the owner and of the strangers. */
export const OWNER = { tenantId: 'tenant-a', subTenantId: 'sub-a1' };
const SIBLING = { tenantId: 'tenant-a', subTenantId: 'sub-a2' };
const OTHER = { tenantId: 'tenant-b' };
/** The sub-tenant of another tenant that has the same id. */
const NAMESAKE = { tenantId: 'tenant-b', subTenantId: OWNER.subTenantId };
export const PLACES: Record<'otherTenant' | 'sibling', Place> = { otherTenant: OTHER, sibling: SIBLING };

export type Input = { path?: Record<string, string>; query?: Record<string, unknown>; body?: unknown };

/** Credentials of callers from other places, and credentials that are no longer valid. */
export type Strangers = Record<'otherTenant' | 'sibling' | 'member' | 'revoked' | 'disabled', NonNullable<Credential>>;

export async function makeStrangers(server: TestServer): Promise<Strangers> {
  // The platform administrator creates the tenant and sub-tenant by naming them.
  const otherTenant = await accountWithKey(server, NAMESAKE);
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
  const member = await memberWithToken(server, OTHER, 'owner');
  return {
    otherTenant: { key: otherTenant.key },
    sibling: { key: sibling.key },
    member: { token: member.token },
    revoked: { key: revoked.key },
    disabled: { key: disabled.key },
  };
}

/** One map for each server, because suites may share this module. */
const keysOf = new WeakMap<TestServer, Map<string, string>>();

/** A key in a place with exactly these scopes. Repeated calls return the same key. */
export async function keyWith(server: TestServer, place: Place, scopes: Scope[]) {
  const name = JSON.stringify([place, scopes]);
  const keys = keysOf.get(server) ?? new Map<string, string>();
  keysOf.set(server, keys);
  const key = keys.get(name) ?? (await usedOnce(server, (await accountWithKey(server, place, scopes)).key));
  keys.set(name, key);
  return key;
}

/** Creates the tenant and sub-tenant if they do not exist: the first account in a place creates the place. */
export async function ensurePlace(server: TestServer, place: Place): Promise<void> {
  await keyWith(server, place, ['users:read']);
}

/** Waits until the first use of the key is stored. Otherwise that commit could be attributed to a later request. */
async function usedOnce(server: TestServer, key: string): Promise<string> {
  await server.call('GET', '/v1/providers', { as: { key } });
  const id = /^qm_(key_[^_]+)_/.exec(key)?.[1] ?? '';
  // The account comes after its key.
  const query = server.services.db
    .selectFrom('credentials')
    .innerJoin('service_accounts', (join) =>
      join
        .onRef('service_accounts.tenant_id', '=', 'credentials.tenant_id')
        .onRef('service_accounts.id', '=', 'credentials.owner_id'),
    )
    .select('service_accounts.last_used_at')
    .where('credentials.id', '=', id);
  await vi.waitFor(async () => expect((await query.executeTakeFirst())?.last_used_at).toEqual(expect.any(String)), {
    timeout: 60_000,
  });
  return key;
}

/** All scopes except this one. */
export function allScopesBut(scope: Scope): Scope[] {
  return ScopeSchema.options.filter((option) => option !== '*' && option !== scope);
}

/** The user without memberships who owns the records that are made next. */
const lonerOf = new WeakMap<TestServer, string>();

export function noteLoner(server: TestServer, id: string): void {
  lonerOf.set(server, id);
}

/** A console session of that user. */
async function consoleSession(server: TestServer): Promise<string> {
  return startConsoleSession(server, lonerOf.get(server) ?? (await registeredUser(server)).id);
}

/** Creates a record and returns its id. `made` has the ids of the earlier path parameters. */
type Maker = (server: TestServer, at: { place: Place; made: Record<string, string> }) => Promise<string>;

export async function create(server: TestServer, path: string, body: object): Promise<Record<string, string>> {
  return server.ok('POST', path, { as: server.admin, body });
}

/** Reports the use of an unknown model at an undeclared provider. */
export async function observed(
  server: TestServer,
  place: Place,
): Promise<{ providerId: string; name: string; traceId: string; spanId: string }> {
  const key = await keyWith(server, place, ['traces:write']);
  const provider = unique('provider');
  const traceId = unique('').replace('-', '').padStart(32, '0');
  const spanId = traceId.slice(-16);
  const attribute = (name: string, value: string) => ({ key: name, value: { stringValue: value } });
  const attributes = [
    attribute('gen_ai.operation.name', 'chat'),
    attribute('gen_ai.provider.name', provider),
    attribute('gen_ai.request.model', 'model-1'),
  ];
  const times = { startTimeUnixNano: '1750000000000000000', endTimeUnixNano: '1750000001000000000' };
  const span = { traceId, spanId, name: 'chat', kind: 3, ...times, attributes };
  await server.ok('POST', '/v1/traces', {
    as: { key },
    body: { resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] },
  });
  const found = await server.ok('GET', `/v1/providers?name=${provider}&tenant_id=${place.tenantId}`, {
    as: server.admin,
  });
  return { providerId: found.items[0].id, name: provider, traceId, spanId };
}

/**
 * Creates the record for each path parameter in a place. A path parameter that is missing here fails the suite, so no new
 * operation can be forgotten.
 */
export const PATH_PARAMETERS: Record<string, Maker> = {
  tenant_id: async (_, { place }) => place.tenantId,
  async service_account_id(server, { place }) {
    const id = unique('account');
    await create(server, '/v1/service-accounts', { id, name: id, ...place });
    return id;
  },
  async key_id(server, { place, made }) {
    const path = `/v1/service-accounts/${made['service_account_id']}/keys?tenant_id=${place.tenantId}`;
    return idOf(await create(server, path, { scopes: ['credentials:write'] }));
  },
  provider_id: async (server, { place }) =>
    idOf(await create(server, '/v1/providers', { name: unique('provider'), kind: 'llm', ...place })),
  item_id: async (server, { made }) =>
    idOf(
      await create(server, `/v1/providers/${made['provider_id']}/inventory`, { kind: 'model', name: unique('model') }),
    ),
  async observation_id(server, { place }) {
    const { providerId } = await observed(server, place);
    const page = await server.ok('GET', `/v1/providers/${providerId}/observations`, { as: server.admin });
    return page.items[0].id;
  },
  async recommendation_id(server, { place }) {
    const { providerId } = await observed(server, place);
    const path = `/v1/providers/${providerId}/recommendations?kind=register_item`;
    const page = await server.ok('GET', path, { as: server.admin });
    return page.items[0].id;
  },
  async apply_id(server, { place }) {
    const { providerId } = await observed(server, place);
    const path = `/v1/providers/${providerId}/recommendations`;
    const open = await server.ok('GET', `${path}?kind=register_item`, { as: server.admin });
    const body = { recommendationIds: [open.items[0].id] };
    const { applied } = await server.ok('POST', `${path}/apply`, { as: server.admin, body });
    return applied[0].applyId;
  },
  async price_id(server, { place: { tenantId } }) {
    const body = { modelPattern: unique('model'), validFrom: '2026-01-01', inputPrice: 1, outputPrice: 2 };
    return idOf(await create(server, '/v1/prices', { ...body, tenantId }));
  },
  gateway_id: async (server, { place }) =>
    idOf(await create(server, '/v1/gateways', { name: unique('gateway'), ...place })),
  session_id: async (server, { place, made }) => {
    if (made['gateway_id'] === undefined) return consoleSession(server);
    const key = await keyWith(server, place, ['gateway_sessions:write']);
    const session = await server.ok('POST', `/v1/gateways/${made['gateway_id']}/sessions`, { as: { key } });
    return session.id;
  },
  manifest_id: async (server, { place }) =>
    idOf(
      await create(server, '/v1/manifests', {
        name: unique('manifest'),
        kind: 'agent',
        spec: { channels: ['web'] },
        ...place,
      }),
    ),
  async agent_id(server, { place }) {
    const name = unique('agent');
    await create(server, '/v1/manifests', { name, kind: 'agent', spec: { channels: ['web'] }, ...place });
    return agentIdOf({ tenantId: place.tenantId, subTenantId: place.subTenantId ?? null, name });
  },
  async channel(server, { place, made }) {
    const name = agentOfId(made['agent_id'] ?? '')?.name ?? '';
    const attributes = {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': name,
      'openclaw.channel': 'webchat',
    };
    const key = await keyWith(server, place, ['traces:write']);
    await sendSpans(server, { key }, [{ name: `invoke_agent ${name}`, kind: 1, attributes }]);
    return 'webchat';
  },
  kind: async () => 'agent',
  header_name: async () => 'x-organization',
  async task_id(server, { place }) {
    const { providerId } = await observed(server, place);
    const observations = await server.ok('GET', `/v1/providers/${providerId}/observations`, { as: server.admin });
    const path = `/v1/operator/tasks?subject_id=${observations.items[0].id}`;
    const page = await server.ok('GET', path, { as: server.admin });
    return page.items[0].id;
  },
  trace_id: async (server, { place }) => (await observed(server, place)).traceId,
  // A user whose membership is pending is not visible to the tenant.
  user_id: async (server, { place }) => (await memberWithToken(server, place, 'viewer')).id,
};

export function idOf(record: Record<string, string>): string {
  const { id } = record;
  if (id === undefined) throw new Error('the record has no id');
  return id;
}

/** An id of the same form that does not exist. */
export function missingId(id: string): string {
  return `${id.slice(0, -4)}zzzz`.replace(/^(\d+)zzzz$/, '$19999');
}
