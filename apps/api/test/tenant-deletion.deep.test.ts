import { seed } from '@quartermaster/seed/seed.ts';
import { test } from 'vitest';
import { LOOPBACK } from './inventory-sync/peers.ts';
import { serverOfTest } from './support/server.ts';
import { expectErased } from './tenant-erasure.ts';

test('the data of a deleted tenant are erased in many batches, and its audit events and all data of others stay', async () => {
  // Its jobs would write while the test compares the database.
  const server = await serverOfTest(LOOPBACK, { noHousekeeping: true });
  await seed({ url: server.url, credential: server.admin, scale: 0.25 });
  await expectErased(server, { id: 'northwind', other: 'lighthouse-consulting', rows: 1000 });
});
