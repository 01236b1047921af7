import { inTransaction } from '@quartermaster/db/transaction.ts';
import pino from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { appendAuditEvents } from '../../src/platform/audit/mac.ts';
import { sealer } from '../../src/resources/audit-events/seal.ts';
import { serverOfTest, startTestServer, type TestServer } from '../support/server.ts';

/*
 * Two servers on one database. Each remembers heads in its own memory. The sealer runs only when a test calls `pass`.
 */
const lines: string[] = [];
const log = pino({}, { write: (line: string) => void lines.push(line) });
let one: TestServer;
let two: TestServer;
beforeAll(async () => {
  one = await startTestServer({}, { log, noHousekeeping: true });
  two = await startTestServer({ DATABASE_URL: one.databaseUrl }, { log, noHousekeeping: true });
});
afterAll(async () => {
  await two.stop();
  await one.stop();
});

test('the heads of more tenants than one batch are all read before anything is sealed', async () => {
  const tenants = Array.from({ length: 450 }, (_, index) => `many-${String(index).padStart(3, '0')}`);
  // A separate server, because the others would need several passes to read so many heads.
  const server = await serverOfTest({}, { log, noHousekeeping: true });
  const { db, now, secrets } = server.services;
  const event = { actor: { type: 'system' as const, id: null, tenantId: null }, scheme: null, keyId: null };
  const fields = { operation: 'x', target: { type: 'x', id: 'x' }, outcome: 'success' as const, reason: null };
  const rest = { changedFields: [], count: 1, requestId: '' };
  await inTransaction(db, (trx) =>
    appendAuditEvents(
      trx,
      { secrets, now: now() },
      tenants.map((tenantId) => ({ ...event, ...fields, ...rest, place: { tenantId, subTenantId: null } })),
    ),
  );
  await server.services.audit.sealer.pass();
  const fresh = sealer(server.services);
  await fresh.pass();
  for (const tenantId of tenants) expect(fresh.remembered(tenantId)?.size).toBe(1);
});
