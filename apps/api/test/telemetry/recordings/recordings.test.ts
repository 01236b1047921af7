import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../../support/server.ts';
import { expectRead, readBlockedRow } from './reading.ts';
import { oneForEachDialect } from './samples.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

const samples = oneForEachDialect();

test('the samples have more dialects than there are recordings of one framework', () => {
  expect(samples.length).toBeGreaterThan(50);
});

test.each(samples.map((recording) => [recording.id, recording] as const))(
  'the telemetry of %s is read correctly',
  async (_id, recording) => expectRead(recording, await readBlockedRow(server, recording)),
);
