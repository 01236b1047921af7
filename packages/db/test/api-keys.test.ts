import { expect, onTestFinished, test } from 'vitest';
import type { Database } from '../src/database.ts';
import { openDatabase } from '../src/open-database.ts';
import { findApiKey } from '../src/repositories/api-keys.ts';
import { endApiKey, insertApiKey, revokeKeysOfAccount } from '../src/repositories/credentials.ts';
import { insertServiceAccount, updateServiceAccount } from '../src/repositories/service-accounts.ts';
import { ensurePlace } from '../src/repositories/tenants.ts';
import { inTransaction } from '../src/transaction.ts';
import { passDuration } from '../testing/durations.ts';
import { newTestDatabase } from '../testing/test-database.ts';
import { NOW } from './temporary-database.ts';

const ACME = { tenantId: 'acme', subTenantId: null };
const KEY = { tenantId: 'acme', id: 'key_1' };
const REVOKED = { revokedAt: NOW.toISOString() };

/** One database, opened twice as by two processes, with an account and its key. */
async function twoProcesses() {
  const { url, remove } = await newTestDatabase('migrated');
  const [here, there] = [await openDatabase(url, '/'), await openDatabase(url, '/')];
  onTestFinished(async () => {
    await Promise.all([here.destroy(), there.destroy()]);
    await remove();
  });
  await ensurePlace(here, ACME, NOW);
  const names = { id: 'worker', name: 'worker', displayName: null, description: null };
  const values = { ...names, status: 'active', platformAdministrator: false, metadata: {} } as const;
  const account = await insertServiceAccount(here, ACME, values, NOW);
  const owned = {
    accountId: account.id,
    prefix: 'p',
    digest: 'd',
    createdBy: null,
    createdByKey: null,
    rotationCount: 0,
  };
  await insertApiKey(here, ACME, { id: KEY.id, name: null, scopes: ['*'], expiresAt: null, ...owned }, NOW);
  return { here, there, account };
}

type Made = Awaited<ReturnType<typeof twoProcesses>>;

const usable = async (db: Database) => {
  const key = await findApiKey(db, KEY.id);
  return key?.revokedAt === null && key.expiresAt === null && key.account.status === 'active';
};

const ENDS: [string, (db: Database, made: Made) => Promise<unknown>][] = [
  ['a revocation', (db) => endApiKey(db, [ACME], KEY, REVOKED, NOW)],
  ['an earlier expiry', (db) => endApiKey(db, [ACME], KEY, { expiresAt: NOW.toISOString() }, NOW)],
  ['a revocation of all keys', (db, { account }) => revokeKeysOfAccount(db, [ACME], account, NOW)],
  ['a disabled account', (db, { account }) => updateServiceAccount(db, [ACME], account, { status: 'disabled' }, NOW)],
];

test.each(ENDS)('%s takes effect at once in its own process, with and without a transaction', async (_name, end) => {
  for (const within of [(db: Database, work: (trx: Database) => Promise<unknown>) => work(db), inTransaction]) {
    const made = await twoProcesses();
    expect(await usable(made.here)).toBe(true);
    await within(made.here, (trx) => end(trx, made));
    expect(await usable(made.here)).toBe(false);
  }
});

test.each(ENDS)('%s takes effect within 5 s in another process', async (_name, end) => {
  const made = await twoProcesses();
  expect(await usable(made.there)).toBe(true);
  await end(made.here, made);
  passDuration(5000);
  expect(await usable(made.there)).toBe(false);
});

test.each(ENDS)(
  '%s takes effect at once, even if the key is looked up while its transaction is open',
  async (_name, end) => {
    const made = await twoProcesses();
    await inTransaction(made.here, async (trx) => {
      await end(trx, made);
      expect(await usable(made.here)).toBe(true);
    });
    expect(await usable(made.here)).toBe(false);
  },
);

test('a rolled back transaction ends no key', async () => {
  const { here } = await twoProcesses();
  const undone = inTransaction(here, async (trx) => {
    await endApiKey(trx, [ACME], KEY, REVOKED, NOW);
    throw new Error('undo it');
  });
  await expect(undone).rejects.toThrow('undo it');
  expect(await usable(here)).toBe(true);
});

test('a key that was read before a transaction ended is not cached after it', async () => {
  const { here } = await twoProcesses();
  const ended = inTransaction(here, (trx) => endApiKey(trx, [ACME], KEY, REVOKED, NOW));
  const reading = Array.from({ length: 20 }, () => findApiKey(here, KEY.id));
  await Promise.all([ended, ...reading]);
  expect(await usable(here)).toBe(false);
});
