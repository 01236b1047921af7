import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LOOPBACK } from '../inventory-sync/peers.ts';
import { type Body, startTestServer, type TestServer } from '../support/server.ts';
import { untimed } from './loop-support.ts';
import { REWORDED, SEARCH, toolServer as startToolServer, WITH_TOKEN } from './tool-server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer(LOOPBACK);
});
afterAll(() => server.stop());

const toolServer = () => startToolServer(server);

const kindsOf = (recommendations: Body[]): string[] => recommendations.map(({ kind }) => kind);

function definitionOf({ schemaDigest, title, description, attributes }: Body) {
  return { schemaDigest, title, description, attributes };
}

describe.each([
  ['schema', WITH_TOKEN],
  ['only the description', REWORDED],
])('a tool whose %s changed', (_, changed) => {
  test('keeps the accepted definition, and opens an observation of high risk, a task and a recommendation, without any span', async () => {
    const at = await toolServer();
    const accepted = await at.item();
    expect(await at.observation()).toBeUndefined();
    at.tools['search'] = changed;
    const { syncedAt } = await at.sync();

    const { drift, ...item } = await at.item();
    expect([definitionOf(item), item.status]).toEqual([definitionOf(accepted), 'available']);
    expect(drift).toMatchObject({ description: changed.description, detectedAt: syncedAt });
    expect(drift.schemaDigest).not.toBe(accepted.schemaDigest);
    const observation = await at.observation();
    expect(observation).toMatchObject({
      providerId: at.provider.id,
      kind: 'tool',
      unknown: false,
      status: 'open',
      inventoryItemId: item.id,
      occurrences: 0,
      firstSeenAt: syncedAt,
      lastSeenAt: syncedAt,
      lastTraceId: null,
      lastSpanId: null,
      drift: { before: definitionOf(accepted), after: definitionOf(drift), detectedAt: syncedAt },
      risk: { level: 'high', factors: [{ factor: 'drift', reason: expect.stringContaining(syncedAt) }] },
    });
    expect(await at.reviews()).toMatchObject([
      {
        subject: { type: 'runtime_observation', id: observation.id },
        priority: 'high',
        title: expect.stringContaining('its definition changed'),
      },
    ]);
    expect(await at.recommendations()).toMatchObject([
      {
        kind: 'accept_drift',
        observationIds: [observation.id],
        change: {
          target: { type: 'inventory_item', id: item.id },
          before: { ...definitionOf(accepted), drift },
          after: { ...definitionOf(drift), drift: null },
        },
      },
    ]);
    await at.sync();
    expect(await at.recommendations()).toHaveLength(1);
  });

  test('is accepted by {} only after an approval, and an undo restores the former state', async () => {
    const at = await toolServer();
    at.tools['search'] = changed;
    await at.sync();
    const [{ id }] = (await at.recommendations()) as [Body];
    expect(await at.apply()).toMatchObject({ applied: [], skipped: [{ id, reason: 'needs_review' }] });
    await at.review('approved');
    const before = await at.state();
    expect(before).toMatchObject({ observation: { status: 'approved' }, open: [{ id }], reviews: [] });

    const { applied, skipped } = await at.apply();
    expect([applied[0].id, applied.length, skipped]).toEqual([id, 1, []]);
    expect(await at.item()).toMatchObject({ ...definitionOf(before.item.drift), status: 'available', drift: null });
    expect(await at.observation()).toMatchObject({ status: 'resolved', drift: null, risk: { level: 'low' } });
    expect(await at.sync()).toMatchObject({ updated: 0, unchanged: 1 });
    const { lastSeenAt } = await at.item();

    expect((await at.undo(id)).status).toBe(200);
    expect(await at.state()).toEqual({ ...before, item: { ...before.item, lastSeenAt } });
    expect(await at.sync()).toMatchObject({ updated: 0, unchanged: 1 });
    expect(await at.recommendations()).toMatchObject([{ id }]);
  });

  test('that is changed back supersedes the recommendation, resolves the observation and cancels the task', async () => {
    const at = await toolServer();
    const accepted = await at.item();
    at.tools['search'] = changed;
    await at.sync();
    const [{ id }] = (await at.recommendations()) as [Body];
    at.tools['search'] = SEARCH;
    expect(await at.sync()).toMatchObject({ updated: 1 });
    expect(definitionOf(await at.item())).toEqual(definitionOf(accepted));
    expect((await at.item()).drift).toBeNull();
    expect(await at.observation()).toMatchObject({ status: 'resolved', drift: null, risk: { level: 'low' } });
    expect(await at.recommendations()).toEqual([]);
    expect(await at.recommendations('superseded')).toMatchObject([{ id }]);
    expect(await at.reviews()).toEqual([]);
  });
});

describe('a drift', () => {
  test('opens the observation of earlier spans, and keeps its evidence', async () => {
    const at = await toolServer();
    await at.use('search');
    await at.use('search');
    const seen = await at.observation();
    expect(seen).toMatchObject({ status: 'resolved', occurrences: 2, risk: { level: 'low' } });
    at.tools['search'] = WITH_TOKEN;
    await at.sync();
    const { firstSeenAt, lastSeenAt, lastSpanId, evidence } = seen;
    expect(await at.observation()).toMatchObject({
      id: seen.id,
      status: 'open',
      occurrences: 2,
      firstSeenAt,
      lastSeenAt,
      lastSpanId,
      evidence,
      risk: { level: 'high', factors: [{ factor: 'drift' }] },
    });
  });

  test('without spans is first seen when a span reports it', async () => {
    const at = await toolServer();
    at.tools['search'] = WITH_TOKEN;
    const { syncedAt } = await at.sync();
    await at.use('search');
    const seen = await at.observation();
    expect(seen).toMatchObject({ status: 'open', occurrences: 1, lastTraceId: expect.any(String) });
    expect(seen.firstSeenAt > syncedAt).toBe(true);
    expect(kindsOf(await at.recommendations())).toEqual(['accept_drift']);
  });

  test('approved covers only that change: the next change opens again under another id', async () => {
    const at = await toolServer();
    at.tools['search'] = WITH_TOKEN;
    await at.sync();
    const [{ id: former }] = (await at.recommendations()) as [Body];
    await at.review('approved');
    at.tools['search'] = REWORDED;
    await at.sync();
    expect(await at.observation()).toMatchObject({ status: 'open', review: null });
    const [{ id }] = (await at.recommendations()) as [Body];
    expect(await at.apply()).toMatchObject({ applied: [], skipped: [{ id, reason: 'needs_review' }] });
    const named = await at.apply({ recommendationIds: [former] });
    expect(named).toMatchObject({ applied: [], skipped: [{ id: former, reason: 'not_open' }] });
    expect((await at.item()).description).toBe(SEARCH.description);
  });

  test.each(['rejected', 'ignored'])(
    'that was %s is dismissed, and opens nothing while it stays the same',
    async (decision) => {
      const at = await toolServer();
      const accepted = await at.item();
      at.tools['search'] = WITH_TOKEN;
      await at.sync();
      const [{ id }] = (await at.recommendations()) as [Body];
      await at.review(decision);
      expect(await at.recommendations('dismissed')).toMatchObject([{ id, kind: 'accept_drift' }]);
      const quiet = await at.state();
      expect(quiet).toMatchObject({ observation: { status: decision }, open: [], reviews: [] });
      const { syncedAt } = await at.sync();
      expect(await at.state()).toEqual({ ...quiet, item: { ...quiet.item, lastSeenAt: syncedAt } });
      expect(await at.apply()).toMatchObject({ applied: [], skipped: [] });
      expect(definitionOf(await at.item())).toEqual(definitionOf(accepted));
    },
  );

  test.each(['blocked', 'retired'])('of a %s item opens no task, until the item is available again', async (status) => {
    const at = await toolServer();
    const accepted = await at.item();
    await at.setStatus(status);
    at.tools['search'] = WITH_TOKEN;
    await at.sync();
    expect(await at.item()).toMatchObject({ ...definitionOf(accepted), status });
    expect([await at.observation(), await at.recommendations(), await at.reviews()]).toEqual([undefined, [], []]);
    expect(await at.apply()).toMatchObject({ applied: [], skipped: [] });
    await at.setStatus('available');
    expect(kindsOf(await at.recommendations())).toEqual(['accept_drift']);
    expect(await at.reviews()).toHaveLength(1);

    await at.setStatus(status);
    expect(await at.observation()).toMatchObject({ status: 'resolved', drift: null, occurrences: 0 });
    expect([await at.recommendations(), await at.reviews()]).toEqual([[], []]);
  });
});

describe('a tool that vanished', () => {
  const toolServer = () => startToolServer(server, ['kept']);

  test('becomes missing, and is retired by {} without a review; an undo makes it missing again, a sync that finds it available', async () => {
    const at = await toolServer();
    const { lastSeenAt } = await at.item();
    delete at.tools['search'];
    expect(await at.sync()).toMatchObject({ removed: 1 });
    const missing = untimed(await at.item());
    expect(missing).toMatchObject({ status: 'missing', lastSeenAt });
    const open = (await at.recommendations()).map(untimed);
    expect(open).toMatchObject([
      {
        kind: 'retire_item',
        reason: expect.stringContaining(lastSeenAt),
        change: { target: { id: missing.id }, before: { status: 'missing' }, after: { status: 'retired' } },
      },
    ]);
    const [{ id }] = open as [Body];
    expect(await at.apply()).toMatchObject({ applied: [{ id, status: 'applied' }], skipped: [] });
    expect(await at.item()).toMatchObject({ status: 'retired' });
    await at.sync();
    expect(await at.recommendations()).toEqual([]);

    expect((await at.undo(id)).status).toBe(200);
    expect(untimed(await at.item())).toEqual(missing);
    expect((await at.recommendations()).map(untimed)).toEqual(open);
    at.tools['search'] = SEARCH;
    expect(await at.sync()).toMatchObject({ updated: 1 });
    expect(await at.item()).toMatchObject({ status: 'available', drift: null });
    expect(await at.recommendations()).toEqual([]);
    expect(await at.recommendations('superseded')).toMatchObject([{ id }]);
  });

  test('that comes back with another definition is available, and drifted', async () => {
    const at = await toolServer();
    const accepted = await at.item();
    delete at.tools['search'];
    await at.sync();
    at.tools['search'] = REWORDED;
    await at.sync();
    const item = await at.item();
    expect([item.status, definitionOf(item)]).toEqual(['available', definitionOf(accepted)]);
    expect(item.drift.description).toBe(REWORDED.description);
    expect(kindsOf(await at.recommendations())).toEqual(['accept_drift']);
  });
});
