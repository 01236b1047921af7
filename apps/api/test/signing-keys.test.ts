import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { searchCredentials } from '@quartermaster/db/repositories/credentials.ts';
import { EVERYWHERE } from '@quartermaster/db/tenancy.ts';
import express from 'express';
import { createLocalJWKSet, jwtVerify, SignJWT } from 'jose';
import { expect, onTestFinished, test } from 'vitest';
import { secretBox } from '../src/platform/secret-box.ts';
import { jwksHandler } from '../src/resources/signing-keys/jwks-handler.ts';
import { currentSigner, jwks, type KeyServices } from '../src/resources/signing-keys/service.ts';
import { databaseOfTest } from './support/environment.ts';

const START = new Date('2026-01-01T00:00:00.000Z');
const DAY = 24 * 3600;

test('a token of the current key can be verified with the published keys', async () => {
  const { services } = await setUp();
  const signer = await currentSigner(services);
  const header = { alg: 'ES256', kid: signer.kid };
  const token = await new SignJWT({ sub: 'user:1' }).setProtectedHeader(header).sign(signer.key);
  const { payload } = await jwtVerify(token, createLocalJWKSet(await jwks(services)));
  expect(payload.sub).toBe('user:1');
});

test('the published keys have public members only', async () => {
  const { services } = await setUp();
  const { keys } = await jwks(services);
  expect(keys).toHaveLength(1);
  expect(Object.keys(keys[0] ?? {}).toSorted()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y']);
  expect(keys[0]).toMatchObject({ kty: 'EC', crv: 'P-256', alg: 'ES256', use: 'sig' });
});

test('the private key is stored encrypted, bound to the id of the key', async () => {
  const { services } = await setUp();
  const { kid } = await currentSigner(services);
  const row = await services.db.selectFrom('credentials').selectAll().executeTakeFirstOrThrow();
  expect(row).toMatchObject({ id: kid, tenant_id: '', kind: 'signing_key', owner_type: 'platform', owner_id: null });
  expect(row.public_key).not.toContain('"d"');
  expect(row.secret).not.toContain('"d"');
  const opened = JSON.parse(services.secrets.open(row.secret ?? '', `signing_key:${kid}`)) as { d?: string };
  expect(opened.d).toBeTypeOf('string');
  expect(() => services.secrets.open(row.secret ?? '', 'signing_key:another')).toThrow();
});

test('concurrent first uses create one key', async () => {
  const { services } = await setUp();
  const published = Array.from({ length: 5 }, () => jwks(services));
  const signers = await Promise.all(Array.from({ length: 5 }, () => currentSigner(services)));
  const kids = new Set([
    ...signers.map((signer) => signer.kid),
    ...(await Promise.all(published)).flatMap(({ keys }) => keys.map((key) => key.kid)),
  ]);
  expect(kids.size).toBe(1);
});

test('a key is used for 90 days, then concurrent uses create one successor', async () => {
  const { services, at } = await setUp();
  const first = await currentSigner(services);
  at(90 * DAY - 1);
  expect(await currentSigner(services)).toBe(first);
  at(90 * DAY);
  const signers = await Promise.all(Array.from({ length: 5 }, () => currentSigner(services)));
  expect(new Set(signers.map((signer) => signer.kid)).size).toBe(1);
  expect(signers[0]?.kid).not.toBe(first.kid);
});

test('an old key is published until 24 hours after its rotation', async () => {
  const { services, at } = await setUp();
  const kids = async () => (await jwks(services)).keys.map((key) => key.kid);
  const first = await currentSigner(services);
  at(100 * DAY);
  expect(await kids()).toEqual([first.kid]);
  const second = await currentSigner(services);
  expect(await kids()).toEqual([second.kid, first.kid]);
  at(101 * DAY - 1);
  expect(await kids()).toEqual([second.kid, first.kid]);
  at(101 * DAY);
  expect(await kids()).toEqual([second.kid]);
  at(300 * DAY);
  const third = await currentSigner(services);
  expect(await kids()).toEqual([third.kid, second.kid]);
});

test('a revoked key is neither used nor published', async () => {
  const { services } = await setUp();
  const first = await currentSigner(services);
  await services.db.updateTable('credentials').set({ revoked_at: START.toISOString() }).execute();
  const second = await currentSigner(services);
  expect(second.kid).not.toBe(first.kid);
  expect((await jwks(services)).keys.map((key) => key.kid)).toEqual([second.kid]);
});

test('another process uses the same key', async () => {
  const { services } = await setUp();
  const { kid } = await currentSigner(services);
  expect((await currentSigner({ ...services })).kid).toBe(kid);
});

test('a search shows signing keys as the platform’s credentials, counting their rotations', async () => {
  const { services, at } = await setUp();
  await currentSigner(services);
  at(90 * DAY);
  const { kid } = await currentSigner(services);
  const filter = { kind: 'signing_key' as const, query: kid.toUpperCase() };
  const { items } = await searchCredentials(services.db, EVERYWHERE, filter, { limit: 9, after: null }, services.now());
  expect(items).toHaveLength(1);
  expect(items[0]).toMatchObject({
    id: kid,
    tenantId: null,
    ownerType: 'platform',
    status: 'active',
    rotationCount: 1,
  });
});

test('/.well-known/jwks.json answers the keys, with a max-age of five minutes', async () => {
  const { services } = await setUp();
  const server = createServer(express().get('/.well-known/jwks.json', jwksHandler(services)));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const answer = await fetch(`http://127.0.0.1:${port}/.well-known/jwks.json`);
  expect(answer.status).toBe(200);
  expect(answer.headers.get('cache-control')).toBe('public, max-age=300');
  expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
  expect(await answer.json()).toEqual(await jwks(services));
});

async function setUp(): Promise<{ services: KeyServices; at: (seconds: number) => void }> {
  const db = await databaseOfTest();
  let now = START;
  const at = (seconds: number) => {
    now = new Date(START.getTime() + seconds * 1000);
  };
  return { services: { db, now: () => now, secrets: secretBox(randomBytes(32)) }, at };
}
