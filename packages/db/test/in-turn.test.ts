import { expect, test } from 'vitest';
import { DatabaseUnavailableError } from '../src/errors.ts';
import { inTurn } from '../src/in-turn.ts';
import { onPostgres } from '../testing/test-database.ts';
import { temporaryDatabase } from './temporary-database.ts';

test('work of one key is done one after the other, that of other keys beside it, and a failure ends its turn', async () => {
  const db = await temporaryDatabase();
  const running = { a: 0, most: 0 };
  const work = async () => {
    running.a += 1;
    running.most = Math.max(running.most, running.a);
    await new Promise((resolve) => setImmediate(resolve));
    running.a -= 1;
  };
  const failing = inTurn(db, 'a', async () => {
    await work();
    throw new Error('on purpose');
  });
  const others = Array.from({ length: 20 }, () => inTurn(db, 'a', work));
  let beside = false;
  await inTurn(db, 'b', async () => {
    beside = true;
  });
  expect(beside).toBe(true);
  await expect(failing).rejects.toThrow('on purpose');
  await Promise.all(others);
  // On SQLite the writing connection sees to it.
  if (onPostgres()) expect(running.most).toBe(1);
});

test('who waits too long for their turn is refused, and who comes after is not held up by it', async () => {
  const db = await temporaryDatabase();
  if (!onPostgres()) {
    expect(await inTurn(db, 'a', async () => 'at once')).toBe('at once');
    return;
  }
  const end = Promise.withResolvers<void>();
  const holding = inTurn(db, 'a', () => end.promise);
  await expect(inTurn(db, 'a', async () => 'never')).rejects.toThrow(DatabaseUnavailableError);
  const next = inTurn(db, 'a', async () => 'next');
  end.resolve();
  expect(await next).toBe('next');
  await holding;
});
