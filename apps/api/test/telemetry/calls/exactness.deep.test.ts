import { onPostgres } from '@quartermaster/db/testing/test-database.ts';
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../../support/server.ts';
import { newTraceId } from '../traces/sending.ts';
import { callsTenant } from './calls-tenant.ts';
import { countsOf, spansOf, trueCalls } from './true-calls.ts';

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

test('counts equal the true calls, for any split, order and repetition of their spans', async () => {
  const tenant = await callsTenant(server);
  const expected: Record<string, [number, number, number]> = {};
  await fc.assert(
    fc.asyncProperty(trueCalls, fc.infiniteStream(fc.nat(1000)), async (calls, random) => {
      const spans = spansOf(calls, newTraceId());
      const next = () => random.next().value ?? 0;
      const shuffled = spans.map((span) => ({ span, place: next() })).toSorted((a, b) => a.place - b.place);
      const batches = Map.groupBy(shuffled, () => next() % 4);
      for (const batch of batches.values()) {
        const sent = batch.map(({ span }) => span);
        await tenant.send(sent);
        // A retry, and a retry together with the next spans.
        if (next() % 3 === 0) await tenant.send(sent.slice(0, 1 + (next() % sent.length)));
      }
      for (const [key, [all, errors, tokens]] of Object.entries(countsOf(calls, 'travel-agent'))) {
        const sums = (expected[key] ??= [0, 0, 0]);
        sums[0] += all;
        sums[1] += errors;
        sums[2] += tokens;
      }
      const usage = await tenant.usage();
      const counted = Object.fromEntries(
        Object.entries(usage).map(([key, sums]) => [key, [sums.calls, sums.errors, sums.tokens]]),
      );
      expect(counted).toEqual(expected);
      const byDay = await tenant.usage('day');
      expect(byDay).toEqual(usage);
      const observed = await tenant.observed();
      const bySubject: Record<string, number> = {};
      for (const [key, [all]] of Object.entries(expected)) {
        const subject = key.slice(0, key.indexOf(' by '));
        bySubject[subject] = (bySubject[subject] ?? 0) + all;
      }
      expect(observed).toEqual(bySubject);
    }),
    { numRuns: onPostgres() ? 8 : 40, endOnFailure: true },
  );
});

test('counts equal the true calls, also if their providers are deleted while the spans arrive', async () => {
  const { db } = server.services;
  const existing = (tenantId: string) =>
    db
      .selectFrom('providers')
      .select('id')
      .where('tenant_id', '=', tenantId)
      .where('status', '<>', 'deleted')
      .execute();
  /** The calls of each provider that is not deleted: in observations, and in usage. */
  const countedAtExisting = async (tenantId: string) => {
    const ids = (await existing(tenantId)).map(({ id }) => id);
    const observed = await db
      .selectFrom('runtime_observations')
      .select(['provider_id', ({ fn }) => fn.sum<number>('occurrences').as('calls')])
      .where('tenant_id', '=', tenantId)
      .groupBy('provider_id')
      .execute();
    const used = await db
      .selectFrom('usage_rollups as sums')
      .innerJoin('usage_series as series', (join) =>
        join.onRef('series.tenant_id', '=', 'sums.tenant_id').onRef('series.id', '=', 'sums.series_id'),
      )
      .select(['series.provider_id', ({ fn }) => fn.sum<number>('sums.calls').as('calls')])
      .where('sums.tenant_id', '=', tenantId)
      .where('sums.period', '=', 'day')
      .groupBy('series.provider_id')
      .execute();
    return [observed, used].map((rows) =>
      Object.fromEntries(rows.flatMap(({ provider_id: id, calls }) => (ids.includes(id) ? [[id, Number(calls)]] : []))),
    );
  };
  await fc.assert(
    fc.asyncProperty(trueCalls, fc.infiniteStream(fc.nat(1000)), async (calls, random) => {
      const tenant = await callsTenant(server);
      const next = () => random.next().value ?? 0;
      const shuffled = spansOf(calls, newTraceId())
        .map((span) => ({ span, place: next() }))
        .toSorted((a, b) => a.place - b.place);
      const batches = Map.groupBy(shuffled, () => next() % 5);
      for (const batch of batches.values()) {
        await tenant.send(batch.map(({ span }) => span));
        for (const { id } of await existing(tenant.tenantId)) {
          if (next() % 2 === 0) await server.ok('DELETE', `/v1/providers/${id}`, { as: server.admin });
        }
      }
      const usage = await tenant.usage();
      const counted = Object.entries(usage).map(([key, sums]) => [key, [sums.calls, sums.errors, sums.tokens]]);
      expect(Object.fromEntries(counted)).toEqual(countsOf(calls, 'travel-agent'));
      expect(await tenant.usage('day')).toEqual(usage);
      const [observed, used] = await countedAtExisting(tenant.tenantId);
      expect(observed).toEqual(used);
    }),
    { numRuns: onPostgres() ? 8 : 40, endOnFailure: true },
  );
});
