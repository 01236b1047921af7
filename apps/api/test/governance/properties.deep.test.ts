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
  nowInNanoseconds,
  type SpanInput,
  toolRun,
} from '../telemetry/traces/sending.ts';
import { newTenant, type Tenant, untimed } from './loop-support.ts';

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

/** How many random histories. Fewer on Postgres, where each statement goes over a socket. */
const runs = (full: number) => scaled({ usual: Math.ceil(full / (onPostgres() ? 20 : 6)), full });

const SECOND = 1_000_000_000n;
const START = 1_700_000_000n * SECOND;

// Few values each, so that every run contains several spellings of the same name and several providers.
const spanArbitrary = fc.record({
  subject: fc.constantFrom('gpt-5', 'GPT-5', 'openai/gpt-5', 'gpt-5-mini', 'tool find', 'tool Find'),
  provider: fc.constantFrom('openai', 'OpenAI', 'elsewhere', null),
  address: fc.constantFrom('api.openai.com', 'llm.internal', null, null),
  second: fc.nat({ max: 1000 }),
  failed: fc.boolean(),
});

type SpanFields = Parameters<typeof spanOf>[0];

function spanOf(fields: {
  subject: string;
  provider: string | null;
  address: string | null;
  second: number;
  failed: boolean;
}): SpanInput {
  const attributes = {
    ...(fields.provider !== null && { 'gen_ai.provider.name': fields.provider }),
    ...(fields.address !== null && { 'server.address': fields.address }),
  };
  const [kind, name] = fields.subject.startsWith('tool ')
    ? ['tool', fields.subject.slice(5)]
    : ['model', fields.subject];
  const start = START + BigInt(fields.second) * SECOND;
  const times = { traceId: newTraceId(), spanId: newSpanId(), start, failed: fields.failed };
  return { ...(kind === 'tool' ? toolRun(name, attributes) : chat(name, attributes)), ...times };
}

/** Numbers that shuffle a list and cut it into batches. fast-check repeats them with its seed. */
const orderArbitrary = fc.record({
  keys: fc.array(fc.nat(), { minLength: 40, maxLength: 40 }),
  cut: fc.integer({ min: 1, max: 7 }),
});

test('aggregation: spans lead to the same observations in any order, in any batches and after repeated delivery', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(spanArbitrary, { minLength: 1, maxLength: 20 }),
      orderArbitrary,
      async (fields: SpanFields[], { keys, cut }) => {
        const spans = fields.map(spanOf);
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
});

/** The observations of a new tenant after these batches, without the fields that depend on the order. */
async function observedOf(batches: SpanInput[][]): Promise<unknown[]> {
  const tenant = await newTenant(server, unique('aggregation'));
  for (const batch of batches) {
    await server.ok('POST', '/v1/traces', { as: tenant.sender, body: exportRequest(batch) });
  }
  const providers = await all(server, '/v1/providers?limit=100', tenant.operator);
  const observations = await all(server, '/v1/runtime-observations?limit=100', tenant.operator);
  return observations
    .map(({ providerId, kind, name, occurrences, firstSeenAt, lastSeenAt, evidence, unknown, status, risk }) => ({
      provider: providers.find(({ id }) => id === providerId)?.name.toLowerCase(),
      // The spelling that came first is shown.
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

/** A history in which an undo surely succeeds: a model is seen, and after the apply another one. */
const SEEN: Command = { do: 'see', model: 'a', by: 0, provider: 'openai' };

test('an undo right after an apply restores the exact former state, after any history', async () => {
  let undone = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(commandArbitrary, { minLength: 3, maxLength: 14 }), fc.nat(), async (commands, which) => {
      const world = await newWorld();
      for (const command of commands) await world.execute(command);
      const open = await world.open();
      if (open.length === 0) return;
      const recommendation = open[which % open.length];
      const before = await world.state();
      const body = { recommendationIds: [recommendation.id] };
      const path = `/v1/providers/${recommendation.providerId}/recommendations/apply`;
      const as = world.tenant.operator;
      const dryRun = { as, body: { ...body, dryRun: true } };
      const dry = await server.ok('POST', path, dryRun);
      expect(await world.state()).toEqual(before);
      // With a key the dry run is part of a transaction that commits.
      await server.ok('POST', path, { ...dryRun, headers: { 'idempotency-key': unique('dry-run') } });
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
});

test('an undo after other changes succeeds or is refused with 409, and never restores a withdrawn approval', async () => {
  const histories = fc.tuple(
    fc.array(commandArbitrary, { minLength: 3, maxLength: 10 }),
    fc.array(commandArbitrary, { minLength: 1, maxLength: 6 }),
  );
  const answers = new Set<number>();
  await fc.assert(
    fc.asyncProperty(histories, fc.nat(), async ([before, between], which) => {
      const world = await newWorld();
      const as = world.tenant.operator;
      for (const command of before) await world.execute(command);
      const recommendation = at(await world.open(), which);
      if (!recommendation) return;
      const path = `/v1/providers/${recommendation.providerId}/recommendations/apply`;
      await server.ok('POST', path, { as, body: { recommendationIds: [recommendation.id] } });
      for (const command of between) await world.execute(command);
      const reviews = new Map((await world.observations()).map(({ id, review }) => [id, review?.decision ?? null]));
      const { status } = await server.call('POST', `/v1/recommendations/${recommendation.id}/undo`, { as });
      answers.add(status);
      expect([200, 409]).toContain(status);
      for (const { id, status: reviewStatus, review } of await world.observations()) {
        if (reviewStatus !== 'approved') continue;
        expect([review?.decision, reviews.get(id)]).toEqual(['approved', 'approved']);
      }
    }),
    { numRuns: runs(60), examples: [[[[SEEN], [{ ...SEEN, model: 'b' }]], 0]] },
  );
  expect(answers).toContain(200);
});

/** A tenant with a sender of the whole tenant and one in each of two sub-tenants, and functions that read its governance. */
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
    async execute(command: Command): Promise<void> {
      server.travel(1000);
      switch (command.do) {
        case 'see': {
          const start = nowInNanoseconds(server);
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
    /** The governance state of the tenant, without `updatedAt` and without the ids of tasks. */
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

function at(list: readonly Body[], index: number): Body {
  return list[index % Math.max(1, list.length)];
}
