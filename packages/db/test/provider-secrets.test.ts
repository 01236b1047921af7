import { expect, test } from 'vitest';
import type { Database } from '../src/database.ts';
import { DuplicateKeyError } from '../src/errors.ts';
import { newId } from '../src/ids.ts';
import {
  eraseFormerSecrets,
  findProviderSecret,
  findSealedSecret,
  insertProviderSecret,
  revokeAllProviderSecrets,
  type SecretSlot,
  swapProviderSecrets,
  touchProviderSecret,
  undoProviderSecretSwap,
} from '../src/repositories/provider-secrets.ts';
import { insertProvider } from '../src/repositories/providers.ts';
import { scopeOf } from '../src/tenancy.ts';
import { later, NOW, temporaryDatabase } from './temporary-database.ts';

const PLACE = { tenantId: 'acme', subTenantId: null };
const OTHER = { tenantId: 'other', subTenantId: null };
const SCOPE = scopeOf(PLACE);

async function world(): Promise<{ db: Database; providerId: string }> {
  const db = await temporaryDatabase(PLACE, OTHER);
  const none = { displayName: null, description: null, baseUrl: null, metadata: {} };
  const provider = await insertProvider(db, PLACE, { name: 'llm', kind: 'llm', status: 'active', ...none }, NOW);
  return { db, providerId: provider.id };
}

function secret(db: Database, providerId: string, slot: SecretSlot, sealed: string = slot) {
  const how = {
    header: 'Authorization',
    scheme: 'Bearer',
    boundUrl: null,
    expiresAt: null,
    createdBy: 'user:u',
    name: slot,
  };
  const id = newId('sec', NOW);
  return insertProviderSecret(db, PLACE, { id, providerId, slot, sealed, rotationCount: 0, ...how }, NOW);
}

/** All rows, without their time of change. */
async function rows(db: Database): Promise<unknown[]> {
  const all = await db.selectFrom('credentials').selectAll().orderBy('id').execute();
  return all.map(({ updated_at: _changed, ...row }) => row);
}

test('a swap makes the standby secret current and keeps the former one; undoing it restores both', async () => {
  const { db, providerId } = await world();
  const current = await secret(db, providerId, 'current');
  const standby = await secret(db, providerId, 'standby');
  const before = await rows(db);
  const swapped = await swapProviderSecrets(db, PLACE, providerId, later(60));
  expect(swapped?.current).toMatchObject({ id: standby.id, slot: 'current', status: 'active' });
  expect(swapped?.former).toMatchObject({ id: current.id, slot: 'former', status: 'revoked' });
  expect(swapped?.former.revokedAt).toBe(later(60).toISOString());
  expect(await findSealedSecret(db, SCOPE, providerId, NOW)).toMatchObject({ sealed: 'standby', scheme: 'Bearer' });
  expect(await findProviderSecret(db, SCOPE, providerId, 'standby', NOW)).toBeUndefined();
  const ids = { currentId: standby.id, formerId: current.id };
  const back = await undoProviderSecretSwap(db, PLACE, ids, later(120));
  expect(back).toMatchObject({ current: { id: current.id }, standby: { id: standby.id } });
  expect(await rows(db)).toEqual(before);
  expect(await undoProviderSecretSwap(db, PLACE, ids, later(120))).toBeUndefined();
});

test('a swap needs both a current and a standby secret', async () => {
  const { db, providerId } = await world();
  expect(await swapProviderSecrets(db, PLACE, providerId, NOW)).toBeUndefined();
  await secret(db, providerId, 'standby');
  expect(await swapProviderSecrets(db, PLACE, providerId, NOW)).toBeUndefined();
});

test('a swap cannot be undone after the former secret is erased, or if there is another standby secret', async () => {
  const { db, providerId } = await world();
  const current = await secret(db, providerId, 'current');
  const standby = await secret(db, providerId, 'standby');
  await swapProviderSecrets(db, PLACE, providerId, NOW);
  const ids = { currentId: standby.id, formerId: current.id };
  const newer = await secret(db, providerId, 'standby', 'newer');
  expect(await undoProviderSecretSwap(db, PLACE, ids, later(1))).toBeUndefined();
  await db.deleteFrom('credentials').where('id', '=', newer.id).execute();
  expect(await eraseFormerSecrets(db, NOW.toISOString())).toBe(0);
  expect(await eraseFormerSecrets(db, later(1).toISOString())).toBe(1);
  expect(await eraseFormerSecrets(db, later(1).toISOString())).toBe(0);
  expect(await undoProviderSecretSwap(db, PLACE, ids, later(1))).toBeUndefined();
  expect(await findSealedSecret(db, SCOPE, providerId, NOW)).toMatchObject({ sealed: 'standby' });
});

test('a slot has one secret', async () => {
  const { db, providerId } = await world();
  await secret(db, providerId, 'current');
  await expect(secret(db, providerId, 'current')).rejects.toThrow(DuplicateKeyError);
});

test('detaching revokes and erases all secrets, including former ones', async () => {
  const { db, providerId } = await world();
  await secret(db, providerId, 'current', 'first');
  const second = await secret(db, providerId, 'standby', 'second');
  await swapProviderSecrets(db, PLACE, providerId, NOW);
  const third = await secret(db, providerId, 'standby', 'third');
  expect(await revokeAllProviderSecrets(db, scopeOf(OTHER), { providerId }, NOW)).toEqual([]);
  const detached = await revokeAllProviderSecrets(db, SCOPE, { providerId }, later(5));
  expect(detached.map(({ id }) => id)).toEqual([second.id, third.id]);
  for (const row of await rows(db)) expect(row).toMatchObject({ secret: null, slot: 'former' });
  expect(await revokeAllProviderSecrets(db, SCOPE, { providerId }, later(6))).toEqual([]);
});

test('secrets cannot be seen or changed from another place', async () => {
  const { db, providerId } = await world();
  const { id } = await secret(db, providerId, 'current');
  await secret(db, providerId, 'standby');
  const before = await rows(db);
  expect(await findSealedSecret(db, scopeOf(OTHER), providerId, NOW)).toBeUndefined();
  expect(await swapProviderSecrets(db, OTHER, providerId, NOW)).toBeUndefined();
  await touchProviderSecret(db, scopeOf(OTHER), id, { unlessSince: NOW, now: NOW });
  expect(await rows(db)).toEqual(before);
});

test('the time of last use is stored, unless it was stored a moment ago', async () => {
  const { db, providerId } = await world();
  const { id } = await secret(db, providerId, 'current');
  const usedAt = async () => (await findProviderSecret(db, SCOPE, providerId, 'current', NOW))?.lastUsedAt;
  const use = (seconds: number) =>
    touchProviderSecret(db, SCOPE, id, { unlessSince: later(seconds - 60), now: later(seconds) });
  await use(0);
  await use(59);
  expect(await usedAt()).toBe(NOW.toISOString());
  await use(60);
  expect(await usedAt()).toBe(later(60).toISOString());
});
