import { afterAll, beforeAll, expect, test } from 'vitest';
import { LOOPBACK } from '../inventory-sync/peers.ts';
import { callOver } from '../isolation/callers.ts';
import { ownersCredential, validInput } from '../isolation/fixtures.ts';
import { OPERATIONS } from '../support/records.ts';
import { startTestServer, type TestServer } from '../support/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer(LOOPBACK, { noHousekeeping: true });
});
afterAll(() => server.stop());

test.each(OPERATIONS.map((served) => [served.operation.operationId, served] as const))(
  '%s succeeds on PostgreSQL',
  async (_id, served) => {
    const as = await ownersCredential(server, served.operation);
    const input = await validInput(server, served.operation);
    const { status, text } = await callOver('REST', server, served, { input, as });
    expect(status, text).toBe(200);
  },
);
