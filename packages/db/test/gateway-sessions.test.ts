import type { Grant } from '@quartermaster/contracts/gateway-sessions.ts';
import { SESSION_TTL_MAX_SECONDS } from '@quartermaster/contracts/gateways.ts';
import { describe, expect, test } from 'vitest';
import type { Database } from '../src/database.ts';
import {
  findGatewaySession,
  findSubject,
  insertGatewaySession,
  listGatewaySessions,
  revokeGatewaySession,
  revokeSessionsOfGateway,
  revokeSessionsOfPrincipal,
} from '../src/repositories/gateway-sessions.ts';
import { insertGateway } from '../src/repositories/gateways.ts';
import { findGrantedItems, itemPages } from '../src/repositories/granted-items.ts';
import { insertInventoryItem } from '../src/repositories/inventory.ts';
import { insertProvider } from '../src/repositories/providers.ts';
import { insertServiceAccount } from '../src/repositories/service-accounts.ts';
import { subTenantProvidersInSessions } from '../src/repositories/session-providers.ts';
import { revokeSessionsOfItems } from '../src/repositories/sessions-of-items.ts';
import { EVERYWHERE, type TenantPlace } from '../src/tenancy.ts';
import { later, NOW, temporaryDatabase } from './temporary-database.ts';

const ACME = { tenantId: 'acme', subTenantId: null };
const EU = { tenantId: 'acme', subTenantId: 'eu' };
const US = { tenantId: 'acme', subTenantId: 'us' };
const GLOBEX = { tenantId: 'globex', subTenantId: null };

test('the status of a session depends on the time, and lists can filter by it', async () => {
  const db = await temporaryDatabase(ACME);
  const gatewayId = await gateway(db, ACME);
  const short = await session(db, ACME, gatewayId, { ttl: 60, at: 0 });
  const long = await session(db, ACME, gatewayId, { ttl: 600, at: 1 });
  const ended = await session(db, ACME, gatewayId, { ttl: 600, at: 2 });
  expect(await revokeGatewaySession(db, [ACME], gatewayId, ended, later(3))).toMatchObject({ status: 'revoked' });
  expect(await revokeGatewaySession(db, [ACME], gatewayId, ended, later(4))).toBeUndefined();
  const listed = async (status: string | undefined, seconds: number) =>
    (await listGatewaySessions(db, [ACME], { gatewayId, status }, { limit: 9, after: null }, later(seconds))).items.map(
      (item) => item.id,
    );
  expect(await listed(undefined, 5)).toEqual([ended, long, short]);
  expect(await listed('active', 59)).toEqual([long, short]);
  expect(await listed('active', 60)).toEqual([long]);
  expect(await listed('expired', 60)).toEqual([short]);
  expect(await listed('revoked', 9999)).toEqual([ended]);
  expect(await listed('no such status', 5)).toEqual([]);
  expect(await findGatewaySession(db, [ACME], gatewayId, short, later(59))).toMatchObject({ status: 'active' });
  expect(await findGatewaySession(db, [ACME], gatewayId, short, later(60))).toMatchObject({ status: 'expired' });
});

test('a session is only found under its own gateway and in scope', async () => {
  const db = await temporaryDatabase(EU, US);
  const gatewayId = await gateway(db, EU);
  const other = await gateway(db, EU, 'other');
  const id = await session(db, EU, gatewayId, {});
  expect(await findGatewaySession(db, [ACME], gatewayId, id, NOW)).toMatchObject({ id, ...EU });
  expect(await findGatewaySession(db, [US], gatewayId, id, NOW)).toBeUndefined();
  expect(await findGatewaySession(db, [EU], other, id, NOW)).toBeUndefined();
  expect(await revokeGatewaySession(db, [EU], other, id, NOW)).toBeUndefined();
  expect(await revokeGatewaySession(db, [US], gatewayId, id, NOW)).toBeUndefined();
});

test('sessions are listed newest first, with keyset pagination', async () => {
  const db = await temporaryDatabase(ACME);
  const gatewayId = await gateway(db, ACME);
  const ids: string[] = [];
  for (let index = 0; index < 5; index += 1) ids.unshift(await session(db, ACME, gatewayId, { at: index }));
  const first = await listGatewaySessions(db, [ACME], { gatewayId }, { limit: 2, after: null }, NOW);
  await session(db, ACME, gatewayId, { at: 9 });
  const second = await listGatewaySessions(db, [ACME], { gatewayId }, { limit: 3, after: first.next }, NOW);
  expect([...first.items, ...second.items].map((item) => item.id)).toEqual(ids);
  expect(second.next).toBeNull();
});

test('ending a gateway’s sessions only changes and counts the active ones', async () => {
  const db = await temporaryDatabase(ACME);
  const gatewayId = await gateway(db, ACME);
  const elsewhere = await gateway(db, ACME, 'other');
  const expired = await session(db, ACME, gatewayId, { ttl: 60 });
  const active = await session(db, ACME, gatewayId, { ttl: 600 });
  const other = await session(db, ACME, elsewhere, { ttl: 600 });
  expect(await revokeSessionsOfGateway(db, [GLOBEX], gatewayId, later(60))).toBe(0);
  expect(await revokeSessionsOfGateway(db, [ACME], gatewayId, later(60))).toBe(1);
  expect(await revokeSessionsOfGateway(db, [ACME], gatewayId, later(60))).toBe(0);
  expect(await statusOf(db, gatewayId, active, 61)).toBe('revoked');
  expect(await statusOf(db, gatewayId, expired, 61)).toBe('expired');
  expect(await statusOf(db, elsewhere, other, 61)).toBe('active');
});

describe('ending the sessions of a principal', () => {
  test('ends sessions that it is the subject of, and sessions that it opened for others', async () => {
    const db = await temporaryDatabase(ACME);
    const gatewayId = await gateway(db, ACME);
    const own = await session(db, ACME, gatewayId, { subject: 'service_account:acme/bot' });
    const forOther = await session(db, ACME, gatewayId, { subject: 'user:1', openedBy: 'service_account:acme/bot' });
    const another = await session(db, ACME, gatewayId, { subject: 'user:1', openedBy: 'user:1' });
    expect(await revokeSessionsOfPrincipal(db, [ACME], 'service_account:acme/bot', NOW)).toBe(2);
    expect(await statusOf(db, gatewayId, own)).toBe('revoked');
    expect(await statusOf(db, gatewayId, forOther)).toBe('revoked');
    expect(await statusOf(db, gatewayId, another)).toBe('active');
  });

  test('does not end sessions of an account with the same id in another tenant', async () => {
    const db = await temporaryDatabase(ACME, GLOBEX);
    const acme = await gateway(db, ACME);
    const globex = await gateway(db, GLOBEX);
    const ours = await session(db, ACME, acme, { subject: 'service_account:acme/bot' });
    const theirs = await session(db, GLOBEX, globex, { subject: 'service_account:globex/bot' });
    expect(await revokeSessionsOfPrincipal(db, [ACME], 'service_account:acme/bot', NOW)).toBe(1);
    expect(await statusOf(db, acme, ours)).toBe('revoked');
    expect(await statusOf(db, globex, theirs)).toBe('active');
  });

  test('ends sessions that a platform administrator’s account opened in other tenants', async () => {
    const db = await temporaryDatabase(ACME, GLOBEX);
    const gatewayId = await gateway(db, GLOBEX);
    const subject = 'service_account:acme/root';
    const opened = await session(db, GLOBEX, gatewayId, { subject });
    expect(await revokeSessionsOfPrincipal(db, [ACME], subject, NOW)).toBe(0);
    expect(await revokeSessionsOfPrincipal(db, EVERYWHERE, subject, NOW)).toBe(1);
    expect(await statusOf(db, gatewayId, opened)).toBe('revoked');
  });

  test('ends a user’s sessions in the places of the scope', async () => {
    const db = await temporaryDatabase(ACME, GLOBEX);
    const acme = await gateway(db, ACME);
    const globex = await gateway(db, GLOBEX);
    const ours = await session(db, ACME, acme, { subject: 'user:1' });
    const theirs = await session(db, GLOBEX, globex, { subject: 'user:1' });
    expect(await revokeSessionsOfPrincipal(db, [ACME], 'user:1', NOW)).toBe(1);
    expect(await statusOf(db, acme, ours)).toBe('revoked');
    expect(await statusOf(db, globex, theirs)).toBe('active');
    expect(await revokeSessionsOfPrincipal(db, EVERYWHERE, 'user:1', NOW)).toBe(1);
  });
});

describe('ending the sessions that grant items', () => {
  const grant = (providerId: string, kind: 'model' | 'tool', name: string) => ({
    providerId,
    providerName: 'openai',
    items: [{ kind, name }],
  });
  const openai = { providerId: 'prov_1', providerName: 'openai' };
  const model = { ...openai, items: [{ kind: 'model', name: 'gpt-5' }] } as const;

  test('finds every variant of a name, and no sessions of another provider, kind, name, tenant or time', async () => {
    const db = await temporaryDatabase(ACME, EU, GLOBEX);
    const [acme, eu, globex] = [await gateway(db, ACME), await gateway(db, EU), await gateway(db, GLOBEX)];
    const plain = await session(db, ACME, acme, { at: 0, grants: [grant('prov_1', 'model', 'gpt-5')] });
    const variant = await session(db, EU, eu, {
      at: 1,
      grants: [grant('prov_2', 'model', 'x'), grant('prov_1', 'model', 'OpenAI/GPT-5')],
    });
    const others = [grant('prov_2', 'model', 'gpt-5'), grant('prov_1', 'tool', 'gpt-5')];
    await session(db, ACME, acme, { grants: [...others, grant('prov_1', 'model', 'gpt-5-mini')] });
    await session(db, ACME, acme, { grants: [grant('provX1', 'model', 'gpt-5')] });
    await session(db, GLOBEX, globex, { grants: [grant('prov_1', 'model', 'gpt-5')] });
    await session(db, ACME, acme, { ttl: 60, grants: [grant('prov_1', 'model', 'gpt-5')] });
    const gone = await session(db, ACME, acme, { grants: [grant('prov_1', 'model', 'gpt-5')] });
    await revokeGatewaySession(db, [ACME], acme, gone, later(2));
    const found = [
      { id: plain, gatewayId: acme, subject: 'user:1', tenantId: 'acme', subTenantId: null },
      { id: variant, gatewayId: eu, subject: 'user:1', tenantId: 'acme', subTenantId: 'eu' },
    ];
    expect(await revokeSessionsOfItems(db, [US], model, later(60))).toEqual([]);
    expect(await statusOf(db, acme, plain, 60)).toBe('active');
    expect(await revokeSessionsOfItems(db, [ACME], model, later(60))).toEqual(found);
    expect(await findGatewaySession(db, [ACME], eu, variant, later(61))).toMatchObject({
      status: 'revoked',
      revokedAt: later(60).toISOString(),
      revokedReason: 'item_blocked',
    });
    expect(await revokeSessionsOfItems(db, [ACME], model, later(60))).toEqual([]);
  });

  test('ends the sessions of all items in one call, each once, however many there are', async () => {
    const db = await temporaryDatabase(ACME);
    const gatewayId = await gateway(db, ACME);
    const of = (...names: string[]) => names.map((name) => grant('prov_1', 'model', name));
    const ids: string[] = [];
    for (let at = 0; at < 80; at += 1) {
      await session(db, ACME, gatewayId, { at, grants: of('other') });
      ids.push(await session(db, ACME, gatewayId, { at, grants: of('other', 'gpt-5') }));
      ids.push(await session(db, ACME, gatewayId, { at: at + 0.5, grants: of('o3', 'gpt-5') }));
    }
    const items = [...model.items, { kind: 'model', name: 'o3' }, { kind: 'tool', name: 'other' }] as const;
    const ended = await revokeSessionsOfItems(db, [ACME], { ...openai, items }, later(120));
    expect(ended.map(({ id }) => id)).toEqual(ids);
  });

  test('finds a session with the longest lifetime until its last second', async () => {
    const db = await temporaryDatabase(ACME);
    const gatewayId = await gateway(db, ACME);
    const day = 24 * 3600;
    const id = await session(db, ACME, gatewayId, { ttl: day, grants: [grant('prov_1', 'model', 'gpt-5')] });
    expect(await revokeSessionsOfItems(db, [ACME], model, later(day))).toEqual([]);
    expect(await revokeSessionsOfItems(db, [ACME], model, later(day - 1))).toMatchObject([{ id }]);
  });
});

test('a subject must be active, in the tenant, and not in another sub-tenant', async () => {
  const db = await temporaryDatabase(ACME, EU, US, GLOBEX);
  await account(db, ACME, 'wide', 'active');
  await account(db, EU, 'eu:bot', 'active');
  await account(db, ACME, 'off', 'disabled');
  await user(db, 'usr_1', 'active', EU);
  await user(db, 'usr_2', 'disabled', EU);
  await user(db, 'usr_3', 'active', GLOBEX);
  await user(db, 'usr_4', 'invited', EU);
  const cases: [string, TenantPlace, boolean][] = [
    ['service_account:acme/wide', ACME, true],
    ['service_account:acme/wide', EU, true],
    ['service_account:acme/wide', GLOBEX, false],
    ['service_account:acme/eu:bot', EU, true],
    ['service_account:acme/eu:bot', ACME, true],
    ['service_account:acme/eu:bot', US, false],
    ['service_account:acme/off', ACME, false],
    ['service_account:acme/nobody', ACME, false],
    ['user:usr_1', EU, true],
    ['user:usr_1', ACME, true],
    ['user:usr_1', US, false],
    ['user:usr_2', EU, false],
    ['user:usr_3', ACME, false],
    ['user:usr_4', EU, false],
    ['user:wide', ACME, false],
    ['wide', ACME, false],
  ];
  for (const [subject, place, exists] of cases) {
    const found = await findSubject(db, place, subject);
    expect([subject, place, found !== undefined]).toEqual([subject, place, exists]);
  }
});

test('granted items exclude blocked and retired ones, and those of other providers and tenants', async () => {
  const db = await temporaryDatabase(ACME);
  const mine = await provider(db, ACME, 'mine');
  const other = await provider(db, ACME, 'other');
  for (const status of ['available', 'missing', 'blocked', 'retired'] as const) await item(db, mine, status, status);
  await item(db, other, 'elsewhere', 'available');
  const pages = async (place: TenantPlace, how: { providerId?: string; pageSize?: number } = {}) => {
    const found: string[][] = [];
    const asked = { scope: [place], providerId: mine, ...how };
    for await (const page of itemPages(db, asked)) found.push(page.map(({ name }) => name));
    return found;
  };
  expect(await pages(ACME)).toEqual([['available', 'missing']]);
  expect(await pages(ACME, { providerId: other })).toEqual([['elsewhere']]);
  expect(await pages(ACME, { pageSize: 1 })).toEqual([['available'], ['missing'], []]);
  expect(await pages(GLOBEX)).toEqual([[]]);
});

test('finds the providers of sub-tenants of which a session may be open, in pages', async () => {
  const db = await temporaryDatabase(ACME, EU, US, GLOBEX);
  const created: string[] = [];
  for (const place of [EU, US, ACME, GLOBEX]) {
    const id = await provider(db, place, 'openai');
    const grants: Grant[] = [{ providerId: id, providerName: 'openai', items: [{ kind: 'model', name: 'gpt-5' }] }];
    await session(db, place, await gateway(db, place), { grants });
    if (place.subTenantId !== null) created.push(id);
  }
  await provider(db, EU, 'without a session');
  const ofSubTenants = created.toSorted();
  const pages = async (now: Date, size?: number) => {
    const found: string[][] = [];
    for await (const page of subTenantProvidersInSessions(db, ACME, now, size)) found.push(page.map(({ id }) => id));
    return found;
  };
  expect(await pages(NOW)).toEqual([ofSubTenants]);
  expect(await pages(NOW, 1)).toEqual([...ofSubTenants.map((id) => [id]), []]);
  expect(await pages(later(SESSION_TTL_MAX_SECONDS + 60))).toEqual([[]]);
});

test('items of a session are still granted if they are neither blocked, retired nor deleted', async () => {
  const db = await temporaryDatabase(ACME);
  const mine = await provider(db, ACME, 'mine');
  const items = (['available', 'missing', 'blocked', 'retired', 'gone'] as const).map(
    (name) => ({ kind: 'model', name }) as const,
  );
  for (const { name } of items) if (name !== 'gone') await item(db, mine, name, name);
  const asked = [...items, { kind: 'tool', name: 'available' } as const];
  const found = await findGrantedItems(db, [ACME], mine, asked);
  expect(found.map(({ name }) => name).toSorted()).toEqual(['available', 'missing']);
  expect(await findGrantedItems(db, [GLOBEX], mine, asked)).toEqual([]);
  expect(await findGrantedItems(db, [ACME], 'prov_other', asked)).toEqual([]);
  expect(await findGrantedItems(db, [ACME], mine, [])).toEqual([]);
});

async function statusOf(db: Database, gatewayId: string, id: string, seconds = 1) {
  return (await findGatewaySession(db, EVERYWHERE, gatewayId, id, later(seconds)))?.status;
}

type SessionFields = { subject?: string; openedBy?: string; ttl?: number; at?: number; grants?: Grant[] };

async function session(db: Database, place: TenantPlace, gatewayId: string, fields: SessionFields): Promise<string> {
  const { subject = 'user:1', openedBy = subject, ttl = 600, at = 0, grants = [] } = fields;
  const values = {
    gatewayId,
    subject,
    actor: openedBy === subject ? null : openedBy,
    openedBy,
    openedByKey: null,
    expiresAt: later(at + ttl).toISOString(),
    gatewayUrl: null,
    providerIds: null,
    grants,
    grantsDigest: 'sha256:0',
    metadata: {},
  };
  return (await insertGatewaySession(db, place, values, async () => {}, later(at))).id;
}

async function gateway(db: Database, place: TenantPlace, name = 'edge'): Promise<string> {
  const fields = {
    displayName: null,
    url: null,
    status: 'active',
    manifestId: null,
    sessionTtlSeconds: 600,
    enforcement: 'observe' as const,
    mcpProxy: 'off' as const,
  } as const;
  return (await insertGateway(db, place, { name, providerIds: [], ...fields }, NOW)).id;
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

async function item(
  db: Database,
  providerId: string,
  name: string,
  status: 'available' | 'missing' | 'blocked' | 'retired',
): Promise<void> {
  const fields = { title: null, description: null, source: 'manual', schemaDigest: null, attributes: {} } as const;
  await insertInventoryItem(db, ACME, { providerId, kind: 'model', name, nameKey: name, status, ...fields }, NOW);
}

async function account(db: Database, place: TenantPlace, id: string, status: 'active' | 'disabled'): Promise<void> {
  const fields = { displayName: null, description: null, platformAdministrator: false, metadata: {} };
  await insertServiceAccount(db, place, { id, name: id, status, ...fields }, NOW);
}

/** @param status of the user; `invited`: an active user whose membership is not accepted yet */
async function user(
  db: Database,
  id: string,
  status: 'active' | 'disabled' | 'invited',
  place: TenantPlace,
): Promise<void> {
  const times = { created_at: NOW.toISOString(), updated_at: NOW.toISOString() };
  const email = `${id}@example.com`;
  const empty = { display_name: null, source: null, locale: null, time_zone: null, last_seen_at: null, metadata: '{}' };
  const consents = { terms: '{}', terms_accepted: 1, marketing_consent: '{}', platform_administrator: 0 } as const;
  await db
    .insertInto('users')
    .values({
      id,
      email,
      email_key: email,
      status: status === 'disabled' ? status : 'active',
      ...empty,
      ...consents,
      ...times,
    })
    .execute();
  await db
    .insertInto('memberships')
    .values({
      tenant_id: place.tenantId,
      sub_tenant_id: place.subTenantId ?? '',
      user_id: id,
      email,
      role: 'viewer',
      accepted_at: status === 'invited' ? null : NOW.toISOString(),
      ...times,
    })
    .execute();
}
