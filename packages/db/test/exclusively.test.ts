import { expect, test } from 'vitest';
import { openDatabase } from '../src/database.ts';
import { exclusively } from '../src/exclusively.ts';
import { newTestDatabase, onPostgres } from '../testing/test-database.ts';

test('of processes that want to do the same one does it, others do other things meanwhile, and the next has its turn', async () => {
  const { url, remove } = await newTestDatabase('migrated');
  const [one, two] = [await openDatabase(url, '/'), await openDatabase(url, '/')];
  const [begun, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const first = exclusively(one, 'sweep', async () => {
    begun.resolve();
    await end.promise;
    return 'first';
  });
  await begun.promise;
  // On SQLite each write has its turn anyway.
  expect(await exclusively(two, 'sweep', async () => 'second')).toBe(onPostgres() ? undefined : 'second');
  expect(await exclusively(two, 'wash', async () => 'washed')).toBe('washed');
  end.resolve();
  expect(await first).toBe('first');
  expect(await exclusively(two, 'sweep', async () => 'third')).toBe('third');
  const failing = exclusively(one, 'sweep', async () => {
    throw new Error('on purpose');
  });
  await expect(failing).rejects.toThrow('on purpose');
  expect(await exclusively(two, 'sweep', async () => 'fourth')).toBe('fourth');
  await Promise.all([one.destroy(), two.destroy()]);
  await remove();
});
