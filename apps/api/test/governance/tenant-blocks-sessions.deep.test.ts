import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accountWithKey, unique } from '../support/people.ts';
import { type Body, startTestServer, type TestServer } from '../support/server.ts';
import { all, chat, sendSpans } from '../telemetry/traces/sending.ts';
import { type Declared, declare, TICKETS } from './match-support.ts';

// A session of a sub-tenant grants nothing that the whole tenant blocks at the provider that the sub-tenant declares again.

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

const API = 'https://api.openai.com/v1';
const TENANT: Declared = {
  name: 'OpenAI',
  kind: 'llm',
  baseUrl: API,
  blocked: [{ kind: 'model', name: 'gpt-4o' }],
};
const WITHOUT_ADDRESS: Declared = { name: 'OpenAI', kind: 'llm', blocked: [{ kind: 'model', name: 'gpt-4o' }] };
const MODELS = ['gpt-4o', 'gpt-5'];

type Row = { name: string; tenant: Declared; own: Declared; granted: string[] };

const ROWS: Row[] = [
  {
    name: 'a provider at the same host',
    tenant: TENANT,
    own: { name: 'ours', kind: 'llm', baseUrl: 'http://API.OPENAI.com:8443', models: MODELS },
    granted: ['gpt-5'],
  },
  {
    name: 'a provider at another host of the vendor',
    tenant: TENANT,
    own: { name: 'ours', kind: 'llm', baseUrl: 'https://eu.api.openai.com/v1', models: MODELS },
    granted: ['gpt-5'],
  },
  {
    name: 'a provider at a host of the vendor, if the tenant’s provider has no address',
    tenant: WITHOUT_ADDRESS,
    own: { name: 'ours', kind: 'llm', baseUrl: API, models: MODELS },
    granted: ['gpt-5'],
  },
  {
    name: 'a provider of the same name without an address',
    tenant: TENANT,
    own: { name: 'openai', kind: 'llm', models: MODELS },
    granted: ['gpt-5'],
  },
  {
    name: 'a provider with another spelling of the vendor as its alias',
    tenant: TENANT,
    own: { name: 'ours', aliases: ['Open AI'], kind: 'llm', models: MODELS },
    granted: ['gpt-5'],
  },
  {
    name: 'a provider of the same name, if the tenant’s provider has no address',
    tenant: WITHOUT_ADDRESS,
    own: { name: 'openai', kind: 'llm', baseUrl: 'https://llm.team.example/v1', models: MODELS },
    granted: ['gpt-5'],
  },
  {
    name: 'a provider of the same name at a loopback address',
    tenant: TENANT,
    own: { name: 'openai', kind: 'llm', baseUrl: 'http://localhost:4000', models: MODELS },
    granted: ['gpt-5'],
  },
  {
    name: 'a provider at an address of its own keeps its items',
    tenant: TENANT,
    own: { name: 'openai', kind: 'llm', baseUrl: 'https://llm.team.example/v1', models: MODELS },
    granted: ['gpt-4o', 'gpt-5'],
  },
  {
    name: 'a provider of another name without an address keeps its items',
    tenant: TENANT,
    own: { name: 'ours', kind: 'llm', models: MODELS },
    granted: ['gpt-4o', 'gpt-5'],
  },
  {
    name: 'other spellings of a blocked model',
    tenant: TENANT,
    own: {
      name: 'ours',
      aliases: ['mine'],
      kind: 'llm',
      baseUrl: API,
      models: ['ours/GPT-4o', 'mine/gpt-4o', 'openai/gpt-4o-2024-08-06', 'gpt-4o-mini'],
    },
    granted: ['gpt-4o-mini'],
  },
  {
    name: 'a snapshot that the tenant declared as available',
    tenant: { ...TENANT, models: ['gpt-4o-2024-08-06'] },
    own: { name: 'openai', kind: 'llm', models: ['gpt-4o', 'gpt-4o-2024-08-06', 'gpt-4o-2024-11-20'] },
    granted: ['gpt-4o-2024-08-06'],
  },
  {
    name: 'tools of an MCP server with the same name, as frameworks rewrite it',
    tenant: TICKETS,
    own: { name: 'Tickets', kind: 'mcp', tools: ['delete-ticket', 'delete_ticket', 'list_tickets'] },
    granted: ['list_tickets'],
  },
  {
    name: 'tools of an MCP server with another name at the same host',
    tenant: TICKETS,
    own: { name: 'ours', kind: 'mcp', baseUrl: 'https://mcp.example.com/', tools: ['delete_ticket', 'list_tickets'] },
    granted: ['list_tickets'],
  },
  {
    name: 'a blocked agent',
    tenant: { name: 'worker', kind: 'agent_runtime', blocked: [{ kind: 'agent', name: 'planner' }] },
    own: { name: 'worker', kind: 'agent_runtime', available: [{ kind: 'agent', name: 'planner' }], tools: ['book'] },
    granted: ['book'],
  },
];

type Opened = {
  as: { key: string };
  path: string;
  id: string;
  token: string;
  granted: string[];
  ownId: string;
  tenantId: string;
  tenantProviderId: string;
};

async function openSession(
  { tenant, own }: Pick<Row, 'tenant' | 'own'>,
  gatewayPlace: string | null = 'team',
  tenantId = unique('blocks'),
) {
  const tenantProviderId = await declare(server, tenantId, tenant);
  const ownId = await declare(server, tenantId, { ...own, subTenantId: 'team' });
  const as = await accountWithKey(server, { tenantId, subTenantId: gatewayPlace ?? undefined });
  const gateway = await server.ok('POST', '/v1/gateways', { as, body: { name: 'edge', providerIds: [ownId] } });
  const path = `/v1/gateways/${gateway.id}/sessions`;
  const { id, token, grants } = await server.ok('POST', path, { as });
  return { as, path, id, token, granted: namesIn(grants), ownId, tenantId, tenantProviderId } satisfies Opened;
}

async function introspected({ as, path, token }: Opened): Promise<string[]> {
  return namesIn((await server.ok('POST', `${path}/introspect`, { as, body: { token } })).grants);
}

/** Why the session was revoked. Null while it is open. */
async function revokedReason({ as, path, id }: Opened): Promise<string | null> {
  return (await server.ok('GET', `${path}/${id}`, { as })).revokedReason;
}

/** Creates the items as blocked ones. */
async function block(providerId: string, items: Declared['blocked'] = []): Promise<void> {
  const path = `/v1/providers/${providerId}/inventory`;
  for (const item of items) await server.ok('POST', path, { as: server.admin, body: { ...item, status: 'blocked' } });
}

function changeProvider(id: string, body: Body): Promise<Body> {
  return server.ok('PUT', `/v1/providers/${id}`, { as: server.admin, body });
}

function namesIn(grants: Body[]): string[] {
  return grants.flatMap(({ items }): string[] => items.map(({ name }: Body) => name)).toSorted();
}

describe.each(ROWS)('$name', (row) => {
  test('when the session is opened and introspected', async () => {
    const opened = await openSession(row);
    expect(opened.granted).toEqual(row.granted);
    expect(await introspected(opened)).toEqual(row.granted);
    expect(await revokedReason(opened)).toBeNull();
  });

  test('a block ends an open session that grants the item', async () => {
    const opened = await openSession({ tenant: { ...row.tenant, blocked: [] }, own: row.own });
    expect(opened.granted.length).toBeGreaterThan(0);
    await block(opened.tenantProviderId, row.tenant.blocked);
    const isCovered = row.granted.length < opened.granted.length;
    expect(await revokedReason(opened)).toBe(isCovered ? 'item_blocked' : null);
  });
});

test('a gateway of the whole tenant does not grant it either', async () => {
  const own = { name: 'openai', kind: 'llm', models: MODELS };
  expect((await openSession({ tenant: TENANT, own }, null)).granted).toEqual(['gpt-5']);
});

type Change = [name: string, row: Pick<Row, 'tenant' | 'own'>, change: (opened: Opened) => Promise<Body>];

const ELSEWHERE: Declared = { name: 'ours', kind: 'llm', baseUrl: 'https://llm.team.example/v1', models: MODELS };

const CHANGES: Change[] = [
  [
    'the address of the sub-tenant’s provider',
    { tenant: TENANT, own: ELSEWHERE },
    ({ ownId }) => changeProvider(ownId, { baseUrl: API }),
  ],
  [
    'an alias of the sub-tenant’s provider',
    { tenant: WITHOUT_ADDRESS, own: ELSEWHERE },
    ({ ownId }) => changeProvider(ownId, { aliases: ['openai'] }),
  ],
  [
    'the name of the sub-tenant’s provider',
    { tenant: WITHOUT_ADDRESS, own: ELSEWHERE },
    ({ ownId }) => changeProvider(ownId, { name: 'openai' }),
  ],
  [
    'the address of the tenant’s provider',
    { tenant: TENANT, own: ELSEWHERE },
    ({ tenantProviderId }) => changeProvider(tenantProviderId, { baseUrl: 'https://llm.team.example/v1' }),
  ],
  [
    'an alias of the tenant’s provider',
    { tenant: WITHOUT_ADDRESS, own: ELSEWHERE },
    ({ tenantProviderId }) => changeProvider(tenantProviderId, { aliases: ['ours'] }),
  ],
];

test.each(CHANGES)('a change of %s ends a session that grants a blocked item since', async (_, row, change) => {
  const [opened, without] = [
    await openSession(row),
    await openSession({ ...row, own: { ...row.own, models: ['gpt-5'] } }),
  ];
  expect(opened.granted).toEqual(MODELS);
  await change(opened);
  expect(await revokedReason(opened)).toBe('item_blocked');
  await change(without);
  expect(await revokedReason(without)).toBeNull();
});

/** Tenant and sub-tenant use one router at two ports. The tenant has a provider at each of them. */
const [AT_PORT, AT_OTHER_PORT] = ['https://router.example/v1', 'https://router.example:8443/v1'];

const CHANGES_OF_ANOTHER: [name: string, change: (id: string) => Promise<Body>][] = [
  ['is moved', (id) => changeProvider(id, { baseUrl: 'https://llm.example' })],
  ['is deleted', (id) => server.ok('DELETE', `/v1/providers/${id}`, { as: server.admin })],
];

test.each(CHANGES_OF_ANOTHER)(
  'regression: when a provider %s, the blocks of another one begin to hold',
  async (_, change) => {
    const tenant = { name: 'router', kind: 'llm', baseUrl: AT_PORT };
    const opened = await openSession({ tenant, own: { name: 'ours', kind: 'llm', baseUrl: AT_PORT, models: MODELS } });
    await declare(server, opened.tenantId, { ...TENANT, name: 'other', baseUrl: AT_OTHER_PORT });
    expect(await introspected(opened)).toEqual(MODELS);
    expect(await revokedReason(opened)).toBeNull();
    await change(opened.tenantProviderId);
    expect(await revokedReason(opened)).toBe('item_blocked');
  },
);

test('regression: the blocks of a discovered provider begin to hold for other spellings when it is adopted', async () => {
  const tenantId = unique('adopted');
  await sendSpans(server, await accountWithKey(server, { tenantId }), [
    chat('gpt-5', { 'gen_ai.provider.name': 'openai' }),
  ]);
  const [discovered] = await all(server, `/v1/providers?tenant_id=${tenantId}`, server.admin);
  await block(discovered?.id, TENANT.blocked);
  const tenant = { name: 'elsewhere', kind: 'llm', aliases: ['oai'], baseUrl: 'https://eu.api.openai.com/v1' };
  const opened = await openSession({ tenant, own: { name: 'Open AI', kind: 'llm', models: MODELS } }, 'team', tenantId);
  expect(opened.granted).toEqual(MODELS);
  const path = `/v1/providers/${discovered?.id}/recommendations`;
  const [adoption] = (await all(server, path, server.admin)).filter(({ kind }) => kind === 'adopt_provider');
  const body = { recommendationIds: [adoption?.id] };
  const { revokedSessions } = await server.ok('POST', `${path}/apply`, { as: server.admin, body });
  expect(revokedSessions.map(({ id }: Body) => id)).toEqual([opened.id]);
  expect(await revokedReason(opened)).toBe('item_blocked');
});

test('regression: a block ends a session that grants an item which the sub-tenant deleted', async () => {
  const opened = await openSession({
    tenant: { ...TENANT, blocked: [] },
    own: { ...TENANT, blocked: [], models: MODELS },
  });
  const inventory = `/v1/providers/${opened.ownId}/inventory`;
  const item = (await all(server, inventory, server.admin)).find(({ name }) => name === 'gpt-4o');
  await server.ok('DELETE', `${inventory}/${item?.id}`, { as: opened.as });
  expect(await revokedReason(opened)).toBeNull();
  await block(opened.tenantProviderId, TENANT.blocked);
  expect(await revokedReason(opened)).toBe('item_blocked');
});

test('regression: a block ends a session of a provider that the sub-tenant deleted', async () => {
  const opened = await openSession({
    tenant: { ...TENANT, blocked: [] },
    own: { ...TENANT, blocked: [], models: MODELS },
  });
  await server.ok('PUT', opened.path.replace(/\/sessions$/, ''), { as: opened.as, body: { providerIds: [] } });
  await server.ok('DELETE', `/v1/providers/${opened.ownId}`, { as: opened.as });
  await block(opened.tenantProviderId, TENANT.blocked);
  expect(await revokedReason(opened)).toBe('item_blocked');
});

test('a snapshot that the tenant no longer declares is blocked again: its sessions end', async () => {
  const snapshot = 'gpt-4o-2024-08-06';
  const own = { name: 'openai', kind: 'llm', models: [snapshot] };
  const opened = await openSession({ tenant: { ...TENANT, models: [snapshot] }, own });
  expect(opened.granted).toEqual([snapshot]);
  const inventory = `/v1/providers/${opened.tenantProviderId}/inventory`;
  const item = (await all(server, inventory, server.admin)).find(({ name }) => name === snapshot);
  await server.ok('DELETE', `${inventory}/${item?.id}`, { as: server.admin });
  expect(await revokedReason(opened)).toBe('item_blocked');
});

test('a block of a sub-tenant ends no session of another sub-tenant', async () => {
  const opened = await openSession({
    tenant: { ...TENANT, blocked: [] },
    own: { ...TENANT, blocked: [], models: MODELS },
  });
  const elsewhere = await declare(server, opened.tenantId, { ...TENANT, blocked: [], subTenantId: 'other' });
  await block(elsewhere, TENANT.blocked);
  expect(await revokedReason(opened)).toBeNull();
});
