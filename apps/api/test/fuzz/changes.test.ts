import { expect, onTestFinished, test } from 'vitest';
import { startTestServer } from '../support/server.ts';
import { Changes } from './changes.ts';

test('every row that a request changes is noted, and nothing of one that is refused or reads', async () => {
  const server = await startTestServer();
  onTestFinished(() => server.stop());
  const changes = new Changes(server);
  onTestFinished(() => changes.close());
  const noted = async (method: string, path: string, body?: object) => {
    const before = changes.now();
    // The last use of the key is due each time.
    server.travel(120_000);
    await server.call(method, path, { as: server.admin, ...(body && { body }) });
    return changes.since(before).toSorted();
  };
  const path = '/v1/service-accounts';
  const body = { id: 'noted', name: 'noted', metadata: { team: 'blue' } };
  const made = ['insert of audit_events', 'insert of service_account_metadata', 'insert of service_accounts'];
  expect(await noted('POST', path, body)).toEqual(expect.arrayContaining(made));
  expect(await noted('POST', path, body)).toEqual([]);
  expect(await noted('GET', `${path}/noted`)).toEqual([]);
  expect(await noted('PUT', `${path}/noted`, { displayName: 'Noted' })).toEqual([
    'insert of audit_events',
    'update of service_accounts',
  ]);
  expect(await noted('PUT', `${path}/noted`, { metadata: {} })).toContain('delete of service_account_metadata');
});
