import type { Scope } from '@quartermaster/contracts/scopes.ts';
import type { Database } from '../database.ts';
import { statement } from '../statement.ts';
import { whenEnded } from '../transaction.ts';

/** An API key as the caller's look-up needs it, with its account. */
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
 * How long a key that was read is taken as it was, in milliseconds. What ends a key in this process ends it at once;
 * in another one that shares the database it does so within this time.
 */
const KEPT_MS = 3000;

const MOST_KEPT = 10_000;

/** `version` counts what ended keys: who read before that must not keep what they read. */
type Cache = { keys: Map<string, { key: ApiKey; until: number }>; version: number };

/** By the adapter: it is one object for a database and all transactions on it. */
const caches = new WeakMap<object, Cache>();

/**
 * Looks a key up to find out who is calling: the one read that no scope narrows. What it says may be up to
 * {@link KEPT_MS} old where another process ended the key. The key's own end is the caller's to compare with the time.
 */
export async function findApiKey(db: Database, keyId: string): Promise<ApiKey | undefined> {
  const cache = cacheOf(db);
  const now = performance.now();
  const kept = cache.keys.get(keyId);
  if (kept && now < kept.until) return kept.key;
  const { version } = cache;
  const key = await readApiKey(db, keyId);
  cache.keys.delete(keyId);
  if (!key || cache.version !== version) return key;
  if (cache.keys.size >= MOST_KEPT) cache.keys.delete(cache.keys.keys().next().value ?? '');
  cache.keys.set(keyId, { key, until: now + KEPT_MS });
  return key;
}

/** Has the keys of an account read anew, or one of them, from when the transaction has ended, however it ended. */
export function forgetApiKeys(db: Database, which: { tenantId: string; accountId: string } | { keyId: string }): void {
  const cache = cacheOf(db);
  whenEnded(db, () => {
    cache.version += 1;
    if ('keyId' in which) cache.keys.delete(which.keyId);
    else {
      for (const [keyId, { key }] of cache.keys) {
        if (key.account.id === which.accountId && key.account.tenantId === which.tenantId) cache.keys.delete(keyId);
      }
    }
  });
}

/**
 * Remembers that a key was used, on it and its account. Two statements and no transaction: where another process holds
 * the lock, a transaction would wait for it, and the caller's request with it.
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

function cacheOf(db: Database): Cache {
  const { adapter } = db.getExecutor();
  const known = caches.get(adapter);
  if (known) return known;
  const cache: Cache = { keys: new Map(), version: 0 };
  caches.set(adapter, cache);
  return cache;
}

const apiKeyById = statement((db, { keyId }: { keyId: string }) =>
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
    .where('credential.kind', '=', 'api_key'),
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
      tenantId: row.tenant_id,
      subTenantId: row.sub_tenant_id === '' ? null : row.sub_tenant_id,
      status: row.status,
      platformAdministrator: row.platform_administrator === 1,
    },
  };
}
