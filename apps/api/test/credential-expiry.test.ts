import { afterAll, beforeAll, expect, test } from 'vitest';
import { updateRotationTasks } from '../src/resources/credentials/expiry.ts';
import { accountWithKey, unique } from './support/people.ts';
import { type Body, startTestServer, type TestServer } from './support/server.ts';

const DAY = 24 * 3_600_000;

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

const fromNow = (days: number) => new Date(server.services.now().getTime() + days * DAY).toISOString();

async function keyOf(account: { id: string }, expiresAt: string | null): Promise<Body> {
  const body = { scopes: ['providers:read'], expiresAt, name: unique('key') };
  return server.ok('POST', `/v1/service-accounts/${account.id}/keys`, { as: server.admin, body });
}

async function providerIn(tenantId: string): Promise<Body> {
  const body = { name: unique('llm'), kind: 'llm', tenantId };
  return server.ok('POST', '/v1/providers', { as: server.admin, body });
}

const secretOf = ({ id }: Body, body: object): Promise<Body> =>
  server.ok('PUT', `/v1/providers/${id}/credential`, { as: server.admin, body: { secret: 'sk-1', ...body } });

async function tasksIn(tenantId: string): Promise<Body[]> {
  const path = `/v1/operator/tasks?kind=rotate_credential&tenant_id=${tenantId}&limit=100`;
  return (await server.ok('GET', path, { as: server.admin })).items;
}

test('each credential that expires within 14 days gets one task, due at its expiry', async () => {
  const account = await accountWithKey(server, { tenantId: 'expiry-1' });
  const soon = await keyOf(account, fromNow(13));
  await keyOf(account, fromNow(15));
  await keyOf(account, null);
  const provider = await providerIn('expiry-1');
  const secret = await secretOf(provider, { expiresAt: fromNow(10) });
  const standby = await secretOf(provider, { expiresAt: fromNow(12), standby: true });
  await updateRotationTasks(server.services);
  const tasks = await tasksIn('expiry-1');
  expect(tasks).toHaveLength(3);
  expect(new Set(tasks.map(({ subject }) => subject.id))).toEqual(new Set([soon.id, secret.id, standby.id]));
  for (const { subject, dueAt, status, title } of tasks) {
    const { name, prefix, id, expiresAt, ownerType } =
      [soon, secret, standby].find((one) => one.id === subject.id) ?? {};
    expect({ subject, dueAt, status }).toEqual({
      subject: { type: 'credential', id },
      dueAt: expiresAt,
      status: 'open',
    });
    // Names, and no ids that the service made.
    const owner = ownerType === 'provider' ? provider.name : account.id;
    const what = ownerType === 'provider' ? 'provider credential' : `API key ${name ?? prefix}`;
    expect(title).toBe(`Rotate the ${what} of ${owner}, which ends at ${expiresAt}`);
  }
  await updateRotationTasks(server.services);
  expect(await tasksIn('expiry-1')).toHaveLength(3);
  server.travel(2 * DAY);
  await updateRotationTasks(server.services);
  expect(await tasksIn('expiry-1')).toHaveLength(4);
});

test('a revoked, rotated or expired credential gets no task; the task of a credential that is rotated or revoked ends', async () => {
  const account = await accountWithKey(server, { tenantId: 'expiry-2' });
  const [rotated, revoked] = [await keyOf(account, fromNow(3)), await keyOf(account, fromNow(3))];
  const over = await keyOf(account, fromNow(1));
  server.travel(1.5 * DAY);
  await updateRotationTasks(server.services);
  const ofSubject = async (id: string) => (await tasksIn('expiry-2')).filter(({ subject }) => subject.id === id);
  expect(await ofSubject(over.id)).toEqual([]);
  const path = `/v1/service-accounts/${account.id}/keys`;
  await server.ok('POST', `${path}/${rotated.id}/rotate`, { as: server.admin, body: { expiresAt: fromNow(90) } });
  await server.ok('DELETE', `${path}/${revoked.id}`, { as: server.admin });
  await updateRotationTasks(server.services);
  expect(await ofSubject(rotated.id)).toMatchObject([{ status: 'succeeded' }]);
  expect(await ofSubject(revoked.id)).toMatchObject([{ status: 'cancelled' }]);
  await updateRotationTasks(server.services);
  expect(await tasksIn('expiry-2')).toHaveLength(2);
});

test('a new secret completes the task of the former one, and a deletion cancels it', async () => {
  const tenantId = 'expiry-3';
  await accountWithKey(server, { tenantId });
  const provider = await providerIn(tenantId);
  const first = await secretOf(provider, { expiresAt: fromNow(5) });
  await updateRotationTasks(server.services);
  const second = await secretOf(provider, { expiresAt: fromNow(6) });
  expect(await tasksIn(tenantId)).toMatchObject([{ subject: { id: first.id }, status: 'succeeded' }]);
  await updateRotationTasks(server.services);
  await server.ok('DELETE', `/v1/providers/${provider.id}/credential`, { as: server.admin });
  const tasks = await tasksIn(tenantId);
  expect(tasks.find(({ subject }) => subject.id === second.id)).toMatchObject({ status: 'cancelled' });
});

test('more credentials than one batch are checked', async () => {
  const account = await accountWithKey(server, { tenantId: 'expiry-4' });
  const { id } = await keyOf(account, fromNow(7));
  const { db } = server.services;
  const row = await db.selectFrom('credentials').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
  const copies = Array.from({ length: 104 }, (_, index) => ({ ...row, id: `${id}_${index}` }));
  await db.insertInto('credentials').values(copies).execute();
  expect(await updateRotationTasks(server.services)).toBeGreaterThanOrEqual(105);
  const path = '/v1/operator/tasks?kind=rotate_credential&tenant_id=expiry-4&limit=100';
  const page = await server.ok('GET', path, { as: server.admin });
  expect(page.items).toHaveLength(100);
  expect(page.nextCursor).not.toBeNull();
});
