import { createHash, randomBytes } from 'node:crypto';
import { createGatewaySession as createContract } from '@quartermaster/contracts/gateway-sessions.ts';
import type { InventoryItem } from '@quartermaster/contracts/inventory.ts';
import type { Operation } from '@quartermaster/contracts/operation.ts';
import type { Scope } from '@quartermaster/contracts/scopes.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { insertApiKey } from '@quartermaster/db/repositories/credentials.ts';
import { insertGateway, type NewGateway } from '@quartermaster/db/repositories/gateways.ts';
import { insertInventoryItem } from '@quartermaster/db/repositories/inventory.ts';
import { insertProvider } from '@quartermaster/db/repositories/providers.ts';
import { insertServiceAccount } from '@quartermaster/db/repositories/service-accounts.ts';
import { ensurePlace } from '@quartermaster/db/repositories/tenants.ts';
import canonicalize from 'canonicalize';
import { createLocalJWKSet, decodeJwt, jwtVerify } from 'jose';
import { expect, test } from 'vitest';
import { reachOf } from '../src/auth/principal.ts';
import { secretBox } from '../src/platform/secret-box.ts';
import {
  createGatewaySession,
  requireGatewaySession,
  revokeSession,
} from '../src/resources/gateway-sessions/service.ts';
import { changeGateway, deleteGateway } from '../src/resources/gateways/service.ts';
import type { Services } from '../src/platform/services.ts';
import { jwks } from '../src/resources/signing-keys/service.ts';
import type { CallerContext } from '../src/auth/context.ts';
import { SubjectSessions } from '../src/resources/gateway-sessions/subject-sessions.ts';
import { TenantLimits } from '../src/platform/tenant-limits.ts';
import { databaseOfTest } from './support/environment.ts';
import { principalIn } from './support/principals.ts';

const NOW = new Date('2026-03-01T12:00:00.750Z');
const ACME = { tenantId: 'acme', subTenantId: null };
const EU = { tenantId: 'acme', subTenantId: 'eu' };
const US = { tenantId: 'acme', subTenantId: 'us' };

test('a gateway can verify the token with only the published keys, its id and the public URL', async () => {
  const services = await setUp();
  const providerId = await provider(services.db, 'OpenAI', { 'gpt-5': 'available' });
  const gatewayId = await gateway(services.db, { providerIds: [providerId], url: 'https://edge.example.com' });
  const session = await createGatewaySession(callerOf(services), gatewayId, { ttlSeconds: 90 });
  const grants = [{ providerId, providerName: 'OpenAI', items: [{ kind: 'model', name: 'gpt-5' }] }];
  const { payload, protectedHeader } = await jwtVerify(session.token, createLocalJWKSet(await jwks(services)), {
    algorithms: ['ES256'],
    typ: 'qm-session+jwt',
    issuer: 'https://quartermaster.example.com',
    audience: gatewayId,
    requiredClaims: ['exp', 'iat', 'sub', 'jti'],
    currentDate: NOW,
  });
  const iat = Math.floor(NOW.getTime() / 1000);
  expect(payload).toEqual({
    iss: 'https://quartermaster.example.com',
    aud: gatewayId,
    sub: 'service_account:acme/bot',
    jti: session.id,
    iat,
    exp: iat + 90,
    tenant_id: 'acme',
    grants,
  });
  expect(protectedHeader.kid).toMatch(/^sig_/);
  expect(session).toMatchObject({ status: 'active', tokenType: 'Bearer', actor: null, grants, ...ACME });
  expect(session.gatewayUrl).toBe('https://edge.example.com');
  expect(session.expiresAt).toBe(new Date(NOW.getTime() + 90_000).toISOString());
  const { token: _token, tokenType: _type, ...record } = session;
  const path = { gateway_id: gatewayId, session_id: session.id };
  expect(await requireGatewaySession(callerOf(services), path)).toEqual(record);
});

test('for grants beyond 4 KiB the token contains the digest of their RFC 8785 form', async () => {
  const services = await setUp();
  const names = Array.from({ length: 100 }, (_, index) => `model-${String(index).padStart(20, '0')}`);
  const providerId = await provider(services.db, 'big', Object.fromEntries(names.map((name) => [name, 'available'])));
  const gatewayId = await gateway(services.db, { providerIds: [providerId] });
  const session = await createGatewaySession(callerOf(services), gatewayId, {});
  const digest = createHash('sha256')
    .update(canonicalize(session.grants) ?? '')
    .digest('hex');
  const claims = decodeJwt(session.token);
  expect(claims.grants_digest).toBe(`sha256:${digest}`);
  expect(claims).not.toHaveProperty('grants');
  expect(session.grants[0]?.items).toHaveLength(100);
  expect(session.token.length).toBeLessThan(1000);
});

test('grants leave out blocked and retired items, and inactive providers', async () => {
  const services = await setUp();
  const { db } = services;
  const items = { one: 'available', two: 'missing', three: 'blocked', four: 'retired' } as const;
  const active = await provider(db, 'active', items);
  const disabled = await provider(db, 'disabled', items, 'disabled');
  const discovered = await provider(db, 'discovered', items, 'discovered');
  const empty = await provider(db, 'empty', {});
  const gatewayId = await gateway(db, { providerIds: [empty, disabled, active, discovered] });
  const { grants } = await createGatewaySession(callerOf(services), gatewayId, {});
  expect(grants.map((grant) => [grant.providerName, grant.items.map((item) => item.name).toSorted()])).toEqual([
    ['empty', []],
    ['active', ['one', 'two']],
  ]);
  const chosen = await createGatewaySession(callerOf(services), gatewayId, { providerIds: [active] });
  expect(chosen.grants.map((grant) => grant.providerId)).toEqual([active]);
  const none = await createGatewaySession(callerOf(services), gatewayId, { providerIds: [] });
  expect(none.grants).toEqual([]);
});

test('a session for another subject needs the scope to impersonate, and names the actor', async () => {
  const services = await setUp();
  const gatewayId = await gateway(services.db, {}, EU);
  const body = { subject: 'service_account:acme/other' };
  const plain = callerOf(services, ['gateway_sessions:write']);
  await expect(createGatewaySession(plain, gatewayId, body)).rejects.toMatchObject({
    reason: 'scope_missing',
    members: { scope: 'gateway_sessions:impersonate' },
  });
  const trusted = callerOf(services, ['gateway_sessions:write', 'gateway_sessions:impersonate']);
  const session = await createGatewaySession(trusted, gatewayId, body);
  expect(session).toMatchObject({ subject: 'service_account:acme/other', actor: 'service_account:acme/bot', ...EU });
  expect(decodeJwt(session.token)).toMatchObject({
    sub: 'service_account:acme/other',
    act: { sub: 'service_account:acme/bot' },
    sub_tenant_id: 'eu',
  });
  for (const subject of ['service_account:acme/us-bot', 'service_account:acme/nobody', 'user:nobody']) {
    await expect(createGatewaySession(trusted, gatewayId, { subject })).rejects.toMatchObject({
      details: [{ loc: ['body', 'subject'], type: 'value_error', input: subject }],
    });
  }
  const own = await createGatewaySession(plain, gatewayId, { subject: 'service_account:acme/bot' });
  expect(own.actor).toBeNull();
});

test('invalid requests for a session are refused', async () => {
  const services = await setUp();
  const listed = await provider(services.db, 'listed', {});
  const other = await provider(services.db, 'other', {});
  const gatewayId = await gateway(services.db, { providerIds: [listed], sessionTtlSeconds: 300 });
  const caller = callerOf(services);
  await expect(createGatewaySession(caller, gatewayId, { ttlSeconds: 301 })).rejects.toMatchObject({
    details: [
      {
        loc: ['body', 'ttlSeconds'],
        msg: 'Input should be less than or equal to 300',
        type: 'less_than_equal',
        input: 301,
        ctx: { le: 300 },
      },
    ],
  });
  await expect(createGatewaySession(caller, gatewayId, { providerIds: [listed, other] })).rejects.toMatchObject({
    details: [{ loc: ['body', 'providerIds', 1], type: 'value_error', input: other }],
  });
  await expect(createGatewaySession(caller, 'gw_nothing', {})).rejects.toMatchObject({ reason: 'gateway_not_found' });
  const outside = { ...caller, reach: [US] };
  await expect(createGatewaySession(outside, gatewayId, {})).rejects.toMatchObject({ reason: 'gateway_not_found' });
});

test('a session with more items than allowed is refused, not truncated', async () => {
  const services = await setUp();
  const { db } = services;
  const providerId = await provider(db, 'huge', { first: 'available' });
  const row = await db.selectFrom('inventory_items').selectAll().executeTakeFirstOrThrow();
  for (let from = 0; from < 10_000; from += 1000) {
    const copies = Array.from({ length: 1000 }, (_, index) => {
      const name = `tool-${from + index}`;
      return { ...row, id: `${row.id}_${from + index}`, name, name_key: name, name_family: name };
    });
    await db.insertInto('inventory_items').values(copies).execute();
  }
  const gatewayId = await gateway(services.db, { providerIds: [providerId] });
  await expect(createGatewaySession(callerOf(services), gatewayId, {})).rejects.toMatchObject({
    details: [{ loc: ['body', 'providerIds'], type: 'value_error' }],
  });
});

test('disabling or deleting a gateway ends its sessions at once', async () => {
  const services = await setUp();
  const caller = callerOf(services);
  const gatewayId = await gateway(services.db, {});
  const first = await createGatewaySession(caller, gatewayId, {});
  await changeGateway(caller, gatewayId, { status: 'disabled' });
  const path = { gateway_id: gatewayId, session_id: first.id };
  expect(await requireGatewaySession(caller, path)).toMatchObject({ status: 'revoked' });
  await expect(createGatewaySession(caller, gatewayId, {})).rejects.toMatchObject({ reason: 'gateway_not_active' });
  await changeGateway(caller, gatewayId, { status: 'active' });
  const second = await createGatewaySession(caller, gatewayId, {});
  await deleteGateway(caller, gatewayId);
  const row = await services.db
    .selectFrom('gateway_sessions')
    .selectAll()
    .where('id', '=', second.id)
    .executeTakeFirst();
  expect(row?.revoked_at).toBe(NOW.toISOString());
});

test('a session, also an expired one, can be revoked once', async () => {
  let now = NOW;
  const services = await setUp(() => now);
  const caller = callerOf(services);
  const gatewayId = await gateway(services.db, {});
  const { id } = await createGatewaySession(caller, gatewayId, { ttlSeconds: 60 });
  now = new Date(NOW.getTime() + 60_000);
  const path = { gateway_id: gatewayId, session_id: id };
  expect(await requireGatewaySession(caller, path)).toMatchObject({ status: 'expired' });
  expect(await revokeSession(caller, path)).toMatchObject({ status: 'revoked', revokedAt: now.toISOString() });
  await expect(revokeSession(caller, path)).rejects.toMatchObject({ reason: 'gateway_session_not_found' });
});

async function setUp(now: () => Date = () => NOW): Promise<Services> {
  const db = await databaseOfTest();
  for (const place of [EU, US]) await ensurePlace(db, place, NOW);
  const account = { displayName: null, description: null, status: 'active', metadata: {} } as const;
  for (const [id, place] of [
    ['bot', ACME],
    ['other', EU],
    ['us-bot', US],
  ] as const) {
    await insertServiceAccount(db, place, { id, name: id, platformAdministrator: false, ...account }, NOW);
  }
  const key = {
    id: 'key_1',
    name: null,
    prefix: 'qm_key_1',
    digest: 'digest',
    scopes: ['*' as const],
    expiresAt: null,
  };
  const made = { accountId: 'bot', createdBy: null, createdByKey: null, rotationCount: 0 };
  await insertApiKey(db, ACME, { ...key, ...made }, NOW);
  const publicUrl = 'https://quartermaster.example.com';
  const used: Pick<Services, 'db' | 'now' | 'secrets' | 'publicUrl' | 'subjectSessions' | 'tenantLimits'> = {
    db,
    now,
    subjectSessions: new SubjectSessions({ db, now, limit: 1000 }),
    tenantLimits: new TenantLimits(now),
    publicUrl,
    secrets: secretBox(randomBytes(32)),
  };
  // These tests use no other services.
  return used as Services;
}

/** The account `bot`, with these scopes in the whole tenant. */
function callerOf(services: Services, scopes: Scope[] = ['*']): CallerContext {
  const grants = [{ ...ACME, scopes }];
  const principal = principalIn('acme', { id: 'bot', scheme: 'api_key', keyId: 'key_1', grants });
  const operation = createContract as Operation;
  const reach = reachOf(principal, operation.scope === 'public' ? null : operation.scope);
  const request = { requestId: 'req-1', callerRequestId: null };
  return { services, ...request, address: '127.0.0.1', principal, operation, charge: async () => {}, reach };
}

async function gateway(
  db: Database,
  fields: Partial<NewGateway>,
  place: typeof ACME | typeof EU = ACME,
): Promise<string> {
  const settings = { enforcement: 'observe', mcpProxy: 'off' } as const;
  const rest = { ...settings, name: 'edge', displayName: null, url: null, status: 'active', manifestId: null } as const;
  return (await insertGateway(db, place, { ...rest, providerIds: [], sessionTtlSeconds: 3600, ...fields }, NOW)).id;
}

async function provider(
  db: Database,
  name: string,
  items: Record<string, InventoryItem['status']>,
  status: 'active' | 'disabled' | 'discovered' = 'active',
): Promise<string> {
  const fields = { displayName: null, description: null, kind: 'llm', baseUrl: null, metadata: {} } as const;
  const { id } = await insertProvider(db, ACME, { name, status, ...fields }, NOW);
  for (const [itemName, itemStatus] of Object.entries(items)) await item(db, id, itemName, itemStatus);
  return id;
}

async function item(db: Database, providerId: string, name: string, status: InventoryItem['status']): Promise<void> {
  const fields = { title: null, description: null, source: 'manual', schemaDigest: null, attributes: {} } as const;
  await insertInventoryItem(db, ACME, { providerId, kind: 'model', name, nameKey: name, status, ...fields }, NOW);
}
