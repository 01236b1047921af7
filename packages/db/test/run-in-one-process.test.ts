import { expect, test } from 'vitest';
import { openDatabase } from '../src/open-database.ts';
import { sumStoredBytes } from '../src/repositories/tenant-usage.ts';
import { runInOneProcess } from '../src/run-in-one-process.ts';
import { inTransaction } from '../src/transaction.ts';
import { newTestDatabase, onPostgres } from '../testing/test-database.ts';

test('only one process runs work of one name at a time, and work of other names runs in parallel', async () => {
  const { url, remove } = await newTestDatabase('migrated');
  const [one, two] = [await openDatabase(url, '/'), await openDatabase(url, '/')];
  const [begun, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const first = runInOneProcess(one, 'sweep', async () => {
    begun.resolve();
    await end.promise;
    return 'first';
  });
  await begun.promise;
  // On SQLite the work always runs.
  expect(await runInOneProcess(two, 'sweep', async () => 'second')).toBe(onPostgres() ? undefined : 'second');
  expect(await runInOneProcess(two, 'wash', async () => 'washed')).toBe('washed');
  end.resolve();
  expect(await first).toBe('first');
  expect(await runInOneProcess(two, 'sweep', async () => 'third')).toBe('third');
  const failing = runInOneProcess(one, 'sweep', async () => {
    throw new Error('on purpose');
  });
  await expect(failing).rejects.toThrow('on purpose');
  expect(await runInOneProcess(two, 'sweep', async () => 'fourth')).toBe('fourth');
  await Promise.all([one.destroy(), two.destroy()]);
  await remove();
});

test('regression: two jobs that run at the same time need no more than two connections', async () => {
  const { url, remove } = await newTestDatabase('migrated');
  const db = await openDatabase(url, '/', { poolSize: 2 });
  const change = { tenant_id: 'acme', id: 'change', bytes: 7 };
  await db.insertInto('stored_bytes_changes').values(change).execute();
  const ended = runInOneProcess(db, 'hourly', async () => {
    expect(await runInOneProcess(db, 'every minute', sumStoredBytes)).toBe(1);
    return inTransaction(db, async () => 'ended');
  });
  expect(await ended).toBe('ended');
  await db.destroy();
  await remove();
});
