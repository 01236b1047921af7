import { expect, test } from 'vitest';
import { LiveCache } from '../../src/resources/gateway-decisions/live-cache.ts';

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
