import { scaled } from '@quartermaster/db/testing/scale.ts';
import { onPostgres } from '@quartermaster/db/testing/test-database.ts';
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { accountWithKey, unique } from '../support/people.ts';
import { type Body, startTestServer, type TestServer } from '../support/server.ts';
import {
  all,
  chat,
  exportRequest,
  newSpanId,
  newTraceId,
  type SpanInput,
  toolRun,
} from '../telemetry/traces/sending.ts';
import { newTenant, type Tenant } from './loop-support.ts';

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

/** How many random histories. Fewer on Postgres, where each statement goes over a socket. */
const runs = (full: number) => scaled({ usual: Math.ceil(full / (onPostgres() ? 20 : 6)), full });

const SECOND = 1_000_000_000n;
const START = 1_700_000_000n * SECOND;

// Enough that names, spellings and providers meet each other in every run.
const spanArbitrary = fc.record({
  subject: fc.constantFrom('gpt-5', 'GPT-5', 'openai/gpt-5', 'gpt-5-mini', 'tool find', 'tool Find'),
  provider: fc.constantFrom('openai', 'OpenAI', 'elsewhere', null),
  address: fc.constantFrom('api.openai.com', 'llm.internal', null, null),
  second: fc.nat({ max: 1000 }),
  failed: fc.boolean(),
});

type Said = Parameters<typeof spanOf>[0];

function spanOf(said: {
  subject: string;
  provider: string | null;
  address: string | null;
  second: number;
  failed: boolean;
}): SpanInput {
  const attributes = {
    ...(said.provider !== null && { 'gen_ai.provider.name': said.provider }),
    ...(said.address !== null && { 'server.address': said.address }),
  };
  const [kind, name] = said.subject.startsWith('tool ') ? ['tool', said.subject.slice(5)] : ['model', said.subject];
  const start = START + BigInt(said.second) * SECOND;
  const times = { traceId: newTraceId(), spanId: newSpanId(), start, failed: said.failed };
  return { ...(kind === 'tool' ? toolRun(name, attributes) : chat(name, attributes)), ...times };
}

/** Numbers that shuffle and cut a list: the same for the same list, so that a failure can be seen again. */
const orderArbitrary = fc.record({
  keys: fc.array(fc.nat(), { minLength: 40, maxLength: 40 }),
  cut: fc.integer({ min: 1, max: 7 }),
});

test('folding: in whatever order, in whatever batches, however often they come, spans make the same observations', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(spanArbitrary, { minLength: 1, maxLength: 20 }),
      orderArbitrary,
      async (said: Said[], { keys, cut }) => {
        const spans = said.map(spanOf);
        const plain = await observedOf([spans]);
        const repeated = [...spans, ...spans];
        const order = repeated.map((span, index) => ({ span, key: keys[index % keys.length] ?? 0, index }));
        const shuffled = order.toSorted((a, b) => a.key - b.key || b.index - a.index).map(({ span }) => span);
        const batches: SpanInput[][] = [];
        for (let at = 0; at < shuffled.length; at += cut) batches.push(shuffled.slice(at, at + cut));
        expect(await observedOf(batches)).toEqual(plain);
      },
    ),
    { numRuns: runs(40) },
  );
}, 240_000);

/** What a new tenant has observed once it got these batches, all but what the order may decide. */
async function observedOf(batches: SpanInput[][]): Promise<unknown[]> {
  const tenant = await newTenant(server, unique('folding'));
  for (const batch of batches) {
    await server.ok('POST', '/v1/traces', { as: tenant.sender, body: exportRequest(batch) });
  }
  const providers = await all(server, '/v1/providers?limit=100', tenant.operator);
  const observations = await all(server, '/v1/runtime-observations?limit=100', tenant.operator);
  return observations
    .map(({ providerId, kind, name, occurrences, firstSeenAt, lastSeenAt, evidence, unknown, status, risk }) => ({
      provider: providers.find(({ id }) => id === providerId)?.name.toLowerCase(),
      // Of variants the first one is shown.
      name: kind === 'model' ? name.toLowerCase() : name,
      kind,
      occurrences,
      firstSeenAt,
      lastSeenAt,
      unknown,
      status,
      level: risk.level,
      errors: evidence.errors,
      names: evidence.names.toSorted(),
      addresses: evidence.serverAddresses.toSorted(),
    }))
    .toSorted((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b)));
}

const commandArbitrary = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('see' as const),
      model: fc.constantFrom('a', 'A', 'b', 'c'),
      by: fc.nat({ max: 2 }),
      provider: fc.constantFrom('openai', 'openai', 'elsewhere'),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('review' as const),
      at: fc.nat(),
      decision: fc.constantFrom('approved', 'rejected', 'rejected', 'ignored'),
    }),
  },
  fc.record({ do: fc.constant('reopen' as const), at: fc.nat(), status: fc.constantFrom('open', 'resolved') }),
  fc.record({
    do: fc.constant('declare' as const),
    model: fc.constantFrom('a', 'b', 'c'),
    status: fc.constantFrom('available', 'retired', 'blocked'),
  }),
  fc.record({ do: fc.constant('undeclare' as const), at: fc.nat() }),
  fc.record({ do: fc.constant('manifest' as const), models: fc.subarray(['a', 'b', 'c']) }),
);
type Command = typeof commandArbitrary extends fc.Arbitrary<infer T> ? T : never;

test('undo after apply restores the exact former state, whatever came before', async () => {
  let undone = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(commandArbitrary, { minLength: 3, maxLength: 14 }), fc.nat(), async (commands, which) => {
      const world = await newWorld();
      for (const command of commands) await world.obey(command);
      const open = await world.open();
      if (open.length === 0) return;
      const recommendation = open[which % open.length];
      const before = await world.state();
      const body = { recommendationIds: [recommendation.id] };
      const path = `/v1/providers/${recommendation.providerId}/recommendations/apply`;
      const as = world.tenant.operator;
      const dry = await server.ok('POST', path, { as, body: { ...body, dryRun: true } });
      expect(await world.state()).toEqual(before);
      const { applied } = await server.ok('POST', path, { as, body });
      expect(applied).toHaveLength(1);
      expect([applied[0].change.before, applied[0].change.after]).toEqual([
        dry.applied[0].change.before,
        dry.applied[0].change.after,
      ]);
      expect(await world.state()).not.toEqual(before);
      await server.ok('POST', `/v1/recommendations/${recommendation.id}/undo`, { as });
      expect(await world.state()).toEqual(before);
      undone += 1;
    }),
    { numRuns: runs(120) },
  );
  expect(undone).toBeGreaterThan(runs(40));
}, 240_000);

test('an undo after anything else is done or refused, and never brings a withdrawn approval back', async () => {
  const histories = fc.tuple(
    fc.array(commandArbitrary, { minLength: 3, maxLength: 10 }),
    fc.array(commandArbitrary, { minLength: 1, maxLength: 6 }),
  );
  const answers = new Set<number>();
  await fc.assert(
    fc.asyncProperty(histories, fc.nat(), async ([before, between], which) => {
      const world = await newWorld();
      const as = world.tenant.operator;
      for (const command of before) await world.obey(command);
      const recommendation = at(await world.open(), which);
      if (!recommendation) return;
      const path = `/v1/providers/${recommendation.providerId}/recommendations/apply`;
      await server.ok('POST', path, { as, body: { recommendationIds: [recommendation.id] } });
      for (const command of between) await world.obey(command);
      const reviews = new Map((await world.observations()).map(({ id, review }) => [id, review?.decision ?? null]));
      const { status } = await server.call('POST', `/v1/recommendations/${recommendation.id}/undo`, { as });
      answers.add(status);
      expect([200, 409]).toContain(status);
      for (const { id, status: standing, review } of await world.observations()) {
        if (standing !== 'approved') continue;
        expect([review?.decision, reviews.get(id)]).toEqual(['approved', 'approved']);
      }
    }),
    { numRuns: runs(60) },
  );
  expect(answers).toContain(200);
}, 240_000);

/** A tenant with senders in the whole of it and in two sub-tenants, and all that can be seen of its governance. */
async function newWorld() {
  const tenant: Tenant = await newTenant(server, unique('undo'));
  const { tenantId, operator: as } = tenant;
  const senders = [
    tenant.sender,
    await accountWithKey(server, { tenantId, subTenantId: 'east' }, ['traces:write']),
    await accountWithKey(server, { tenantId, subTenantId: 'west' }, ['traces:write']),
  ];
  const gateway = await server.ok('POST', '/v1/gateways', {
    as,
    body: { name: 'edge', providerIds: [tenant.provider.id] },
  });
  const observations = () => all(server, '/v1/runtime-observations?limit=100', as);
  const open = async (): Promise<Body[]> => {
    const providers = await all(server, '/v1/providers?limit=100', as);
    const lists = providers.map(({ id }) => all(server, `/v1/providers/${id}/recommendations?status=open`, as));
    return (await Promise.all(lists)).flat();
  };

  return {
    tenant,
    open,
    observations,
    async obey(command: Command): Promise<void> {
      server.travel(1000);
      switch (command.do) {
        case 'see': {
          const start = BigInt(server.services.now().getTime()) * 1_000_000n;
          const span = { ...chat(command.model, { 'gen_ai.provider.name': command.provider }), start };
          await server.ok('POST', '/v1/traces', { as: senders[command.by] ?? null, body: exportRequest([span]) });
          return;
        }
        case 'review': {
          const found = at(await observations(), command.at);
          if (found) await tenant.review(found.id, command.decision);
          return;
        }
        case 'reopen': {
          const found = at(await observations(), command.at);
          const body = { status: command.status };
          if (found) await server.ok('PUT', `/v1/runtime-observations/${found.id}`, { as, body });
          return;
        }
        case 'declare': {
          const found = (await tenant.items()).find(({ name }) => name.toLowerCase() === command.model);
          const { status } = command;
          if (found) await server.ok('PUT', `${tenant.path}/inventory/${found.id}`, { as, body: { status } });
          else {
            const body = { kind: 'model', name: command.model, status };
            await server.ok('POST', `${tenant.path}/inventory`, { as, body });
          }
          return;
        }
        case 'undeclare': {
          const found = at(await tenant.items(), command.at);
          if (found) await server.ok('DELETE', `${tenant.path}/inventory/${found.id}`, { as });
          return;
        }
        case 'manifest': {
          const declares = command.models.map((name) => ({ provider: 'openai', kind: 'model', name }));
          await server.ok('POST', '/v1/manifests', { as, body: { name: 'agents', kind: 'agent', spec: { declares } } });
        }
      }
    },
    /** All but when it changed, and which of several tasks about the same it is. */
    async state(): Promise<unknown> {
      const { grants } = await server.ok('POST', `/v1/gateways/${gateway.id}/sessions`, { as });
      return {
        grants,
        items: (await tenant.items()).map(untimed),
        observations: (await observations()).map(untimed),
        recommendations: (await open()).map(untimed),
        providers: (await all(server, '/v1/providers?limit=100', as)).map(untimed),
        tasks: (await tenant.tasks()).map(({ kind, subject }) => `${kind} ${subject.id}`).toSorted(),
      };
    },
  };
}

function untimed(record: Body): Body {
  return { ...record, updatedAt: null };
}

function at(list: readonly Body[], index: number): Body {
  return list[index % Math.max(1, list.length)];
}
