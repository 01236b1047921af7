import type { Operation } from '@quartermaster/contracts/operation.ts';
import { z } from 'zod';
import { accountWithKey, memberWithToken, unique } from '../support/people.ts';
import type { TestServer } from '../support/server.ts';
import { sendSpans } from '../telemetry/traces/sending.ts';
import { create, type Input, idOf, keyWith, OWNER, observed, PATH_PARAMETERS } from './world.ts';

/** A place for an id in a query or body. `path` leads to it through the input; `[]` is the first element of a list. */
export type IdPlace = { operation: Operation; path: string[] };

/**
 * A record of the owner for a field, with the path parameters with which the owner would name it, and the rest of a body that
 * names it.
 */
export type Named = { id: string; path?: Record<string, string>; body?: Record<string, unknown> };

type IdField = {
  /** One for each form of id that the field takes. The records are in the owner's place. */
  makers: Record<string, (server: TestServer) => Promise<Named>>;
  /** Why even the owner gets the same answer for an id that does not exist. Without it the suite expects another one. */
  inert?: string;
};

const declaredProvider: IdField['makers'] = {
  provider: async (server) => ({ id: await ownersId(server, 'provider_id') }),
};
const account: IdField['makers'] = {
  account: async (server) => ({ id: await ownersId(server, 'service_account_id') }),
};
const manifest: IdField['makers'] = { manifest: async (server) => ({ id: await ownersId(server, 'manifest_id') }) };
const subject: IdField['makers'] = {
  user: async (server) => ({ id: `user:${await activeUser(server)}` }),
  account: async (server) => ({
    id: `service_account:${OWNER.tenantId}/${await ownersId(server, 'service_account_id')}`,
  }),
};

const keyThatMadeOne: IdField['makers'] = {
  async key(server) {
    const { id, key, keyId } = await accountWithKey(server, OWNER);
    await server.ok('POST', `/v1/service-accounts/${id}/keys`, { as: { key }, body: { scopes: ['*'] } });
    return { id: `api_key:${keyId}` };
  },
};

/** A key that another key created, named as one record of what derives from that key. */
const derivedKey: IdField['makers'] = {
  async key(server) {
    const { id, key, keyId } = await accountWithKey(server, OWNER);
    const made = await server.ok('POST', `/v1/service-accounts/${id}/keys`, { as: { key }, body: { scopes: ['*'] } });
    const records = [{ kind: 'api_key', ...OWNER }];
    return { id: made.id, body: { source: `api_key:${keyId}`, kinds: ['api_key'], records } };
  },
};

/** The filter has no effect, because the call's ids do not exist. */
const NAMED_ALREADY = 'it narrows the ids of the same call, which do not exist';

/** By the name of the field, or by `operation.field` if the name has a special meaning in that operation. */
export const ID_FIELDS: Record<string, IdField> = {
  providerIds: { makers: declaredProvider },
  'create_gateway_session.providerIds': {
    makers: {
      async provider(server) {
        const id = await ownersId(server, 'provider_id');
        const body = { name: unique('gateway'), providerIds: [id], ...OWNER };
        return { id, path: { gateway_id: idOf(await create(server, '/v1/gateways', body)) } };
      },
    },
  },
  manifestId: { makers: manifest },
  recommendationIds: {
    makers: {
      async recommendation(server) {
        const { providerId } = await observed(server, OWNER);
        const path = `/v1/providers/${providerId}/recommendations`;
        const page = await server.ok('GET', path, { as: server.admin });
        return { id: page.items[0].id, path: { provider_id: providerId } };
      },
    },
  },
  applyId: {
    makers: {
      // Only who applied something may add to its apply. So the owner's key applies, with which the owner then calls.
      async apply(server) {
        const as = { key: await keyWith(server, OWNER, ['*']) };
        const { providerId } = await observed(server, OWNER);
        const path = `/v1/providers/${providerId}/recommendations`;
        const open = await server.ok('GET', `${path}?kind=register_item`, { as });
        const body = { recommendationIds: [open.items[0].id] };
        const { applied } = await server.ok('POST', `${path}/apply`, { as, body });
        return { id: applied[0].applyId, path: { provider_id: providerId } };
      },
    },
  },
  'search_service_accounts.ids': { makers: account },
  'search_credentials.ids': {
    makers: { key: async (server) => ({ id: (await accountWithKey(server, OWNER)).keyId }) },
  },
  ownerId: { makers: { account: async (server) => ({ id: (await accountWithKey(server, OWNER)).id }) } },
  'search_credentials.providerId': {
    makers: {
      async provider(server) {
        const id = await ownersId(server, 'provider_id');
        const path = `/v1/providers/${id}/credential`;
        await server.ok('PUT', path, { as: server.admin, body: { secret: unique('secret') } });
        return { id };
      },
    },
  },
  observation_id: { makers: { observation: async (server) => ({ id: await ownersId(server, 'observation_id') }) } },
  observationIds: { makers: { observation: async (server) => ({ id: await ownersId(server, 'observation_id') }) } },
  'dismiss_recommendations.recommendationIds': {
    makers: { recommendation: async (server) => ({ id: await ownersId(server, 'recommendation_id') }) },
  },
  'review_runtime_observations.providerId': { makers: declaredProvider, inert: NAMED_ALREADY },
  'dismiss_recommendations.providerId': { makers: declaredProvider, inert: NAMED_ALREADY },
  'dismiss_recommendations.observationId': {
    makers: { observation: async (server) => ({ id: await ownersId(server, 'observation_id') }) },
    inert: NAMED_ALREADY,
  },
  provider_id: { makers: { provider: async (server) => ({ id: (await observed(server, OWNER)).providerId }) } },
  'create_manifest.provider': { makers: declaredProvider, inert: 'a manifest may declare what does not exist yet' },
  actor_id: {
    makers: {
      async account(server) {
        const { id, key } = await accountWithKey(server, OWNER);
        await server.ok('POST', '/v1/gateways', { as: { key }, body: { name: unique('gateway') } });
        return { id };
      },
    },
  },
  target_id: { makers: { ...declaredProvider, ...account, ...manifest } },
  subject: { makers: subject },
  'list_gateway_sessions.subject': {
    makers: {
      async account(server) {
        const { key, principal } = await accountWithKey(server, OWNER);
        const gateway = await ownersId(server, 'gateway_id');
        await server.ok('POST', `/v1/gateways/${gateway}/sessions`, { as: { key } });
        return { id: principal, path: { gateway_id: gateway } };
      },
    },
  },
  'list_telemetry_health.service_account_id': {
    makers: { account: async (server) => ({ id: (await sender(server)).id }) },
  },
  'list_telemetry_health.key_id': { makers: { key: async (server) => ({ id: (await sender(server)).keyId }) } },
  'list_trace_spans.span_id': {
    makers: {
      async span(server) {
        const { traceId, spanId } = await observed(server, OWNER);
        return { id: spanId, path: { trace_id: traceId } };
      },
    },
  },
  'list_derived_access.source': { makers: keyThatMadeOne },
  'revoke_derived_access.source': { makers: keyThatMadeOne },
  'revoke_derived_access.id': { makers: derivedKey },
  subject_id: { makers: { observation: async (server) => ({ id: await ownersId(server, 'observation_id') }) } },
  assignee: {
    makers: {
      async account(server) {
        const { key, principal } = await accountWithKey(server, OWNER);
        const task = await ownersId(server, 'task_id');
        await server.ok('POST', `/v1/operator/tasks/${task}/claim`, { as: { key } });
        return { id: principal };
      },
    },
  },
};

/** Ids that the caller chooses for a new record. They do not name an existing record. */
const CHOSEN: Record<string, string> = {
  'create_service_account.id': "the new account's, unique in its tenant; 409 says that it is taken",
  'create_tenant.id': "the new tenant's; only platform administrators create tenants",
  'create_organization.id': "the new tenant's; 409 says that it is taken",
};

const LOOKS_LIKE_ID = /(^id|ids?$|_id$|subject$|assignee$)/i;
/** isolation.test.ts tests these fields. */
const TENANCY = new Set(['tenantId', 'subTenantId', 'tenant_id', 'sub_tenant_id']);

/** The keys under which the tables above may have an id place: with its operation, and without. */
export function keysOf({ operation, path }: IdPlace): [string, string] {
  const field = path.findLast((part) => part !== '[]') ?? '';
  return [`${operation.operationId}.${field}`, field];
}

export function fieldOf(place: IdPlace): IdField | undefined {
  const [own, common] = keysOf(place);
  return ID_FIELDS[own] ?? ID_FIELDS[common];
}

/** Every place for an id in the query and the body of an operation, with or without a fixture. */
export function idPlaces(operation: Operation): IdPlace[] {
  const { query, body } = operation;
  const parts = Object.entries({ query, body }).flatMap(([part, schema]) => {
    if (!schema) return [];
    const document = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as JsonSchema;
    return pathsIn(document, document).map((path) => ({ operation, path: [part, ...path] }));
  });
  return parts.filter((place) => {
    const [own, field] = keysOf(place);
    if (TENANCY.has(field) || own in CHOSEN) return false;
    return LOOKS_LIKE_ID.test(field) || fieldOf(place) !== undefined;
  });
}

/** The input with the id at the given place. */
export function withId(input: Input, { path }: IdPlace, id: string): Input {
  return put(input, path, id) as Input;
}

function put(value: unknown, [part, ...rest]: string[], id: string): unknown {
  if (part === undefined) return id;
  if (part === '[]') return [put(Array.isArray(value) ? value[0] : undefined, rest, id)];
  const fields = (value ?? {}) as Record<string, unknown>;
  return { ...fields, [part]: put(fields[part], rest, id) };
}

type JsonSchema = {
  $ref?: string;
  $defs?: Record<string, JsonSchema>;
  anyOf?: JsonSchema[];
  items?: JsonSchema;
  properties?: Record<string, JsonSchema>;
};

/** The paths of all fields that hold a value or a list of values. */
function pathsIn(schema: JsonSchema, document: JsonSchema): string[][] {
  const { $ref, anyOf = [], items, properties } = schema;
  if ($ref !== undefined) return pathsIn(document.$defs?.[$ref.split('/').at(-1) ?? ''] ?? {}, document);
  if (anyOf.length > 0) {
    const paths = anyOf.flatMap((one) => pathsIn(one, document));
    const inner = paths.filter((path) => path.length > 0);
    return inner.length > 0 ? inner : [[]];
  }
  if (items) return pathsIn(items, document).map((path) => ['[]', ...path]);
  if (!properties) return [[]];
  return Object.entries(properties).flatMap(([name, field]) => pathsIn(field, document).map((path) => [name, ...path]));
}

async function ownersId(server: TestServer, parameter: string): Promise<string> {
  const make = PATH_PARAMETERS[parameter];
  if (!make) throw new Error(`the path parameter ${parameter} has no fixture`);
  return make(server, { place: OWNER, made: {} });
}

/** An account of the owner's place that sent telemetry. */
async function sender(server: TestServer) {
  const made = await accountWithKey(server, OWNER, ['traces:write']);
  await sendSpans(server, { key: made.key }, [{ name: 'a span' }]);
  await server.services.telemetry.accounts.flush('all');
  return made;
}

const users = new Map<TestServer, Promise<string>>();

/** An active user of the owner's place. There is one for each server, because signing in is slow. */
async function activeUser(server: TestServer): Promise<string> {
  const user = users.get(server) ?? memberWithToken(server, OWNER, 'viewer').then(({ id }) => id);
  users.set(server, user);
  return user;
}
