import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import type SqliteDatabase from 'better-sqlite3';
import { keyLookup } from './access.ts';
import type { FloorSettings, Work } from './floor.ts';
import { newId } from './ids.ts';

const FIND_GATEWAY = 'select * from "gateways" where "id" = ? and "status" <> ? and ("tenant_id" = ?)';

const FIND_PROVIDERS = `
  select provider.id, provider.name from gateway_providers as listed
  inner join providers as provider on provider.tenant_id = listed.tenant_id and provider.id = listed.provider_id
  where listed.tenant_id = ? and listed.gateway_id = ? and provider.status = 'active' order by listed.position`;

const FIND_ITEMS = `
  select "kind", "name", "name_key" as "nameKey" from "inventory_items"
  where "provider_id" = ? and "status" in (?, ?) and ("tenant_id" = ?) order by "kind", "name_key" limit ?`;

const INSERT = `
  insert into "gateway_sessions" ("tenant_id", "sub_tenant_id", "id", "gateway_id", "subject", "actor", "opened_by",
    "issued_at", "expires_at", "revoked_at", "gateway_url", "grants_digest", "item_count", "metadata", "created_at",
    "updated_at")
  values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) returning *`;

const INSERT_ITEMS = `
  insert into "gateway_grants" ("tenant_id", "provider_id", "digest", "items", "item_count", "created_at")
  values (?, ?, ?, ?, ?, ?) on conflict do nothing`;

const INSERT_GRANTS = `
  insert into "gateway_session_grants" ("tenant_id", "session_id", "position", "provider_id", "provider_name", "digest")
  values (?, ?, ?, ?, ?, ?)`;

const ITEMS_LIMIT = 2000;

type Gateway = { id: string; tenant_id: string; url: string | null; session_ttl_seconds: number };
type Provider = { id: string; name: string };
type Item = { kind: string; name: string };
type Grant = { providerId: string; providerName: string; items: readonly Item[] };
type Row = Record<'tenant_id' | 'id' | 'gateway_id' | 'subject' | 'issued_at' | 'expires_at' | 'created_at', string> &
  Record<'actor' | 'gateway_url' | 'revoked_at', string | null> &
  Record<'grants_digest' | 'metadata' | 'updated_at', string> & { item_count: number };

/** POST /v1/gateways/{gateway_id}/sessions (#5): computes the grants, inserts and commits, and makes one ES256 signature. */
export function createSessionFloor(db: SqliteDatabase.Database, { path, publicUrl }: FloorSettings): Work {
  const callerOf = keyLookup(db, 'gateway_sessions:write');
  const findGateway = db.prepare<[string, string, string], Gateway>(FIND_GATEWAY);
  const findProviders = db.prepare<[string, string], Provider>(FIND_PROVIDERS);
  const findItems = db.prepare<unknown[], Item>(FIND_ITEMS);
  const insert = db.prepare<unknown[], Row>(INSERT);
  const insertItems = db.prepare(INSERT_ITEMS);
  const insertGrants = db.prepare(INSERT_GRANTS);
  const insertSession = db.transaction((values: unknown[], grants: readonly Grant[], time: string) => {
    const row = insert.get(...values);
    for (const [position, { providerId, providerName, items }] of grants.entries()) {
      const text = JSON.stringify(items);
      const digest = createHash('sha256').update(text).digest('base64url');
      insertItems.run(row?.tenant_id, providerId, digest, text, items.length, time);
      insertGrants.run(row?.tenant_id, row?.id, position, providerId, providerName, digest);
    }
    return row;
  });
  const gatewayId = path.split('/')[3] ?? '';
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const kid = newId('sig', new Date());
  const header = base64url({ alg: 'ES256', typ: 'qm-session+jwt', kid });

  return ({ key }) => {
    const caller = callerOf(key);
    const gateway = caller && findGateway.get(gatewayId, 'deleted', caller.tenantId);
    if (!gateway) return null;
    const now = new Date();
    const tenantId = gateway.tenant_id;
    const grants = findProviders.all(tenantId, gateway.id).map((provider) => ({
      providerId: provider.id,
      providerName: provider.name,
      items: findItems
        .all(provider.id, 'available', 'missing', tenantId, ITEMS_LIMIT)
        .map(({ kind, name }) => ({ kind, name })),
    }));
    const [time, subject] = [now.toISOString(), `service_account:${caller.tenantId}/${caller.accountId}`];
    const expiresAt = new Date(now.getTime() + gateway.session_ttl_seconds * 1000).toISOString();
    const canonical = grants.map(({ items, providerId, providerName }) => ({ items, providerId, providerName }));
    const digest = `sha256:${createHash('sha256').update(JSON.stringify(canonical)).digest('hex')}`;
    const count = grants.reduce((sum, { items }) => sum + items.length, 0);
    const row = insertSession(
      [
        tenantId,
        '',
        newId('ses', now),
        gateway.id,
        subject,
        null,
        subject,
        time,
        expiresAt,
        null,
        gateway.url,
        digest,
        count,
        '{}',
        time,
        time,
      ],
      grants,
      time,
    );
    if (!row) return null;
    const claims = base64url({
      tenant_id: tenantId,
      grants,
      iss: publicUrl,
      aud: row.gateway_id,
      sub: row.subject,
      jti: row.id,
      iat: Math.floor(Date.parse(row.issued_at) / 1000),
      exp: Math.floor(Date.parse(row.expires_at) / 1000),
    });
    const signature = sign('sha256', Buffer.from(`${header}.${claims}`), {
      key: privateKey,
      dsaEncoding: 'ieee-p1363',
    }).toString('base64url');
    return { ...toSession(row), grants, token: `${header}.${claims}.${signature}`, tokenType: 'Bearer' };
  };
}

function base64url(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

function toSession(row: Row) {
  return {
    id: row.id,
    gatewayId: row.gateway_id,
    tenantId: row.tenant_id,
    subTenantId: null,
    subject: row.subject,
    actor: row.actor,
    status: 'active',
    issuedAt: row.issued_at,
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
    revokedReason: null,
    gatewayUrl: row.gateway_url,
    providerIds: null,
    grantsDigest: row.grants_digest,
    grantedItems: row.item_count,
    metadata: JSON.parse(row.metadata) as unknown,
    decisions: { allowed: 0, denied: 0, lastAt: null },
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
