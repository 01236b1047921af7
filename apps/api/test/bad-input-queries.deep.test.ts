import { expect, test } from 'vitest';
import { refuseEdits } from './cursor-edits.ts';
import { serverOfTest } from './support/server.ts';

test('a cursor that is edited at any place is 422 at the cursor', async () => {
  // Its jobs would write while the test compares the database.
  const server = await serverOfTest({}, { noHousekeeping: true });
  for (const name of ['one', 'two', 'three']) {
    await server.ok('POST', '/v1/providers', { as: server.admin, body: { name, kind: 'mcp' } });
  }
  const cursor = (await server.ok('GET', '/v1/providers?limit=1', { as: server.admin })).nextCursor;
  expect(await refuseEdits(server, { cursor, every: 1 })).toBeGreaterThan(1000);
});
