import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { onPostgres } from '@quartermaster/db/testing/test-database.ts';
import { type SeedResult, seed } from '@quartermaster/seed/seed.ts';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { LOOPBACK } from './inventory-sync/peers.ts';
import { freePort } from '@quartermaster/db/testing/free-port.ts';
import { newBootstrapKey } from './support/environment.ts';
import { accountWithKey } from './support/people.ts';
import { runProgram } from './support/process.ts';
import { unchanged } from './support/records.ts';
import { type Body, serverOfTest, startTestServer, type TestServer } from './support/server.ts';

const PROGRAM = fileURLToPath(import.meta.resolve('@quartermaster/seed/main.ts'));

/** A run makes about 600 requests, on a machine that may be busy. */
const TIMEOUT_MS = 120_000;

/** A quarter of what the program makes. */
const SCALE = 0.25;

describe('a seeded server', () => {
  let server: TestServer;
  let made: SeedResult;

  beforeAll(async () => {
    // Its jobs would write while a test compares the database.
    server = await startTestServer(LOOPBACK, { noHousekeeping: true });
    made = await seed({ url: server.url, credential: server.admin, scale: SCALE });
  }, TIMEOUT_MS);
  afterAll(() => server.stop());

  const all = async (path: string): Promise<Body[]> => {
    const items: Body[] = [];
    for (let cursor = ''; ; ) {
      const query = `${path.includes('?') ? '&' : '?'}limit=100${cursor}`;
      const page = await server.ok('GET', path + query, { as: server.admin });
      items.push(...page.items);
      if (page.nextCursor === null) return items;
      cursor = `&cursor=${encodeURIComponent(page.nextCursor)}`;
    }
  };
  const search = async (what: string): Promise<Body[]> => {
    const page = { as: server.admin, body: { limit: 100 } };
    return (await server.ok('POST', `/v1/${what}/search`, page)).items;
  };
  const valuesOf = (items: Body[], field: string) => new Set(items.map((item) => item[field]));

  test('has tenants with sub-tenants, and members in every role', async () => {
    expect(made).toMatchObject({ outcome: 'made', notes: [] });
    const tenants = await all('/v1/tenants');
    const ids = ['northwind', 'northwind-logistics', 'lighthouse-consulting'];
    expect(tenants.map(({ id }) => id)).toEqual(expect.arrayContaining(ids));
    expect(tenants.find(({ id }) => id === 'northwind').subTenantIds).toHaveLength(4);
    const members = await all('/v1/tenants/northwind/memberships');
    expect(valuesOf(members, 'role')).toEqual(new Set(['owner', 'admin', 'operator', 'viewer']));
    expect(valuesOf(members, 'status')).toEqual(new Set(['active', 'pending']));
    expect(members.some(({ subTenantId }) => subTenantId !== null)).toBe(true);
    expect(await all('/v1/users?status=disabled')).toHaveLength(1);
  });

  test('has keys that expire, were revoked and were rotated, and a disabled account', async () => {
    const keys = (await search('credentials')).filter(({ kind }) => kind === 'api_key');
    expect(valuesOf(keys, 'status')).toEqual(new Set(['active', 'expiring', 'revoked']));
    const rotated = keys.filter(({ ownerId }) => ownerId === 'ci-deployer');
    expect(rotated.map(({ rotationCount, status }) => [rotationCount, status])).toEqual([
      [1, 'active'],
      [0, 'expiring'],
    ]);
    const accounts = await search('service-accounts');
    expect(accounts.find(({ id }) => id === 'old-chatbot').status).toBe('disabled');
  });

  test('has an account whose agent is missing, because nothing is understood of what it sends', async () => {
    const [account] = await all('/v1/telemetry-health?tenant_id=northwind&service_account_id=old-chatbot');
    expect(account.keys[0]).toMatchObject({ understood: 0, unread: [{ scope: 'acme.chatbot' }] });
    expect((await all('/v1/agents?tenant_id=northwind')).map(({ name }) => name)).not.toContain('old-chatbot');
  });

  test('has at least two dozen declared providers, of every status', async () => {
    const providers = [...(await all('/v1/providers')), ...(await all('/v1/providers?status=deleted'))];
    expect(valuesOf(providers, 'status')).toEqual(new Set(['discovered', 'active', 'disabled', 'deleted']));
    expect(valuesOf(providers, 'kind')).toEqual(new Set(['llm', 'mcp', 'agent_runtime', 'channel']));
    expect(providers.filter(({ status }) => status !== 'discovered').length).toBeGreaterThanOrEqual(24);
    expect(providers.find(({ name }) => name === 'crm').health).toBe('failing');
    const synced = providers.find(({ name }) => name === 'knowledge-base');
    const items = await all(`/v1/providers/${synced.id}/inventory`);
    const byName = items.toSorted((a, b) => (a.name < b.name ? -1 : 1));
    expect(byName.map(({ name, status, drift }) => [name, status, drift !== null])).toEqual([
      ['get_article', 'available', false],
      ['kb://returns', 'available', false],
      ['list_categories', 'missing', false],
      ['search_articles', 'available', true],
      ['summarise_ticket', 'available', false],
    ]);
  });

  test('has manifests, gateways, and sessions that are open and revoked', async () => {
    expect(valuesOf(await all('/v1/manifests'), 'kind')).toEqual(new Set(['agent', 'gateway', 'channel']));
    expect((await all('/v1/manifests?status=superseded')).length).toBeGreaterThan(0);
    const gateways = await all('/v1/gateways');
    expect(valuesOf(gateways, 'status')).toEqual(new Set(['active', 'disabled']));
    const edge = gateways.find(({ name }) => name === 'edge');
    expect(valuesOf(await all(`/v1/gateways/${edge.id}/sessions`), 'status')).toEqual(new Set(['active', 'revoked']));
  });

  test('has traces that failed, traces of one span, and one of about 1,000 spans', async () => {
    const traces = await all('/v1/traces');
    expect(traces.length).toBeGreaterThan(50);
    const counts = traces.map(({ spanCount }) => spanCount);
    expect([Math.min(...counts), Math.max(...counts)]).toEqual([1, 1000]);
    expect(traces.some(({ errorCount }) => errorCount > 0)).toBe(true);
    const week = 7 * 24 * 3600 * 1000;
    expect(traces.every(({ startTime }) => Date.now() - Date.parse(startTime) < week)).toBe(true);
  });

  test('has observations, declared and unknown, in every status', async () => {
    const observations = await all('/v1/runtime-observations');
    expect(observations.length).toBeGreaterThan(100);
    expect(valuesOf(observations, 'unknown')).toEqual(new Set([true, false]));
    const statuses = ['open', 'approved', 'rejected', 'ignored', 'resolved'];
    expect(valuesOf(observations, 'status')).toEqual(new Set(statuses));
    const factors = (one: Body): string[] => one.risk.factors.map(({ factor }: Body) => factor);
    const blocked = observations.filter((one) => factors(one).includes('blocked_item'));
    expect([...valuesOf(blocked, 'name')]).toEqual(expect.arrayContaining(['gpt-4-turbo', 'delete_repository']));
    const seen = new Set(observations.flatMap(factors));
    expect([...seen]).toEqual(expect.arrayContaining(['rejected_again', 'drift', 'unknown_provider', 'call_errors']));
    const reviewers = observations.flatMap(({ review }) => review?.reviewedBy ?? []);
    expect(reviewers.every((name: string) => name.startsWith('user:'))).toBe(true);
  });

  test('has recommendations that are open, applied and dismissed, and one that was undone', async () => {
    const recommendations: Body[] = [];
    const skipped: Body[] = [];
    for (const { id } of await all('/v1/providers')) {
      const path = `/v1/providers/${id}/recommendations`;
      recommendations.push(...(await all(path)));
      const dryRun = { as: server.admin, body: { dryRun: true } };
      skipped.push(...(await server.ok('POST', `${path}/apply`, dryRun)).skipped);
    }
    expect([...valuesOf(recommendations, 'status')]).toEqual(expect.arrayContaining(['open', 'applied', 'dismissed']));
    expect(valuesOf(recommendations, 'kind').size).toBe(6);
    expect(skipped.some(({ reason }) => reason === 'undone')).toBe(true);
  });

  test('has operator tasks that are open, claimed, completed and cancelled', async () => {
    const tasks = await all('/v1/operator/tasks');
    expect([...valuesOf(tasks, 'status')]).toEqual(
      expect.arrayContaining(['open', 'claimed', 'succeeded', 'failed', 'cancelled']),
    );
    expect([...valuesOf(tasks, 'outcome')]).toEqual(expect.arrayContaining(['approved', 'rejected']));
  });

  test('is not changed by a second run', async () => {
    await unchanged(server, async () => {
      const second = await seed({ url: server.url, credential: server.admin });
      expect(second).toEqual({ outcome: 'present', counts: {}, notes: [] });
    });
    const { output, ended } = runProgram({ QM_URL: server.url, QM_API_KEY: server.admin.key }, PROGRAM);
    expect(await ended).toEqual({ code: 0, signal: null });
    expect(output()).toBe(`The data of the seed is at ${server.url} already. Nothing was changed.\n`);
  });
});

describe('the seed changes nothing, and exits with 2', () => {
  const runSeed = async (environment: Record<string, string>, ...options: string[]) => {
    const { output, ended } = runProgram(environment, [PROGRAM, ...options]);
    return { ...(await ended), output: output() };
  };

  test('without a server', async () => {
    const url = `http://127.0.0.1:${await freePort()}`;
    const message = `No server answers at ${url}. Start it, or set QM_URL to its address.`;
    expect(await runSeed({ QM_URL: url })).toEqual({ code: 2, signal: null, output: `seed: ${message}\n` });
    await expect(seed({ url, credential: { key: newBootstrapKey() } })).rejects.toMatchObject({ message, exitCode: 2 });
  });

  test("with a key that is unknown or not an administrator's, or without a way to sign in", async () => {
    const server = await serverOfTest({ QM_DEV_IDENTITY: '0' });
    const { key } = await accountWithKey(server, { tenantId: 'other' });
    const refused = (credential: { key: string }, message: RegExp) =>
      expect(seed({ url: server.url, credential })).rejects.toMatchObject({
        message: expect.stringMatching(message),
        exitCode: 2,
      });
    await refused({ key: newBootstrapKey() }, /^The server refuses the credential: /);
    await refused({ key }, /^The credential is not a platform administrator's/);
    const signedOut = await runSeed({ QM_URL: server.url });
    expect(signedOut).toMatchObject({ code: 2, output: expect.stringMatching(/^seed: .*Set QM_API_KEY.*\n$/) });
    const { items } = await server.ok('GET', '/v1/tenants', { as: server.admin });
    expect(items.map(({ id }: Body) => id).toSorted()).toEqual(['default', 'other']);
  });

  test('after the sample data was removed, because its tenants cannot be made again', async () => {
    const server = await serverOfTest({ QM_DEV_IDENTITY: '0' });
    await server.ok('POST', '/v1/tenants', { as: server.admin, body: { id: 'northwind' } });
    await server.ok('DELETE', '/v1/tenants/northwind', { as: server.admin });
    await expect(seed({ url: server.url, credential: server.admin })).rejects.toMatchObject({
      message: expect.stringMatching(
        /^The tenant northwind exists, or was deleted before\. .* needs an empty database\.$/,
      ),
      exitCode: 2,
    });
  });

  test('at a server that is too old', async () => {
    const old = createServer((_request, response) => response.end('{"operationId":"ingest_traces"}'));
    await new Promise<void>((resolve) => old.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void old.close());
    const url = `http://127.0.0.1:${(old.address() as AddressInfo).port}`;
    await expect(seed({ url, credential: { key: newBootstrapKey() } })).rejects.toMatchObject({
      message: expect.stringMatching(/^The server at \S+ is too old for this seed: it lacks .*undo_recommendation\.$/),
      exitCode: 2,
    });
  });

  test('with a scale that it cannot make', async () => {
    const output = 'seed: --scale takes an integer of 1 to 50, not 0.\n';
    expect(await runSeed({}, '--scale', '0')).toEqual({ code: 2, signal: null, output });
  });
});

test.skipIf(onPostgres())(
  'the seed finds the server at PORT, and ends with the link of the console',
  async () => {
    const server = await serverOfTest(LOOPBACK);
    const { port } = new URL(server.url);
    const { output, ended } = runProgram({ PORT: port, QM_API_KEY: server.admin.key }, PROGRAM);
    expect(await ended, output()).toEqual({ code: 0, signal: null });
    const lines = output().trimEnd().split('\n');
    expect(lines[0]).toMatch(new RegExp(`^Filled http://127\\.0\\.0\\.1:${port} in `));
    expect(lines.at(-1)).toBe(`  http://127.0.0.1:${port}/console/inbox?tenant=northwind`);
  },
  TIMEOUT_MS,
);

test.skipIf(onPostgres())(
  'if the server may not sync from private addresses, the seed reports it and goes on',
  async () => {
    const server = await serverOfTest({ QM_DEV_IDENTITY: '0' });
    const { outcome, notes } = await seed({ url: server.url, credential: server.admin, scale: SCALE, seed: 2 });
    expect(outcome).toBe('made');
    expect(notes).toEqual([
      'There is no development identity provider, so the invitations were not accepted.',
      expect.stringMatching(/^No drift was made, because .* 127\.0\.0\.1 is not public/),
    ]);
  },
  TIMEOUT_MS,
);
