import { onPostgres } from '@quartermaster/db/testing/test-database.ts';
import { expect, onTestFinished, test } from 'vitest';
import { runRemoveDevelopmentUsers } from '../src/commands/run-remove-development-users.ts';
import { readConfig } from '../src/config.ts';
import { startServer } from '../src/server/start.ts';
import { runInProcess } from './support/command.ts';
import { memberWithToken, registeredUser, unique } from './support/people.ts';
import { type Body, type Credential, SECRET_KEY, startTestServer, type TestServer } from './support/server.ts';

/** An issuer that gets no request in these tests. */
const REAL = { QM_DEV_IDENTITY: '0', QM_OIDC_ISSUER: 'http://127.0.0.1:9' };

const REFUSAL =
  /^DATABASE_URL: the database has users of the development identity provider \(2\): [^\n]+npm run remove-development-users[^\n]+$/;

/** A database on which a developer signed in as the administrator and as another user. */
async function developed() {
  const server = await startTestServer();
  onTestFinished(() => server.removeDatabase());
  const developer = await server.tokenOf('admin@example.com');
  const person = await registeredUser(server);
  const account = unique('agent');
  await server.ok('POST', '/v1/service-accounts', {
    as: developer,
    body: { id: account, name: account, tenantId: 'acme' },
  });
  const path = `/v1/service-accounts/${account}/keys`;
  const mint = (as: Credential, change = ''): Promise<Body> =>
    server.ok('POST', `${path}${change}?tenant_id=acme`, { as, body: change === '' ? { scopes: ['*'] } : {} });
  const first = await mint(developer);
  const second = await mint({ key: first.key });
  const third = await mint({ key: second.key }, `/${second.id}/rotate`);
  const untouched = await mint(server.admin);
  const gateway = await server.ok('POST', '/v1/gateways', {
    as: server.admin,
    body: { name: 'edge', tenantId: 'acme' },
  });
  const open = (as: Credential): Promise<Body> => server.ok('POST', `/v1/gateways/${gateway.id}/sessions`, { as });
  const ended = [await open(developer), await open({ key: first.key })];
  const kept = await open({ key: untouched.key });
  return { server, person, first, second, third, untouched, ended, kept, account };
}

const restarted = (server: TestServer, environment: Record<string, string>) =>
  startTestServer({ DATABASE_URL: server.databaseUrl, ...environment });

const statusWith = async (server: TestServer, key: string) =>
  (await server.call('GET', '/v1/providers', { as: { key } })).status;

test('regression: a service with a real issuer refuses a database with development users, in one line', async () => {
  const { server } = await developed();
  await server.end();
  await expect(restarted(server, REAL)).rejects.toThrow(REFUSAL);
  const environment = {
    DATABASE_URL: server.databaseUrl,
    QM_SECRET_KEY: SECRET_KEY,
    PORT: '0',
    QM_OIDC_ISSUER: 'none',
  };
  await expect(startServer(readConfig(environment, 'production'))).rejects.toThrow(REFUSAL);
  // A development start still works.
  await (await restarted(server, {})).end();
});

test('regression: the command removes them, and ends the keys and sessions that they created', async () => {
  const { server, person, account, first, second, third, untouched, ended, kept } = await developed();
  await server.end();
  const environment = { DATABASE_URL: server.databaseUrl, ...(onPostgres() && { QM_SECRET_KEY: SECRET_KEY }), ...REAL };
  const { code, stdout, stderr } = await runInProcess(runRemoveDevelopmentUsers, [], environment);
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toMatch(/^removed admin@example\.com, a platform administrator \([\w-]+\)$/m);
  expect(stdout).toContain(`removed ${person.email} (${person.id})`);
  for (const { id } of [first, second, third]) expect(stdout).toContain(`  revoked ${id} of ${account} in acme\n`);
  expect(stdout).not.toContain(untouched.id);
  expect(stdout).toContain('  ended 2 gateway sessions\n');

  const real = await restarted(server, REAL);
  onTestFinished(() => real.end());
  for (const { key } of [first, second, third]) expect(await statusWith(real, key)).toBe(401);
  expect(await statusWith(real, untouched.key)).toBe(200);
  const { items } = await real.ok('GET', '/v1/users', { as: server.admin });
  expect(items).toEqual([]);
  const statusOf = async ({ gatewayId, id }: Body) =>
    (await real.ok('GET', `/v1/gateways/${gatewayId}/sessions/${id}`, { as: server.admin })).status;
  expect(await Promise.all([...ended, kept].map(statusOf))).toEqual(['revoked', 'revoked', 'active']);
  const audited = await real.ok('GET', '/v1/audit-events?operation=remove_development_users', { as: server.admin });
  expect(audited.items).toHaveLength(5);
  expect(audited.items[0]).toMatchObject({ actor: { type: 'system' }, outcome: 'success' });

  const again = await runInProcess(runRemoveDevelopmentUsers, [], environment);
  expect(again).toEqual({ code: 0, stdout: 'There are no users of the development identity provider.\n', stderr: '' });
});

test('regression: the keys of a development administrator who deleted themselves do not work', async () => {
  const server = await startTestServer();
  onTestFinished(() => server.removeDatabase());
  const developer = await server.tokenOf('admin@example.com');
  const body = { id: 'back-door', name: 'Back door', tenantId: 'acme', platformAdministrator: true };
  await server.ok('POST', '/v1/service-accounts', { as: developer, body });
  const path = '/v1/service-accounts/back-door/keys?tenant_id=acme';
  const first = await server.ok('POST', path, { as: developer, body: { scopes: ['*'] } });
  const second = await server.ok('POST', path, { as: { key: first.key }, body: { scopes: ['*'] } });
  const { id } = await server.ok('PUT', '/v1/me/profile', { as: developer, body: { terms: { accepted: true } } });
  const other = await memberWithToken(server, { tenantId: 'default' }, 'owner');
  await server.ok('PUT', `/v1/users/${other.id}/platform-administrator`, { as: developer });
  await server.ok('DELETE', `/v1/users/${id}`, { as: developer });
  // Only the erased user is left.
  await server.services.db.deleteFrom('memberships').where('user_id', '=', other.id).execute();
  await server.services.db.deleteFrom('identities').where('user_id', '=', other.id).execute();
  await server.services.db.deleteFrom('users').where('id', '=', other.id).execute();
  await server.end();
  await expect(restarted(server, REAL)).rejects.toThrow('users of the development identity provider (1)');

  const environment = { DATABASE_URL: server.databaseUrl, ...(onPostgres() && { QM_SECRET_KEY: SECRET_KEY }), ...REAL };
  const { code, stdout, stderr } = await runInProcess(runRemoveDevelopmentUsers, [], environment);
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toContain(`removed ${id}, who was erased before\n`);
  for (const key of [first, second]) expect(stdout).toContain(`  revoked ${key.id} of back-door in acme\n`);

  // The service starts after the command has run.
  const real = await restarted(server, REAL);
  onTestFinished(() => real.end());
  for (const { key } of [first, second]) expect(await statusWith(real, key)).toBe(401);
  expect(await statusWith(real, server.admin.key)).toBe(200);
  const again = await runInProcess(runRemoveDevelopmentUsers, [], environment);
  expect(again.stdout).toBe('There are no users of the development identity provider.\n');
});

test('a service with a real issuer does not start if the development administrator exists but never signed in', async () => {
  const server = await startTestServer();
  onTestFinished(() => server.removeDatabase());
  await server.end();
  await expect(restarted(server, REAL)).rejects.toThrow('users of the development identity provider (1)');
});

test('a registration that only claims to be from development does not prevent a start', async () => {
  const server = await startTestServer(REAL);
  onTestFinished(() => server.removeDatabase());
  const user = { email: 'admin@example.com', terms: { accepted: true } };
  await server.ok('POST', '/v1/onboarding/register', { body: { user, source: 'development' } });
  await server.end();
  await (await restarted(server, REAL)).end();
});
