import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { newBrowser, signedInBrowser } from '../support/browser.ts';
import { registeredUser } from '../support/people.ts';
import { LOOPBACK } from '../inventory-sync/peers.ts';
import { startTestServer } from '../support/server.ts';

const PATH = '/console/sample-data';
const POLL_MS = 250;

/** The seed makes about 600 requests, on a machine that may be busy. */
const TIMEOUT_MS = 300_000;

test('sample data is loaded and removed by a click of a platform administrator, and of nobody else', {
  timeout: TIMEOUT_MS,
}, async () => {
  const server = await startTestServer(LOOPBACK);
  onTestFinished(() => server.stop());
  const administrator = newBrowser(server);
  await administrator.open(server.devSignIn?.link ?? '');
  const reached = async (state: string) => {
    for (;;) {
      const { body } = await administrator.call('GET', PATH);
      expect(body).toMatchObject({ problem: null });
      if (body['state'] === state) return;
      await sleep(POLL_MS);
    }
  };
  const tenants = async () =>
    (await server.ok('GET', '/v1/tenants', { as: server.admin })).items.map(({ id }: { id: string }) => id);
  const before = await tenants();

  const { email } = await registeredUser(server);
  const user = await signedInBrowser(server, email);
  expect((await user.call('GET', PATH)).body).toEqual({ state: 'off', problem: null });
  expect((await user.call('POST', PATH)).status).toBe(403);
  expect((await newBrowser(server).call('POST', PATH)).status).toBe(401);
  const elsewhere = await administrator.call('POST', PATH, { headers: { 'sec-fetch-site': 'cross-site' } });
  expect(elsewhere.status).toBe(403);
  expect((await administrator.call('DELETE', PATH)).body).toEqual({ state: 'absent', problem: null });

  expect((await administrator.call('POST', PATH)).body).toEqual({ state: 'loading', problem: null });
  expect((await administrator.call('POST', PATH)).body).toEqual({ state: 'loading', problem: null });
  await reached('present');
  expect(await tenants()).toEqual(expect.arrayContaining(['northwind', 'lighthouse-consulting', ...before]));

  expect((await administrator.call('DELETE', PATH)).body).toEqual({ state: 'removing', problem: null });
  await reached('absent');
  expect(await tenants()).toEqual(before);
  const { items: users } = await server.ok('GET', '/v1/users?limit=100', { as: server.admin });
  expect(users.filter(({ email: each }: { email: string | null }) => each?.endsWith('northwind.example'))).toEqual([]);
});
