import { expect, onTestFinished, test, vi } from 'vitest';
import { LiveCache } from '../../src/resources/gateway-decisions/live-cache.ts';

/** A cache, its clock, and what answers its reads. */
function newCache() {
  let time = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => time);
  onTestFinished(() => clock.mockRestore());
  const reads: PromiseWithResolvers<string>[] = [];
  const load = () => {
    const read = Promise.withResolvers<string>();
    reads.push(read);
    return read.promise;
  };
  const pass = (milliseconds: number) => {
    time += milliseconds;
  };
  return { cache: new LiveCache({ load, most: 10 }), reads, pass };
}

test('regression: a value that arrives more than 5 s after it was asked for is refused, and read again', async () => {
  const { cache, reads, pass } = newCache();
  const late = cache.get('key');
  pass(5001);
  reads[0]?.resolve('old');
  await expect(late).rejects.toMatchObject({ status: 503, reason: 'database_unavailable' });
  const next = cache.get('key');
  reads[1]?.resolve('new');
  expect(await next).toBe('new');
  expect(cache.get('key')).toBe('new');
});

test('a value decides for 4 s, and for 5 s while it cannot be read again', async () => {
  const { cache, reads, pass } = newCache();
  const first = cache.get('key');
  reads[0]?.resolve('first');
  expect(await first).toBe('first');
  pass(4000);
  expect(cache.get('key')).toBe('first');
  pass(999);
  const waiting = cache.get('key');
  reads[1]?.reject(new Error('the database is away'));
  expect(await waiting).toBe('first');
  pass(2);
  const refused = cache.get('key');
  reads[2]?.reject(new Error('the database is away'));
  await expect(refused).rejects.toThrow('the database is away');
});

test('regression: ids that do not exist replace nothing that is kept', async () => {
  let loads = 0;
  const cache = new LiveCache<string | undefined>({
    most: 2,
    load: async (key) => {
      if (key !== 'known') return undefined;
      loads += 1;
      return key;
    },
  });
  for (const key of ['known', 'a', 'b', 'c', 'known']) await cache.get(key);
  expect(loads).toBe(1);
});
