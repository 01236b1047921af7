import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { expect, onTestFinished, test, vi } from 'vitest';
import { principalOfApiKey } from '../src/auth/api-key.ts';
import { digestsEqual, mintApiKey, parseApiKey } from '../src/auth/api-key-format.ts';
import { ApiError } from '../src/platform/errors.ts';
import type { Services } from '../src/platform/services.ts';
import { accountWithKey } from './support/people.ts';
import { serverOfTest } from './support/server.ts';

const ID = 'key_01jnszf0000000000000000000';

/** Services whose database throws. They count how often it is used. */
function watched() {
  const uses: string[] = [];
  const db = new Proxy(
    {},
    {
      get(_, name) {
        uses.push(String(name));
        throw new Error('the database was asked');
      },
    },
  );
  return { uses, services: { db, now: () => new Date() } as unknown as Services };
}

test('a key with one changed character is refused without a database query', async () => {
  const { uses, services } = watched();
  const { key } = mintApiKey(ID);
  const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_';
  for (let at = 0; at < key.length; at += 1) {
    for (const other of alphabet) {
      if (other === key[at]) continue;
      const damaged = key.slice(0, at) + other + key.slice(at + 1);
      expect(parseApiKey(damaged), damaged).toBeNull();
    }
    const damaged = `${key.slice(0, at)}${key[at] === 'x' ? 'y' : 'x'}${key.slice(at + 1)}`;
    await expect(principalOfApiKey(services, damaged)).rejects.toBeInstanceOf(ApiError);
  }
  expect(uses).toEqual([]);
  await expect(principalOfApiKey(services, key)).rejects.toThrow('the database was asked');
  expect(uses).toHaveLength(1);
});

test('a key with two swapped neighbouring characters is refused without a database query', () => {
  const { key } = mintApiKey(ID);
  for (let at = 0; at + 1 < key.length; at += 1) {
    const swapped = key.slice(0, at) + (key[at + 1] ?? '') + (key[at] ?? '') + key.slice(at + 2);
    if (swapped !== key) expect(parseApiKey(swapped)).toBeNull();
  }
});

test.each(['', ' ', '\n', '\0', 'x'])('a key with text around it is refused: %j', (around) => {
  const { key } = mintApiKey(ID);
  if (around === '') expect(parseApiKey(key)?.keyId).toBe(ID);
  else for (const text of [key + around, around + key]) expect(parseApiKey(text)).toBeNull();
});

test('a key has a fixed format with 256 random bits, and all keys differ', () => {
  const made = Array.from({ length: 1000 }, () => mintApiKey(ID));
  expect(new Set(made.map(({ key }) => key)).size).toBe(1000);
  for (const { key, prefix, digest } of made) {
    expect(key).toMatch(/^qm_key_[0-9a-z]{26}_[0-9A-Za-z]{49}$/);
    // Records show four characters of the secret, so 232 bits stay secret.
    expect(prefix).toBe(key.slice(0, 'qm_'.length + ID.length + 5));
    expect(digest).toMatch(/^[0-9a-f]{64}$/);
    expect(parseApiKey(key)).toEqual({ keyId: ID, prefix, digest });
  }
  // Each position of the secret takes many values, the first one only few, because 62^43 is greater than 2^256.
  for (let at = 1; at < 43; at += 1) {
    expect(new Set(made.map(({ key }) => key[key.length - 49 + at])).size).toBeGreaterThan(40);
  }
});

test('digests of other lengths are not equal, and not an error', () => {
  const { digest } = mintApiKey(ID);
  expect(digestsEqual(digest, digest)).toBe(true);
  for (const other of ['', 'zz', digest.slice(2), `${digest}00`, mintApiKey(ID).digest]) {
    expect(digestsEqual(digest, other)).toBe(false);
  }
});

test('the digest of a key is compared in constant time', async () => {
  // Housekeeping compares MACs of audit events.
  const server = await serverOfTest({}, { noHousekeeping: true });
  const { key, keyId } = await accountWithKey(server, { tenantId: 'acme' });
  const compare = vi.spyOn(crypto, 'timingSafeEqual');
  syncBuiltinESMExports();
  onTestFinished(() => {
    compare.mockRestore();
    syncBuiltinESMExports();
  });
  expect((await server.call('GET', '/v1/providers', { as: { key } })).status).toBe(200);
  expect(compare).toHaveBeenCalledTimes(1);
  expect((await server.call('GET', '/v1/providers', { as: { key: mintApiKey(keyId).key } })).status).toBe(401);
  expect(compare).toHaveBeenCalledTimes(2);
  for (const [a, b] of compare.mock.calls) expect([a.byteLength, b.byteLength]).toEqual([32, 32]);
});
