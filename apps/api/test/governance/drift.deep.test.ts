import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LOOPBACK } from '../inventory-sync/peers.ts';
import { expectProblem } from '../endpoints/harness.ts';
import { type Body, serverOfTest, startTestServer, type TestServer } from '../support/server.ts';
import { untimed } from './loop-support.ts';
import { REWORDED, SEARCH, toolServer as startToolServer, WITH_TOKEN } from './tool-server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer(LOOPBACK);
});
afterAll(() => server.stop());

const toolServer = () => startToolServer(server);

const kindsOf = (recommendations: Body[]): string[] => recommendations.map(({ kind }) => kind);

describe('a drift', () => {
  test('that is approved after its recommendation was dismissed is recommended again, and {} accepts it', async () => {
    const at = await toolServer();
    at.tools['search'] = WITH_TOKEN;
    await at.sync();
    const [{ id }] = (await at.recommendations()) as [Body];
    const dismiss = (id: string) =>
      server.ok('POST', `/v1/recommendations/${id}/dismiss`, { as: at.as, body: { reason: 'later' } });
    await dismiss(id);
    await at.sync();
    expect(await at.recommendations()).toEqual([]);
    await at.review('approved');
    const [again] = (await at.recommendations()) as [Body];
    expect(again).toMatchObject({ kind: 'accept_drift' });
    await dismiss(again.id);
    await at.sync();
    expect(await at.recommendations()).toEqual([]);
    await at.review('approved');
    expect(await at.apply()).toMatchObject({ applied: [{ kind: 'accept_drift' }], skipped: [] });
    expect(await at.item()).toMatchObject({ drift: null });
  });

  test.each(['ignored', 'rejected'])(
    'a different change after one that was %s opens a review task again',
    async (decision) => {
      const at = await toolServer();
      at.tools['search'] = WITH_TOKEN;
      await at.sync();
      await at.review(decision);
      at.tools['search'] = REWORDED;
      await at.sync();
      const observation = await at.observation();
      expect(observation).toMatchObject({
        status: 'open',
        review: null,
        drift: { after: { description: REWORDED.description } },
      });
      expect(await at.recommendations()).toMatchObject([{ kind: 'accept_drift', observationIds: [observation.id] }]);
      expect(await at.reviews()).toHaveLength(1);
    },
  );

  test('of a rejected subject does not change the decision; if it is still used, a block is recommended', async () => {
    const at = await toolServer();
    await at.use('search');
    await at.review('rejected');
    at.tools['search'] = REWORDED;
    await at.sync();
    expect(await at.observation()).toMatchObject({
      status: 'rejected',
      review: { decision: 'rejected' },
      drift: { after: { description: REWORDED.description } },
    });
    expect([await at.recommendations(), await at.reviews()]).toEqual([[], []]);
    await at.use('search');
    const observation = await at.observation();
    expect(observation).toMatchObject({ status: 'open', review: { decision: 'rejected' } });
    expect(observation.risk.factors.map(({ factor }: Body) => factor)).toEqual(['rejected_again', 'drift']);
    expect(kindsOf(await at.recommendations())).toEqual(['block_item']);
    expect((await at.apply()).applied.map(({ kind }: Body) => kind)).toEqual(['block_item']);
    expect(await at.item()).toMatchObject({ status: 'blocked', description: SEARCH.description });
  });

  test('of an unused tool that is blocked does not say that agents use it, until they do', async () => {
    const at = await toolServer();
    at.tools['search'] = WITH_TOKEN;
    await at.sync();
    await at.setStatus('blocked');
    const blockedUses = async () =>
      (await server.ok('GET', '/v1/runtime-observations?view=blocked', { as: at.as })).items.map(
        ({ name }: Body) => name,
      );
    const reasons = async () => (await at.observation()).risk.factors.map(({ reason }: Body) => reason);
    expect(await reasons()).toContain('The inventory blocks it.');
    expect(await blockedUses()).toEqual([]);
    const disable = (status: string) => server.ok('PUT', at.path, { as: at.as, body: { status } });
    await disable('disabled');
    expect(await reasons()).toContain('The provider tools is disabled.');
    expect(await blockedUses()).toEqual([]);
    await disable('active');
    await at.use('search');
    expect(await reasons()).toContain('The inventory blocks it, but agents use it.');
    expect(await blockedUses()).toEqual(['search']);
  });

  test('that was rejected and is changed back ends: the tool with its accepted definition is resolved', async () => {
    const at = await toolServer();
    at.tools['search'] = WITH_TOKEN;
    await at.sync();
    await at.review('rejected');
    at.tools['search'] = SEARCH;
    await at.sync();
    expect(await at.observation()).toMatchObject({ status: 'resolved', review: null, drift: null });
    await at.use('search');
    expect(await at.observation()).toMatchObject({ status: 'resolved' });
    expect([await at.recommendations(), await at.reviews()]).toEqual([[], []]);
  });

  test('ends when the unused item is deleted, and nothing is recommended', async () => {
    const at = await toolServer();
    at.tools['search'] = WITH_TOKEN;
    await at.sync();
    const { id } = await at.item();
    await server.ok('DELETE', `${at.path}/inventory/${id}`, { as: at.as });
    const observation = await at.observation();
    expect(observation).toMatchObject({ unknown: true, status: 'resolved', drift: null });
    expect([await at.recommendations(), await at.reviews()]).toEqual([[], []]);
    const path = `/v1/runtime-observations/${observation.id}`;
    expect(await server.ok('PUT', path, { as: at.as, body: { status: 'open' } })).toMatchObject({ status: 'resolved' });
    await at.use('search');
    expect(await at.observation()).toMatchObject({ id: observation.id, status: 'open', occurrences: 1 });
    expect(kindsOf(await at.recommendations())).toEqual(['register_item']);
  });
});

test.each([
  ['opened', 'rejected', 'open'],
  ['superseded', 'approved', 'superseded'],
])('an undo changes no recommendation that was %s after the apply', async (_, decision, status) => {
  const at = await toolServer();
  at.tools['search'] = WITH_TOKEN;
  await at.sync();
  const [{ id }] = (await at.recommendations()) as [Body];
  await at.review('approved');
  expect((await at.apply()).applied).toMatchObject([{ id, kind: 'accept_drift' }]);
  await at.review('rejected');
  await at.use('search');
  await at.review(decision);
  const later = await at.recommendations(status);
  expect(kindsOf(later)).toEqual(['block_item']);
  server.travel(1000);
  expect((await at.undo(id)).status).toBe(200);
  expect(await at.recommendations(status)).toEqual(later);
});

describe('a tool that vanished', () => {
  const toolServer = () => startToolServer(server, ['kept']);

  test.each(['retire_item', 'block_item'])(
    'regression: an undo of %s does not make a tool missing that a sync found again',
    async (applied) => {
      const at = await toolServer();
      await at.use('search');
      await at.review('rejected');
      await at.use('search');
      delete at.tools['search'];
      await at.sync();
      const { id } = (await at.recommendations()).find(({ kind }) => kind === applied) ?? {};
      await at.apply({ recommendationIds: [id] });
      at.tools['search'] = SEARCH;
      await at.sync();
      const found = await at.item();
      expectProblem(await at.undo(id), 409, 'recommendation_built_on');
      expect(await at.item()).toEqual(found);
      // After a sync that does not find it, the former state is true again.
      delete at.tools['search'];
      await at.sync();
      expect((await at.undo(id)).status).toBe(200);
      expect(await at.item()).toMatchObject({ status: 'missing' });
    },
  );

  test('whose retirement was dismissed is not recommended again until it came back and vanished again', async () => {
    const at = await toolServer();
    delete at.tools['search'];
    await at.sync();
    const [{ id }] = (await at.recommendations()) as [Body];
    const body = { reason: 'the server is being moved' };
    await server.ok('POST', `/v1/recommendations/${id}/dismiss`, { as: at.as, body });
    await at.sync();
    expect(await at.recommendations()).toEqual([]);
    expect(await at.item()).toMatchObject({ status: 'missing' });
    at.tools['search'] = SEARCH;
    await at.sync();
    delete at.tools['search'];
    await at.sync();
    expect(kindsOf(await at.recommendations())).toEqual(['retire_item']);
  });

  test('gets the same retirement recommendation back when a block in between is undone', async () => {
    const at = await toolServer();
    await at.use('search');
    await at.review('rejected');
    await at.use('search');
    delete at.tools['search'];
    await at.sync();
    const open = (await at.recommendations()).map(untimed);
    expect(kindsOf(open).toSorted()).toEqual(['block_item', 'retire_item']);
    const retirement = open.find(({ kind }) => kind === 'retire_item');
    const block = open.find(({ kind }) => kind === 'block_item');
    await at.apply({ recommendationIds: [block?.id] });
    expect(await at.recommendations()).toEqual([]);
    const idsOf = (recommendations: Body[]) => recommendations.map(({ id }) => id);
    expect(idsOf(await at.recommendations('superseded'))).toContain(retirement?.id);

    expect((await at.undo(block?.id)).status).toBe(200);
    const again = (await at.recommendations()).map(untimed);
    expect(again.toSorted((a, b) => (a.kind < b.kind ? -1 : 1))).toEqual([block, retirement]);
    expect(idsOf(await at.recommendations('superseded'))).not.toContain(retirement?.id);
  });

  test.each(['block_item', 'retire_item'])(
    'has the same recommendations after %s was opened, applied and undone within a millisecond',
    async (applied) => {
      // The clock stands still, except where the steps move it.
      const stopped = await serverOfTest(LOOPBACK);
      stopped.freeze();
      const at = await startToolServer(stopped, ['kept']);
      await at.use('search');
      await at.review('rejected');
      delete at.tools['search'];
      await at.sync();
      await at.use('search');
      const open = (await at.recommendations()).toSorted((a, b) => (a['kind'] < b['kind'] ? -1 : 1));
      expect(kindsOf(open)).toEqual(['block_item', 'retire_item']);
      const { id } = open.find(({ kind }) => kind === applied) ?? {};
      // A block supersedes the retirement. A retirement replaces the block by one of a retired item.
      await stopped.ok('POST', `${at.path}/recommendations/apply`, { as: at.as, body: { recommendationIds: [id] } });
      const opened = await at.recommendations();
      expect(kindsOf(opened)).toEqual(applied === 'block_item' ? [] : ['block_item']);
      expect(opened.map((one) => one['id'])).not.toContain(open[0]?.['id']);
      expect((await at.undo(id)).status).toBe(200);
      const again = (await at.recommendations()).toSorted((a, b) => (a['kind'] < b['kind'] ? -1 : 1));
      expect(again.map(untimed)).toEqual(open.map(untimed));
    },
  );
});
