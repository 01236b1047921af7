import { afterAll, beforeAll, expect, test } from 'vitest';
import { LOOPBACK } from '../inventory-sync/peers.ts';
import { callOver } from '../isolation/callers.ts';
import { FIXTURES, inputFor, newRecords, ownersCredential, validInput } from '../isolation/fixtures.ts';
import type { Input } from '../isolation/world.ts';
import { OPERATIONS, type Served } from '../support/records.ts';
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
    const input = await inputOf(served);
    const { status, text } = await callOver('REST', server, served, { input, as });
    expect(status, text).toBe(200);
  },
);

/** The records that operations with the same path parameters read. Creating them takes longer than reading them. */
const readRecords = new Map<string, Promise<Record<string, string>>>();

async function inputOf({ operation }: Served): Promise<Input> {
  const needsItsOwn = operation.method !== 'GET' || FIXTURES[operation.operationId]?.prepare !== undefined;
  if (needsItsOwn) return validInput(server, operation);
  const parameters = Object.keys(operation.params?.shape ?? {}).join(' ');
  const records = readRecords.get(parameters) ?? newRecords(server, operation);
  readRecords.set(parameters, records);
  return inputFor(operation, await records);
}
