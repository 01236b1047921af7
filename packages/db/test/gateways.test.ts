import { expect, test } from 'vitest';
import type { Database } from '../src/database.ts';
import { DuplicateKeyError } from '../src/errors.ts';
import {
  findActiveGatewayOfManifest,
  findGateway,
  findGatewayOfProvider,
  insertGateway,
  listGateways,
  type NewGateway,
  updateGateway,
} from '../src/repositories/gateways.ts';
import { insertManifest } from '../src/repositories/manifests.ts';
import { insertProvider } from '../src/repositories/providers.ts';
import { EVERYWHERE, type TenantPlace } from '../src/tenancy.ts';
import { later, NOW, temporaryDatabase } from './temporary-database.ts';

const ACME = { tenantId: 'acme', subTenantId: null };
const EU = { tenantId: 'acme', subTenantId: 'eu' };
const US = { tenantId: 'acme', subTenantId: 'us' };
const GLOBEX = { tenantId: 'globex', subTenantId: null };

test('a gateway keeps its providers in the given order, also after an update', async () => {
  const db = await temporaryDatabase(ACME);
  const ids = [await provider(db, ACME, 'one'), await provider(db, ACME, 'two'), await provider(db, ACME, 'three')];
  const turned = ids.toReversed();
  const made = await insertGateway(db, ACME, gateway('edge', { providerIds: turned }), NOW);
  expect(made.providerIds).toEqual(turned);
  const updated = await updateGateway(db, [ACME], made.id, { providerIds: ids.slice(1) }, later(1));
  expect(updated).toEqual({ ...made, providerIds: ids.slice(1), updatedAt: later(1).toISOString() });
  expect(await findGateway(db, [ACME], made.id)).toEqual(updated);
});

test('names are unique at a place, case-insensitively, until the gateway is deleted', async () => {
  const db = await temporaryDatabase(ACME, EU, GLOBEX);
  const first = await insertGateway(db, ACME, gateway('Straße'), NOW);
  await expect(insertGateway(db, ACME, gateway('STRAßE'), NOW)).rejects.toBeInstanceOf(DuplicateKeyError);
  await insertGateway(db, EU, gateway('straße'), NOW);
  await insertGateway(db, GLOBEX, gateway('straße'), NOW);
  const other = await insertGateway(db, ACME, gateway('other'), NOW);
  await expect(updateGateway(db, [ACME], other.id, { name: 'straße' }, NOW)).rejects.toBeInstanceOf(DuplicateKeyError);
  await updateGateway(db, [ACME], first.id, { status: 'deleted' }, NOW);
  await insertGateway(db, ACME, gateway('straße'), NOW);
});

test('a gateway out of scope cannot be found, listed or changed', async () => {
  const db = await temporaryDatabase(EU, US);
  const made = await insertGateway(db, EU, gateway('edge'), NOW);
  for (const scope of [[US], [GLOBEX], []]) {
    expect(await findGateway(db, scope, made.id)).toBeUndefined();
    expect((await listGateways(db, scope, {}, { limit: 10, after: null })).items).toEqual([]);
    expect(await updateGateway(db, scope, made.id, { status: 'deleted' }, NOW)).toBeUndefined();
  }
  expect(await findGateway(db, [ACME], made.id)).toEqual(made);
});

test('pages are newest first and end with null; deleted gateways are only listed by their status', async () => {
  const db = await temporaryDatabase(ACME, GLOBEX);
  const ids = [];
  for (let index = 0; index < 5; index += 1) {
    const place = index % 2 === 0 ? ACME : GLOBEX;
    ids.unshift((await insertGateway(db, place, gateway(`gateway ${index}`), later(index))).id);
  }
  const first = await listGateways(db, EVERYWHERE, {}, { limit: 3, after: null });
  const second = await listGateways(db, EVERYWHERE, {}, { limit: 3, after: first.next });
  expect([...first.items, ...second.items].map((item) => item.id)).toEqual(ids);
  expect(second.next).toBeNull();
  const [newest = ''] = ids;
  await updateGateway(db, EVERYWHERE, newest, { status: 'deleted' }, later(9));
  const listed = async (status?: string) =>
    (await listGateways(db, EVERYWHERE, { status }, { limit: 9, after: null })).items.map((item) => item.id);
  expect(await listed()).toEqual(ids.slice(1));
  expect(await listed('deleted')).toEqual([newest]);
  expect(await listed('no such status')).toEqual([]);
});

test('a provider is in use by active and disabled gateways of the whole tenant, not by deleted ones', async () => {
  const db = await temporaryDatabase(ACME, EU, US);
  const id = await provider(db, EU, 'one');
  expect(await findGatewayOfProvider(db, [EU], id)).toBeUndefined();
  const made = await insertGateway(db, ACME, gateway('edge', { providerIds: [id], status: 'disabled' }), NOW);
  expect(await findGatewayOfProvider(db, [EU], id)).toEqual({ id: made.id, name: 'edge', ...ACME });
  expect(await findGatewayOfProvider(db, [US], id)).toBeUndefined();
  await updateGateway(db, [ACME], made.id, { status: 'deleted' }, NOW);
  expect(await findGatewayOfProvider(db, [EU], id)).toBeUndefined();
});

test('only active gateways keep a manifest in use', async () => {
  const db = await temporaryDatabase(ACME);
  const fields = {
    name: 'agent',
    kind: 'agent',
    version: 1,
    digest: 'sha256:0',
    spec: {},
    createdBy: 'user:1',
  } as const;
  const manifest = await insertManifest(db, ACME, fields, NOW);
  const made = await insertGateway(db, ACME, gateway('edge', { manifestId: manifest.id }), NOW);
  expect(await findActiveGatewayOfManifest(db, [ACME], manifest.id)).toMatchObject({ id: made.id });
  expect(await findActiveGatewayOfManifest(db, [GLOBEX], manifest.id)).toBeUndefined();
  await updateGateway(db, [ACME], made.id, { status: 'disabled' }, NOW);
  expect(await findActiveGatewayOfManifest(db, [ACME], manifest.id)).toBeUndefined();
});

function gateway(name: string, fields: Partial<NewGateway> = {}): NewGateway {
  const rest = { displayName: null, url: null, status: 'active', providerIds: [], manifestId: null } as const;
  const modes = { enforcement: 'observe', mcpProxy: 'off' } as const;
  return { name, ...rest, ...modes, sessionTtlSeconds: 3600, ...fields, providerIds: fields.providerIds ?? [] };
}

async function provider(db: Database, place: TenantPlace, name: string): Promise<string> {
  const fields = {
    displayName: null,
    description: null,
    kind: 'llm',
    baseUrl: null,
    status: 'active',
    metadata: {},
  } as const;
  return (await insertProvider(db, place, { name, ...fields }, NOW)).id;
}
