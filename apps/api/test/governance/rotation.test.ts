import { afterAll, beforeAll, expect, test } from 'vitest';
import { updateRotationTasks } from '../../src/resources/credentials/expiry.ts';
import { eraseReplacedSecrets } from '../../src/resources/provider-credentials/service.ts';
import { LOOPBACK } from '../inventory-sync/peers.ts';
import { type Body, startTestServer, type TestServer } from '../support/server.ts';
import { untimed } from './loop-support.ts';
import { toolServer } from './tool-server.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer(LOOPBACK);
});
afterAll(() => server.stop());

/** A provider whose credential expires in 20 days, and the secrets that its server receives. */
async function withCredential() {
  const at = await toolServer(server);
  const put = (body: object): Promise<Body> =>
    server.ok('PUT', `${at.path}/credential`, { as: at.as, body: { scheme: null, header: 'X-Token', ...body } });
  const expiresAt = new Date(server.services.now().getTime() + 20 * DAY_MS).toISOString();
  const first = await put({ secret: 'first', expiresAt });
  return {
    ...at,
    first,
    expiresAt,
    put,
    /** Runs a sync. Returns the secrets that it sent. */
    sent: async (): Promise<unknown[]> => {
      const before = at.peer.requests.length;
      await at.sync();
      return [...new Set(at.peer.requests.slice(before).map(({ headers }) => headers['x-token']))];
    },
    credentials: async (): Promise<Body[]> => {
      const body = { providerId: at.provider.id };
      return (await server.ok('POST', '/v1/credentials/search', { as: at.as, body })).items;
    },
  };
}

/** The same after a rotation to a second credential. */
async function rotated() {
  const at = await withCredential();
  const second = await at.put({ secret: 'second', standby: true });
  const [recommendation] = (await at.recommendations()) as [Body];
  await at.apply();
  return { ...at, second, id: recommendation.id };
}

test('rotate_credential opens when the credential expires within 14 days, and is skipped until there is a successor', async () => {
  const at = await withCredential();
  await updateRotationTasks(server.services);
  expect(await at.recommendations()).toEqual([]);
  server.travel(7 * DAY_MS);
  await updateRotationTasks(server.services);
  await updateRotationTasks(server.services);
  const open = await at.recommendations();
  expect(open).toMatchObject([
    {
      kind: 'rotate_credential',
      observationIds: [],
      reason: expect.stringContaining(at.expiresAt),
      change: {
        target: { type: 'credential', id: at.first.id },
        before: { credentialId: at.first.id },
        after: { credentialId: null },
      },
    },
  ]);
  const skipped = [{ id: open[0].id, reason: 'needs_successor' }];
  expect(await at.apply()).toMatchObject({ applied: [], skipped });
  expect(await at.apply({ recommendationIds: [open[0].id] })).toMatchObject({ applied: [], skipped });
  expect(await at.sent()).toEqual(['first']);
});

test('with a credential on standby, {} makes the next sync send it; after an undo the old one is sent again', async () => {
  const at = await withCredential();
  server.travel(7 * DAY_MS);
  await updateRotationTasks(server.services);
  const second = await at.put({ secret: 'second', standby: true });
  expect(await at.sent()).toEqual(['first']);
  const open = await at.recommendations();
  expect(open).toMatchObject([{ kind: 'rotate_credential', change: { after: { credentialId: second.id } } }]);
  const before = (await at.credentials()).map(untimed);

  const { applied } = await at.apply();
  expect(applied).toMatchObject([{ id: open[0].id, status: 'applied' }]);
  expect(JSON.stringify(applied)).not.toMatch(/first|second/);
  expect(await at.sent()).toEqual(['second']);
  expect(await at.recommendations()).toEqual([]);
  const states = (await at.credentials()).map(({ id, slot, status }) => [id, slot, status]);
  expect(states).toEqual([
    [second.id, 'current', 'active'],
    [at.first.id, 'former', 'revoked'],
  ]);

  expect((await at.undo(open[0].id)).status).toBe(200);
  expect((await at.credentials()).map(unused)).toEqual(before.map(unused));
  expect((await at.recommendations()).map(untimed)).toEqual(open.map(untimed));
  expect(await at.sent()).toEqual(['first']);
});

test('a rotation cannot be undone a day later because the former secret is erased; the answer says so', async () => {
  const at = await rotated();
  server.travel(23 * HOUR_MS);
  await eraseReplacedSecrets(server.services);
  expect((await at.undo(at.id)).status).toBe(200);
  await at.apply({ recommendationIds: [at.id] });
  server.travel(25 * HOUR_MS);
  await eraseReplacedSecrets(server.services);
  const { status, body } = await at.undo(at.id);
  expect([status, body.code]).toEqual([409, 'recommendation_built_on']);
  expect(body.detail).toMatch(/^The recommendation cannot be undone: the former secret was erased/);
  expect(await at.sent()).toEqual(['second']);
  expect(await at.recommendations('applied')).toMatchObject([{ id: at.id }]);
});

test.each([
  ['set as the current one', {}, 'credentialId has been changed'],
  ['stored as its successor', { standby: true }, 'another secret was stored'],
])('a rotation cannot be undone after another credential was %s', async (_, how, why) => {
  const at = await rotated();
  await at.put({ secret: 'third', ...how });
  const { status, body } = await at.undo(at.id);
  expect([status, body.code]).toEqual([409, 'recommendation_built_on']);
  expect(body.detail).toContain(why);
});

function unused(credential: Body): Body {
  return { ...untimed(credential), lastUsedAt: null };
}
