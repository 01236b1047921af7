import { nameKey } from '@quartermaster/naming/name-key.ts';
import { findProviders } from '@quartermaster/db/repositories/providers.ts';
import { scaled } from '@quartermaster/db/testing/scale.ts';
import { onPostgres } from '@quartermaster/db/testing/test-database.ts';
import { inRolledBackTransaction } from '@quartermaster/db/transaction.ts';
import { McpServer } from '@modelcontextprotocol/server';
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findBlockingItems } from '../../src/governance/declarations/covering-items.ts';
import { findTenantBlocks } from '../../src/governance/declarations/tenant-blocks.ts';
import { reevaluateProvider } from '../../src/governance/observations/reevaluate.ts';
import { LOOPBACK, startMcp } from '../inventory-sync/peers.ts';
import { accountWithKey, unique } from '../support/people.ts';
import { type Body, startTestServer, type TestServer } from '../support/server.ts';
import { tablesOf } from '../support/tables.ts';
import {
  all,
  type AttributeInput,
  chat,
  exportRequest,
  nowInNanoseconds,
  type SpanInput,
  toolRun,
} from '../telemetry/traces/sending.ts';
import { REWORDED, SEARCH, WITH_TOKEN } from './tool-server.ts';

// Every change reevaluates only what it affects. If a change forgot something, evaluating everything again would find it.

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer(LOOPBACK);
});
afterAll(() => server.stop());

const MODELS = ['gpt-5', 'GPT-5', 'openai/gpt-5', 'gpt-5-2026-01-01', 'gpt-5-latest', 'acme/gpt-5', 'o9'] as const;
const TOOLS = ['get-sum', 'get_sum', 'Get-Sum'] as const;
const NAMES = ['openai', 'acme', 'docs', 'elsewhere', 'tools'] as const;
const DEFINITIONS = [SEARCH, WITH_TOKEN, REWORDED] as const;
const HOSTS = ['https://api.openai.com/v1', 'https://llm.internal', 'https://docs.internal/mcp', null] as const;
const PLACES = [null, 'east'] as const;

const subjectArbitrary = fc.oneof(
  fc.record({ kind: fc.constant('model' as const), name: fc.constantFrom(...MODELS) }),
  fc.record({ kind: fc.constant('tool' as const), name: fc.constantFrom(...TOOLS) }),
  fc.record({ kind: fc.constant('agent' as const), name: fc.constantFrom('helper', 'Helper') }),
);

const commandArbitrary = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('see' as const),
      subject: subjectArbitrary,
      answeredBy: fc.constantFrom(null, null, ...MODELS),
      provider: fc.constantFrom(null, ...NAMES),
      host: fc.constantFrom(null, null, 'api.openai.com', 'llm.internal', 'docs.internal'),
      by: fc.nat({ max: 1 }),
      failed: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('review' as const),
      at: fc.nat(),
      decision: fc.constantFrom('approved', 'rejected', 'ignored'),
    }),
  },
  fc.record({ do: fc.constant('reopen' as const), at: fc.nat(), status: fc.constantFrom('open', 'resolved') }),
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('declare' as const),
      at: fc.nat(),
      subject: subjectArbitrary,
      status: fc.constantFrom('available', 'retired', 'blocked', 'blocked'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('undeclare' as const), at: fc.nat(), item: fc.nat() }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('provider' as const),
      name: fc.constantFrom(...NAMES),
      kind: fc.constantFrom('llm', 'mcp'),
      baseUrl: fc.constantFrom(...HOSTS),
      place: fc.constantFrom(...PLACES),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('change' as const),
      at: fc.nat(),
      change: fc.oneof(
        fc.record({ name: fc.constantFrom(...NAMES, 'renamed') }),
        fc.record({ aliases: fc.subarray([...NAMES, 'oai']) }),
        fc.record({ baseUrl: fc.constantFrom(...HOSTS) }),
        fc.record({ status: fc.constantFrom('active', 'disabled') }),
        fc.record({ kind: fc.constantFrom('llm', 'mcp') }),
      ),
    }),
  },
  fc.record({ do: fc.constant('delete' as const), at: fc.nat() }),
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('manifest' as const),
      agent: fc.constantFrom('helper', 'other'),
      place: fc.constantFrom(...PLACES),
      declares: fc.array(fc.record({ subject: subjectArbitrary, by: fc.oneof(fc.nat(), fc.constantFrom(...NAMES)) }), {
        maxLength: 3,
      }),
    }),
  },
  fc.record({ do: fc.constant('unpublish' as const), at: fc.nat() }),
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('sync' as const),
      tools: fc.subarray([...TOOLS]),
      definition: fc.constantFrom(...DEFINITIONS),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('apply' as const), at: fc.nat(), byId: fc.boolean() }) },
  fc.record({ do: fc.constant('dismiss' as const), at: fc.nat() }),
  { weight: 2, arbitrary: fc.record({ do: fc.constant('undo' as const), at: fc.nat() }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('complete' as const),
      at: fc.nat(),
      outcome: fc.constantFrom('approved', 'rejected', 'adopted', 'dismissed', 'acknowledged'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('session' as const), place: fc.constantFrom(...PLACES) }) },
);
type Command = typeof commandArbitrary extends fc.Arbitrary<infer T> ? T : never;

const HELPER = { kind: 'agent', name: 'helper' } as const;

/** Once the undo restored an open observation, although the manifest declares it since then. */
const UNDONE_AFTER_A_MANIFEST: Command[] = [
  { do: 'see', subject: HELPER, answeredBy: null, provider: null, host: null, by: 0, failed: false },
  { do: 'apply', at: 0, byId: true },
  { do: 'change', at: 0, change: { name: 'openai' } },
  { do: 'manifest', agent: 'helper', place: null, declares: [] },
  { do: 'undo', at: 0 },
];

test('after any history, evaluating all providers again changes nothing, and no open session grants a blocked item', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(commandArbitrary, { minLength: 8, maxLength: 24 }), async (commands) => {
      const world = await newWorld();
      for (const command of commands) {
        await world.execute(command);
        const { before, after } = await world.evaluateAgain();
        expect(after, JSON.stringify(command)).toEqual(before);
        expect(await world.blockedGrants(), JSON.stringify(command)).toEqual([]);
      }
    }),
    { numRuns: scaled({ usual: onPostgres() ? 2 : 6, full: 200 }), examples: [[UNDONE_AFTER_A_MANIFEST]] },
  );
});

/** A tenant with a sub-tenant, and a function for each command. */
async function newWorld() {
  const tenantId = unique('fixed-point');
  const as = await accountWithKey(server, { tenantId });
  const senders = [
    await accountWithKey(server, { tenantId }, ['traces:write']),
    await accountWithKey(server, { tenantId, subTenantId: 'east' }, ['traces:write']),
  ];
  let offered: readonly string[] = [];
  let definition: (typeof DEFINITIONS)[number] = SEARCH;
  const peer = await startMcp(() => {
    const mcp = new McpServer({ name: 'tools', version: '1.0.0' });
    const { description, input: inputSchema } = definition;
    for (const name of offered) mcp.registerTool(name, { description, inputSchema }, () => ({ content: [] }));
    return mcp;
  });
  const synced = await server.ok('POST', '/v1/providers', {
    as,
    body: { name: 'tools', kind: 'mcp', baseUrl: peer.url },
  });
  const opened: { gatewayId: string; id: string }[] = [];
  const providers = () => all(server, '/v1/providers?limit=100', as);
  const observations = () => all(server, '/v1/runtime-observations?limit=100', as);
  const recommendations = (status: string) => all(server, `/v1/recommendations?limit=100&status=${status}`, as);
  /** A change that may be refused, because a name is taken, for example. */
  const attempt = async (method: string, path: string, body?: object) => {
    const { status, text } = await server.call(method, path, { as, body });
    expect([200, 404, 409, 422, 502], `${method} ${path}: ${text}`).toContain(status);
  };
  const execute = async (command: Command): Promise<void> => {
    server.travel(1000);
    switch (command.do) {
      case 'see': {
        const start = nowInNanoseconds(server);
        const span = { ...spanOf(command), start, failed: command.failed };
        await server.ok('POST', '/v1/traces', { as: senders[command.by] ?? null, body: exportRequest([span]) });
        return;
      }
      case 'review': {
        const found = at(await observations(), command.at);
        const body = { decision: command.decision };
        if (found) await attempt('POST', `/v1/runtime-observations/${found.id}/review`, body);
        return;
      }
      case 'reopen': {
        const found = at(await observations(), command.at);
        if (found) await attempt('PUT', `/v1/runtime-observations/${found.id}`, { status: command.status });
        return;
      }
      case 'declare': {
        const provider = at(await providers(), command.at);
        if (!provider) return;
        const path = `/v1/providers/${provider.id}/inventory`;
        const { subject, status } = command;
        const items = await all(server, `${path}?limit=100`, as);
        const found = items.find(({ kind, name }) => kind === subject.kind && name === subject.name);
        if (found) await attempt('PUT', `${path}/${found.id}`, { status });
        else await attempt('POST', path, { ...subject, status });
        return;
      }
      case 'undeclare': {
        const provider = at(await providers(), command.at);
        if (!provider) return;
        const path = `/v1/providers/${provider.id}/inventory`;
        const found = at(await all(server, `${path}?limit=100`, as), command.item);
        if (found) await attempt('DELETE', `${path}/${found.id}`);
        return;
      }
      case 'provider': {
        const { name, kind, baseUrl, place } = command;
        await attempt('POST', '/v1/providers', { name, kind, baseUrl, subTenantId: place });
        return;
      }
      case 'change': {
        const provider = at(await providers(), command.at);
        if (provider) await attempt('PUT', `/v1/providers/${provider.id}`, command.change);
        return;
      }
      case 'delete': {
        const provider = at(await providers(), command.at);
        if (provider) await attempt('DELETE', `/v1/providers/${provider.id}`);
        return;
      }
      case 'manifest': {
        const known = await providers();
        const declares = command.declares.map(({ subject, by }) => {
          return { ...subject, provider: typeof by === 'string' ? by : (at(known, by)?.id ?? 'openai') };
        });
        const { agent: name, place: subTenantId } = command;
        await attempt('POST', '/v1/manifests', { name, kind: 'agent', subTenantId, spec: { declares } });
        return;
      }
      case 'unpublish': {
        const found = at(await all(server, '/v1/manifests?limit=100', as), command.at);
        if (found) await attempt('DELETE', `/v1/manifests/${found.id}`);
        return;
      }
      case 'sync': {
        offered = command.tools;
        ({ definition } = command);
        await attempt('POST', `/v1/providers/${synced.id}/sync`);
        return;
      }
      case 'apply': {
        const found = at(await recommendations('open'), command.at);
        if (!found) return;
        const body = command.byId ? { recommendationIds: [found.id] } : {};
        await attempt('POST', `/v1/providers/${found.providerId}/recommendations/apply`, body);
        return;
      }
      case 'dismiss': {
        const found = at(await recommendations('open'), command.at);
        if (found) await attempt('POST', `/v1/recommendations/${found.id}/dismiss`, { reason: 'not needed' });
        return;
      }
      case 'undo': {
        const found = at(await recommendations('applied'), command.at);
        if (found) await attempt('POST', `/v1/recommendations/${found.id}/undo`);
        return;
      }
      case 'complete': {
        const found = at(await all(server, '/v1/operator/tasks?status=open&limit=100', as), command.at);
        if (found) await attempt('POST', `/v1/operator/tasks/${found.id}/complete`, { outcome: command.outcome });
        return;
      }
      case 'session': {
        const listed = await providers();
        const reachable = listed.filter(({ subTenantId }) => subTenantId === null || command.place !== null);
        const providerIds = reachable.map(({ id }) => id);
        const body = { name: unique('edge'), subTenantId: command.place, providerIds };
        const gateway = await server.ok('POST', '/v1/gateways', { as, body });
        const { id } = await server.ok('POST', `/v1/gateways/${gateway.id}/sessions`, { as });
        opened.push({ gatewayId: gateway.id, id });
      }
    }
  };

  const snapshot = async (db = server.services.db) => {
    const tables = await tablesOf(db, tenantId);
    const kept = ['runtime_observations', 'recommendations', 'operator_tasks'] as const;
    return Object.fromEntries(
      kept.map((table) => [
        table,
        (tables[table] ?? []).map((row) => JSON.stringify({ ...row, updated_at: null })).toSorted(),
      ]),
    );
  };

  return {
    execute,
    /** The observations, recommendations and tasks, and the same after all providers were evaluated again. */
    async evaluateAgain() {
      const { db, now } = server.services;
      const ids = (await providers()).map(({ id }) => id);
      const scope = [{ tenantId, subTenantId: null }];
      const before = await snapshot();
      const after = await inRolledBackTransaction(db, async (trx) => {
        for (const provider of await findProviders(trx, scope, ids)) await reevaluateProvider(trx, provider, now());
        return snapshot(trx);
      });
      return { before, after };
    },
    /** What open sessions grant although an item blocks it. */
    async blockedGrants(): Promise<Body[]> {
      const { db } = server.services;
      const blocked: Body[] = [];
      for (const { gatewayId, id } of opened) {
        const session = await server.ok('GET', `/v1/gateways/${gatewayId}/sessions/${id}`, { as });
        if (session.revokedAt !== null) continue;
        const grants = await all(server, `/v1/gateways/${gatewayId}/sessions/${id}/grants?limit=100`, as);
        const found = await findProviders(
          db,
          [{ tenantId, subTenantId: null }],
          grants.map(({ providerId }) => providerId),
        );
        const byId = new Map(found.map((provider) => [provider.id, provider]));
        const subjects = grants.flatMap(({ providerId, kind, name }) => {
          const provider = byId.get(providerId);
          return provider ? [{ provider, kind, name, nameKey: nameKey(kind, name, provider.name) }] : [];
        });
        const blockOf = await findBlockingItems(db, { tenantId }, subjects);
        const tenantBlocks = await findTenantBlocks(db, { tenantId }, found);
        const isBlocked = (subject: (typeof subjects)[number]) =>
          blockOf(subject) !== undefined || tenantBlocks(subject.provider).isBlocked(subject);
        blocked.push(...subjects.filter(isBlocked).map(({ kind, name }) => ({ id, kind, name })));
      }
      return blocked;
    },
  };
}

function spanOf({ subject, answeredBy, provider, host }: Extract<Command, { do: 'see' }>): SpanInput {
  const attributes: Record<string, AttributeInput> = {
    ...(provider !== null && { 'gen_ai.provider.name': provider }),
    ...(host !== null && { 'server.address': host }),
  };
  if (subject.kind === 'tool') {
    return toolRun(subject.name, { ...attributes, ...(provider !== null && { 'mcp.server.name': provider }) });
  }
  if (subject.kind === 'agent') {
    const named = { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': subject.name };
    return { name: `invoke_agent ${subject.name}`, attributes: named };
  }
  return chat(subject.name, { ...attributes, ...(answeredBy !== null && { 'gen_ai.response.model': answeredBy }) });
}

function at(list: readonly Body[], index: number): Body {
  return list[index % Math.max(1, list.length)];
}
