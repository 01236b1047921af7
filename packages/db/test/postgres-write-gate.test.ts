import { sql } from 'kysely';
import { expect, onTestFinished, test } from 'vitest';
import type { Database } from '../src/database.ts';
import { withGateClosed } from '../src/dialects/postgres-write-gate.ts';
import { WriteGateClosedError } from '../src/errors.ts';
import { runForTenant, tenantKey } from '../src/tenant-context.ts';
import { inTransaction } from '../src/transaction.ts';
import { temporaryDatabase } from './temporary-database.ts';

const ACME = { tenantId: 'acme', subTenantId: null };

/** Begins one serializable transaction, without waiting for the gate. */
function write(db: Database, caller: string | null): Promise<unknown> {
  const transaction = () =>
    db
      .transaction()
      .setIsolationLevel('serializable')
      .execute((trx) => sql`select 1`.execute(trx));
  return caller === null ? transaction() : runForTenant(caller, transaction);
}

/** Closes the gate of `acme`. Returns the process id of the connection that holds it, and a function that opens it. */
async function closedGate(db: Database) {
  const closed = Promise.withResolvers<number>();
  const opened = Promise.withResolvers<void>();
  const holding = withGateClosed(db, 'acme', async (connection) => {
    const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(connection);
    closed.resolve(rows[0]?.pid ?? 0);
    await opened.promise;
  });
  onTestFinished(() => opened.resolve());
  const pid = await closed.promise;
  const open = async () => {
    opened.resolve();
    await holding;
  };
  return { pid, open };
}

test('a closed gate blocks its tenant and work of several tenants, but no other tenant', async () => {
  const db = await temporaryDatabase(ACME);
  const { open } = await closedGate(db);
  await expect(write(db, tenantKey('acme'))).rejects.toThrow(WriteGateClosedError);
  await expect(write(db, 'user:usr_1')).rejects.toThrow(WriteGateClosedError);
  await expect(write(db, null)).rejects.toThrow(WriteGateClosedError);
  await write(db, tenantKey('beta'));
  // Reads, and statements outside of transactions, pass.
  await runForTenant(tenantKey('acme'), () => db.selectFrom('tenants').select('id').execute());
  await open();
  await write(db, tenantKey('acme'));
  await write(db, null);
});

test('a write that waits for the gate holds no connection, and continues when the gate opens', async () => {
  const db = await temporaryDatabase(ACME);
  const { open } = await closedGate(db);
  const order: string[] = [];
  const waiting = Array.from({ length: 30 }, () =>
    runForTenant(tenantKey('acme'), () => inTransaction(db, async () => order.push('written'))),
  );
  await runForTenant(tenantKey('acme'), () => db.selectFrom('tenants').select('id').execute());
  order.push('read');
  await open();
  await Promise.all(waiting);
  expect(order).toEqual(['read', ...Array<string>(30).fill('written')]);
});

test('a gate opens when the connection that closed it ends', async () => {
  const db = await temporaryDatabase(ACME);
  const { pid, open } = await closedGate(db);
  await sql`select pg_terminate_backend(${pid}::int)`.execute(db);
  await runForTenant(tenantKey('acme'), () => inTransaction(db, async () => {}));
  await open();
  await write(db, tenantKey('acme'));
});
