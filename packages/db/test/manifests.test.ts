import type { Manifest } from '@quartermaster/contracts/manifests.ts';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import { expect, test } from 'vitest';
import type { Database } from '../src/database.ts';
import { DuplicateKeyError } from '../src/errors.ts';
import { manifestDeclarations } from '../src/repositories/manifest-declarations.ts';
import {
  compareDeclarations,
  type Declaration,
  deleteDeclarations,
  endManifest,
  findActiveManifest,
  findDeclarations,
  findLastManifestVersion,
  findManifest,
  insertManifest,
  listManifests,
  storeDeclarations,
  type NewManifest,
} from '../src/repositories/manifests.ts';
import { findProvidersDeclared, insertProvider, type NewProvider } from '../src/repositories/providers.ts';
import type { TenantPlace } from '../src/tenancy.ts';
import { later, NOW, temporaryDatabase } from './temporary-database.ts';

const ACME = { tenantId: 'acme', subTenantId: null };
const EU = { tenantId: 'acme', subTenantId: 'eu' };
const AGENT = { kind: 'agent', name: 'buyer' } as const;

test('versions are numbered for each place, kind and name, and never reused', async () => {
  const db = await temporaryDatabase(ACME, EU);
  expect(await findLastManifestVersion(db, ACME, AGENT)).toBe(0);
  const first = await insertManifest(db, ACME, version(1), NOW);
  await insertManifest(db, EU, version(1), NOW);
  await expect(insertManifest(db, ACME, version(1), NOW)).rejects.toBeInstanceOf(DuplicateKeyError);
  await endManifest(db, [ACME], first.id, 'deleted', NOW);
  expect(await findLastManifestVersion(db, ACME, AGENT)).toBe(1);
  expect(await findLastManifestVersion(db, ACME, { kind: 'agent', name: 'Buyer' })).toBe(0);
  await expect(insertManifest(db, ACME, version(1), NOW)).rejects.toBeInstanceOf(DuplicateKeyError);
});

test('the active version is the one of exactly this place', async () => {
  const db = await temporaryDatabase(ACME, EU);
  const wide = await insertManifest(db, ACME, version(1), NOW);
  expect(await findActiveManifest(db, EU, AGENT)).toBeUndefined();
  expect(await findActiveManifest(db, ACME, AGENT)).toEqual(wide);
  await endManifest(db, [ACME], wide.id, 'superseded', later(1));
  expect(await findActiveManifest(db, ACME, AGENT)).toBeUndefined();
  expect(await findManifest(db, [ACME], wide.id)).toMatchObject({ status: 'superseded' });
  expect(await findManifest(db, [EU], wide.id)).toBeUndefined();
});

test('superseded manifests are listed, deleted ones only by their status', async () => {
  const db = await temporaryDatabase(ACME);
  const ids: string[] = [];
  for (let count = 1; count <= 3; count += 1)
    ids.push((await insertManifest(db, ACME, version(count), later(count))).id);
  const [first = '', second = '', third = ''] = ids;
  await endManifest(db, [ACME], first, 'deleted', later(5));
  await endManifest(db, [ACME], second, 'superseded', later(5));
  const listed = async (filter: { name?: string; kind?: string; status?: string }) =>
    (await listManifests(db, [ACME], filter, { limit: 9, after: null })).items.map((item) => item.id);
  expect(await listed({})).toEqual([third, second]);
  expect(await listed({ status: 'superseded' })).toEqual([second]);
  expect(await listed({ status: 'deleted' })).toEqual([first]);
  expect(await listed({ name: 'buyer', kind: 'agent', status: 'active' })).toEqual([third]);
  expect(await listed({ name: 'BUYER' })).toEqual([]);
  expect(await listed({ kind: 'nothing' })).toEqual([]);
  const page = await listManifests(db, [ACME], {}, { limit: 1, after: null });
  const next = await listManifests(db, [ACME], {}, { limit: 1, after: page.next });
  expect([page.items[0]?.id, next.items[0]?.id, next.next]).toEqual([third, second, null]);
  expect(await endManifest(db, [ACME], first, 'deleted', later(6))).toBeUndefined();
});

test('declarations are stored without duplicates, with case-folded providers, until they are deleted', async () => {
  const db = await temporaryDatabase(ACME);
  const manifest = await insertManifest(db, ACME, version(1), NOW);
  const again = await insertManifest(db, ACME, { ...version(1), name: 'seller' }, NOW);
  const declared = [
    { provider: 'OpenAI', kind: 'model', name: 'GPT-5' },
    { provider: 'openai', kind: 'model', name: 'GPT-5' },
    { provider: 'openai', kind: 'model', name: 'gpt-5' },
  ] as const;
  const kept = [
    { provider: 'openai', kind: 'model', name: 'GPT-5' },
    { provider: 'openai', kind: 'model', name: 'gpt-5' },
  ];
  expect(compareDeclarations([], declared)).toEqual({ added: kept, removed: [] });
  await declare(db, manifest, declared);
  await declare(db, again, declared);
  await declare(db, manifest, []);
  expect(await deleteDeclarations(db, manifest)).toEqual(kept);
  expect(await deleteDeclarations(db, manifest)).toEqual([]);
  expect(await deleteDeclarations(db, again)).toHaveLength(2);
});

test('a version takes over what the one before it declares as well, removes what only that one declared, and adds what is new', async () => {
  const db = await temporaryDatabase(ACME);
  const [first, second, third] = [
    await insertManifest(db, ACME, version(1), NOW),
    await insertManifest(db, ACME, version(2), NOW),
    await insertManifest(db, ACME, version(3), NOW),
  ];
  // Stays as it is, although it declares the same at another provider and of another kind.
  const other = await insertManifest(db, ACME, { ...version(1), name: 'seller' }, NOW);
  const of = (provider: string, kind: 'model' | 'tool', name: string) => ({ provider, kind, name }) as const;
  const former = [of('openai', 'model', 'gpt-5'), of('openai', 'model', 'gpt-4'), of('openai', 'tool', 'gpt-4')];
  await declare(db, first, former);
  await declare(db, other, former);

  const same = compareDeclarations(
    former,
    former.toReversed().map((one) => ({ ...one, provider: 'OpenAI' })),
  );
  expect(same).toEqual({ added: [], removed: [] });
  await storeDeclarations(db, second, same, first);
  expect(await findDeclarations(db, first)).toEqual([]);
  expect(new Set(await findDeclarations(db, second))).toEqual(new Set(former));

  const next = [of('openai', 'model', 'gpt-5'), of('openai', 'tool', 'gpt-4'), of('azure', 'model', 'gpt-4')];
  const changes = compareDeclarations(former, next);
  expect(changes).toEqual({ added: [of('azure', 'model', 'gpt-4')], removed: [of('openai', 'model', 'gpt-4')] });
  await storeDeclarations(db, third, changes, second);
  expect(await findDeclarations(db, second)).toEqual([]);
  expect(new Set(await findDeclarations(db, third))).toEqual(new Set(next));
  expect(new Set(await findDeclarations(db, other))).toEqual(new Set(former));
});

test('a name in a declaration refers to providers of its place and of the whole tenant, an id to any in the tenant', async () => {
  const US = { tenantId: 'acme', subTenantId: 'us' };
  const db = await temporaryDatabase(ACME, EU, US);
  const named = (name: string): NewProvider => ({
    name,
    displayName: null,
    description: null,
    kind: 'llm',
    baseUrl: null,
    status: 'active',
    metadata: {},
  });
  const wide = await insertProvider(db, ACME, named('Wide'), NOW);
  const eu = await insertProvider(db, EU, named('same'), NOW);
  const us = await insertProvider(db, US, named('same'), NOW);
  const meant = async (place: TenantPlace, names: string[], ids: string[] = []) =>
    (await findProvidersDeclared(db, place, { names, ids })).map(({ id }) => id).toSorted();
  expect(await meant(ACME, ['wide', 'same'])).toEqual([wide.id]);
  expect(await meant(ACME, ['wide'], [eu.id, us.id])).toEqual([wide.id, eu.id, us.id].toSorted());
  expect(await meant(EU, ['wide', 'same'], [us.id])).toEqual([wide.id, eu.id].toSorted());

  const isDeclared = async (provider: Provider, { subTenantId }: TenantPlace) => {
    const subject = { tenantId: 'acme', subTenantId, provider, kind: 'model', nameKey: 'gpt-5' } as const;
    return (await manifestDeclarations(db, ACME, [subject]))(subject);
  };
  const declared = (provider: string) => ({ provider, kind: 'model', name: 'gpt-5' }) as const;
  const manifest = await insertManifest(db, ACME, version(1), NOW);
  await declare(db, manifest, [declared('wide'), declared('same')]);
  expect([await isDeclared(wide, ACME), await isDeclared(wide, EU)]).toEqual([true, true]);
  expect([await isDeclared(eu, EU), await isDeclared(us, US)]).toEqual([false, false]);
  const ofEu = await insertManifest(db, EU, version(1), NOW);
  await declare(db, ofEu, [declared('same')]);
  expect([await isDeclared(eu, EU), await isDeclared(us, US)]).toEqual([true, false]);
  await deleteDeclarations(db, manifest);
  await declare(db, manifest, [declared(us.id)]);
  expect([await isDeclared(us, US), await isDeclared(wide, US)]).toEqual([true, false]);
});

test('a thousand declarations, the limit of a manifest, are inserted with one call', async () => {
  const db = await temporaryDatabase(ACME);
  const manifest = await insertManifest(db, ACME, version(1), NOW);
  const many = Array.from(
    { length: 1000 },
    (_, index) => ({ provider: 'x', kind: 'tool', name: `t${index}` }) as const,
  );
  await declare(db, manifest, many);
  expect(await deleteDeclarations(db, manifest)).toHaveLength(1000);
});

function declare(db: Database, manifest: Manifest, declared: readonly Declaration[]): Promise<void> {
  return storeDeclarations(db, manifest, compareDeclarations([], declared));
}

function version(number: number): NewManifest {
  return { ...AGENT, version: number, digest: `sha256:${number}`, spec: { number }, createdBy: 'user:1' };
}
