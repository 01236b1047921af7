import { newId } from '@quartermaster/db/ids.ts';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { accountWithKey, unique } from '../support/people.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { LOOPBACK, startPeer } from './peers.ts';
import { SYNC_LIMITS, sync, testServer, WAIT, waiting } from './waiting.ts';

/** For the tests that neither move the clock nor wait for the schedule. */
let server: TestServer;
beforeAll(async () => {
  server = await startTestServer(LOOPBACK, { syncLimits: SYNC_LIMITS });
});
afterAll(() => server.stop());

test('the newest hundred finished sync tasks of a provider are kept', async () => {
  const peer = await startPeer((_req, res) => void res.end('{"object":"list","data":[]}'));
  const body = { name: 'often', kind: 'llm', baseUrl: peer.url };
  const provider = await server.ok('POST', '/v1/providers', { as: server.admin, body });
  const first = (await sync(server, provider)).body.taskId;
  const tasks: string[] = [first, ...(await copiesOfTask(server, first, 100))];
  server.travel(1000);
  for (let count = 0; count < 2; count += 1) tasks.push((await sync(server, provider)).body.taskId);
  const statuses = await Promise.all(
    tasks.map(async (id) => (await server.call('GET', `/v1/operator/tasks/${id}`, { as: server.admin })).status),
  );
  // A sync removes surplus tasks when it begins.
  expect(statuses).toEqual(tasks.map((_, index) => (index < 2 ? 404 : 200)));
});

test('regression: tenants with more due providers than can be synced in time take turns with another tenant', async () => {
  const server = await testServer();
  const tenantIds = [unique('many'), unique('many'), unique('few')];
  for (const tenantId of tenantIds) await accountWithKey(server, { tenantId });
  const [one, two, other] = tenantIds.map((tenantId) => ({ tenantId, syncIntervalSeconds: 300 }));
  const many: Awaited<ReturnType<typeof waiting>>[] = [];
  for (const body of [one, one, one, two, two, two]) many.push(await waiting(server, body));
  const few = await waiting(server, other);
  const due = (id: string, at: string) =>
    server.services.db.updateTable('providers').set({ next_sync_at: at }).where('id', '=', id).execute();
  for (const { provider } of many) await due(provider.id, '2000-01-01T00:00:00.000Z');
  const asked = () => many.filter(({ peer }) => peer.requests.length > 0);
  await vi.waitFor(() => expect(asked()).toHaveLength(4), WAIT);
  await due(few.provider.id, '2001-01-01T00:00:00.000Z');
  asked()[0]?.answer();
  await few.asked();
  expect(asked()).toHaveLength(4);
  for (const { answer } of [...many, few]) answer();
});

test('regression: tenants whose providers are due from time to time take turns with one whose providers always are', async () => {
  const server = await testServer();
  const tenantOf = async (name: string) => {
    const tenantId = unique(name);
    await accountWithKey(server, { tenantId });
    return { tenantId, syncIntervalSeconds: 300 };
  };
  const [always, one, other] = [await tenantOf('always'), await tenantOf('one'), await tenantOf('other')];
  const [holds, alsoHolds] = [await tenantOf('holds'), await tenantOf('holds')];
  const start = async ({ provider, asked }: Awaited<ReturnType<typeof waiting>>, year: number) => {
    const at = { next_sync_at: `${year}-01-01T00:00:00.000Z` };
    await server.services.db.updateTable('providers').set(at).where('id', '=', provider.id).execute();
    return asked;
  };
  // All but one place for syncs are taken.
  const held = [await waiting(server, holds), await waiting(server, holds), await waiting(server, alsoHolds)];
  for (const sync of held) await (await start(sync, 2000))();
  const [first, second] = [await waiting(server, always), await waiting(server, always)];
  await (await start(first, 2001))();
  await start(second, 2002);
  let before = first;
  for (const body of [one, other]) {
    const next = await waiting(server, body);
    const asked = await start(next, 2003);
    before.answer();
    await asked();
    before = next;
  }
  const again = await waiting(server, one);
  await start(again, 2003);
  before.answer();
  await second.asked();
  expect(again.peer.requests).toEqual([]);
  for (const { answer } of [...held, first, second, again]) answer();
});

/** Stores copies of a finished task that began later, one a millisecond. A hundred syncs would take seconds. Returns their ids. */
async function copiesOfTask({ services }: TestServer, taskId: string, count: number): Promise<string[]> {
  const stored = services.db.selectFrom('operator_tasks').selectAll().where('id', '=', taskId);
  const task = await stored.executeTakeFirstOrThrow();
  const copies = Array.from({ length: count }, (_, index) => {
    const began = new Date(Date.parse(task.created_at) + index + 1);
    return { ...task, id: newId('task', began), created_at: began.toISOString() };
  });
  await services.db.insertInto('operator_tasks').values(copies).execute();
  return copies.map(({ id }) => id);
}
