import type { Scope } from '@quartermaster/contracts/scopes.ts';
import { sql } from 'kysely';
import { BoundedMap } from '../bounded-map.ts';
import type { Database } from '../database.ts';
import { preparedStatement } from '../prepared-statement.ts';
import { perDatabase } from '../per-database.ts';
import { placeOf } from '../queries.ts';
import { afterTransaction } from '../transaction.ts';

/** An API key with its account, as authentication needs it. */
export type ApiKey = {
  id: string;
  digest: string;
  scopes: Scope[];
  expiresAt: string | null;
  revokedAt: string | null;
  lastUsedAt: string | null;
  account: {
    id: string;
    tenantId: string;
    subTenantId: string | null;
    status: 'active' | 'disabled' | 'deleted';
    platformAdministrator: boolean;
  };
};

/**
 * How long a key is cached, in milliseconds. A key that ends in this process stops working at once. A key that ends in another
 * process on the same database stops working within this time.
 */
const CACHE_TTL_MS = 3000;

const MAX_CACHED_KEYS = 10_000;

/** `version` counts invalidations. A key that was read before an invalidation must not be cached after it. */
const cacheOf = perDatabase(() => ({
  keys: new BoundedMap<string, { key: ApiKey; until: number }>(MAX_CACHED_KEYS),
  version: 0,
}));

/**
 * Finds a key for authentication. It takes no scope, because the caller is not known yet. The result may be up to
 * {@link CACHE_TTL_MS} old if another process changed the key. The caller checks `expiresAt`.
 */
export async function findApiKey(db: Database, keyId: string): Promise<ApiKey | undefined> {
  const cache = cacheOf(db);
  const now = performance.now();
  const cached = cache.keys.get(keyId);
  if (cached && now < cached.until) return cached.key;
  const { version } = cache;
  const key = await readApiKey(db, keyId);
  cache.keys.delete(keyId);
  if (!key || cache.version !== version) return key;
  cache.keys.set(keyId, { key, until: now + CACHE_TTL_MS });
  return key;
}

/** Removes a key, or all keys of an account or tenant, from the cache after the transaction has ended, committed or not. */
export function forgetApiKeys(db: Database, which: { tenantId: string; accountId?: string } | { keyId: string }): void {
  const cache = cacheOf(db);
  afterTransaction(db, () => {
    cache.version += 1;
    if ('keyId' in which) cache.keys.delete(which.keyId);
    else {
      for (const [keyId, { key }] of cache.keys) {
        const { id, tenantId } = key.account;
        if (tenantId === which.tenantId && (which.accountId ?? id) === id) cache.keys.delete(keyId);
      }
    }
  });
}

/**
 * Stores when a key and its account were last used. Two statements instead of a transaction: a transaction would wait for the
 * lock of another process, and delay the request.
 */
export async function touchApiKey(db: Database, key: ApiKey, now: Date): Promise<void> {
  const used = { last_used_at: now.toISOString() };
  const { id: accountId, tenantId } = key.account;
  await db.updateTable('credentials').set(used).where('tenant_id', '=', tenantId).where('id', '=', key.id).execute();
  await db
    .updateTable('service_accounts')
    .set(used)
    .where('tenant_id', '=', tenantId)
    .where('id', '=', accountId)
    .execute();
}

const apiKeyById = preparedStatement((db, { keyId }: { keyId: string }) =>
  db
    .selectFrom('credentials as credential')
    .innerJoin('service_accounts as account', (join) =>
      join.onRef('account.tenant_id', '=', 'credential.tenant_id').onRef('account.id', '=', 'credential.owner_id'),
    )
    .select(['credential.id', 'credential.digest', 'credential.scopes', 'credential.expires_at'])
    .select(['credential.revoked_at', 'credential.last_used_at'])
    .select(['account.id as account_id', 'account.tenant_id', 'account.sub_tenant_id'])
    .select(['account.status', 'account.platform_administrator'])
    .where('credential.id', '=', keyId)
    .where('credential.kind', '=', sql.lit('api_key')),
);

async function readApiKey(db: Database, keyId: string): Promise<ApiKey | undefined> {
  const [row] = await apiKeyById(db, { keyId });
  if (!row || row.digest === null) return undefined;
  return {
    id: row.id,
    digest: row.digest,
    scopes: JSON.parse(row.scopes) as Scope[],
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
    lastUsedAt: row.last_used_at,
    account: {
      id: row.account_id,
      ...placeOf(row),
      status: row.status,
      platformAdministrator: row.platform_administrator === 1,
    },
  };
}
