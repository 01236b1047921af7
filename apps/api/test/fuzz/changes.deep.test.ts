import { expect, onTestFinished, test } from 'vitest';
import { serverOfTest } from '../support/server.ts';
import { noteChanges } from './changes.ts';

test('notes every row that a request changes, and nothing for a read or a refusal', async () => {
  const server = await serverOfTest({}, { noHousekeeping: true });
  // Creates the first signing key before changes are noted.
  await server.ok('GET', '/.well-known/jwks.json');
  const changes = await noteChanges(server);
  onTestFinished(() => changes.close());
  const noted = async (method: string, path: string, body?: object) => {
    const before = await changes.now();
    // After this time the last use of the key is stored again.
    server.travel(120_000);
    await server.call(method, path, { as: server.admin, ...(body && { body }) });
    return (await changes.since(before)).toSorted();
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
