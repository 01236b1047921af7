import { type Credential, EXPIRING_DAYS, type SearchCredentialsInput } from '@quartermaster/contracts/credentials.ts';
import type { Scope } from '@quartermaster/contracts/scopes.ts';
import { type Expression, type Selectable, type SqlBool, sql } from 'kysely';
import type { Database } from '../database.ts';
import { inKeysetRange, type KeysetRange, listRows } from '../listing.ts';
import { caseFolded } from '@quartermaster/naming/case-folded.ts';
import { containsText, inScope, type Page, type PageRequest, placeColumns, placeOf, timesOf } from '../queries.ts';
import { preparedStatement } from '../prepared-statement.ts';
import type { Tables } from '../tables.ts';
import type { TenantPlace, TenantScope } from '../tenancy.ts';
import { forgetApiKeys } from './api-keys.ts';

export type CredentialFilter = Omit<SearchCredentialsInput, 'tenantId' | 'subTenantId' | 'sort' | 'limit' | 'cursor'>;

type Row = Selectable<Tables['credentials']>;

const EXPIRING_MS = EXPIRING_DAYS * 24 * 3600 * 1000;

export type NewApiKey = {
  id: string;
  name: string | null;
  accountId: string;
  prefix: string;
  digest: string;
  scopes: Scope[];
  expiresAt: string | null;
  createdBy: string | null;
  /** The API key that creates it; null if a user or the service does. */
  createdByKey: string | null;
  rotationCount: number;
};

export async function insertApiKey(db: Database, place: TenantPlace, key: NewApiKey, now: Date): Promise<Credential> {
  const row = await db
    .insertInto('credentials')
    .values({
      ...placeColumns(place),
      id: key.id,
      kind: 'api_key',
      name: key.name,
      owner_type: 'service_account',
      owner_id: key.accountId,
      prefix: key.prefix,
      scopes: JSON.stringify(key.scopes),
      digest: key.digest,
      secret: null,
      public_key: null,
      expires_at: key.expiresAt,
      last_used_at: null,
      created_by: key.createdBy,
      created_by_key: key.createdByKey,
      revoked_at: null,
      rotation_count: key.rotationCount,
      replaced_by: null,
      search_text: caseFolded([key.id, key.name, key.prefix].filter(Boolean).join('\n')),
      created_at: now.toISOString(),
      updated_at: now.toISOString(),
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  return toCredential(row, now);
}

/** A key of one account, revoked or not. */
export async function findKeyOfAccount(
  db: Database,
  scope: TenantScope,
  account: { tenantId: string; id: string },
  keyId: string,
  now: Date,
): Promise<Credential | undefined> {
  const row = await db
    .selectFrom('credentials')
    .selectAll()
    .where('tenant_id', '=', account.tenantId)
    .where('id', '=', keyId)
    .where('kind', '=', sql.lit('api_key'))
    .where('owner_id', '=', account.id)
    .where(inScope(scope))
    .executeTakeFirst();
  return row && toCredential(row, now);
}

/** A key of any account, revoked or not. */
export async function findKey(
  db: Database,
  scope: TenantScope,
  keyId: string,
  now: Date,
): Promise<Credential | undefined> {
  const row = await db
    .selectFrom('credentials')
    .selectAll()
    .where('id', '=', keyId)
    .where('kind', '=', sql.lit('api_key'))
    .where(inScope(scope))
    .executeTakeFirst();
  return row && toCredential(row, now);
}

/** An active key and its rights. */
export type ActiveKey = TenantPlace & { expiresAt: string | null; scopes: Scope[]; platformAdministrator: boolean };

/** Finds a key that is not revoked, not expired, and belongs to an active account. The result is never cached. */
export async function findActiveKey(
  db: Database,
  scope: TenantScope,
  keyId: string,
  now: Date,
): Promise<ActiveKey | undefined> {
  const [row] = await activeKeyById(db, { scope, keyId, time: now.toISOString() });
  if (!row) return undefined;
  return {
    ...placeOf(row),
    expiresAt: row.expires_at,
    scopes: JSON.parse(row.scopes) as Scope[],
    platformAdministrator: row.platform_administrator === 1,
  };
}

const activeKeyById = preparedStatement(
  (db, { scope, keyId, time }: { scope: TenantScope; keyId: string; time: string }) =>
    db
      .selectFrom('credentials as credential')
      .innerJoin('service_accounts as account', (join) =>
        join.onRef('account.tenant_id', '=', 'credential.tenant_id').onRef('account.id', '=', 'credential.owner_id'),
      )
      .select(['credential.expires_at', 'credential.scopes'])
      .select(['account.tenant_id', 'account.sub_tenant_id', 'account.platform_administrator'])
      .where('credential.id', '=', keyId)
      .where('credential.kind', '=', sql.lit('api_key'))
      .where('credential.revoked_at', 'is', null)
      .where((eb) => eb.or([eb('credential.expires_at', 'is', null), eb('credential.expires_at', '>', time)]))
      .where('account.status', '=', 'active')
      .where(inScope(scope, 'credential')),
);

/**
 * Revokes a key, or sets when it expires.
 *
 * @param end with `replacedBy`, the key is replaced in a rotation
 * @returns undefined if the key is already replaced. A repeated rotation must not create a key that no caller receives.
 */
export async function endApiKey(
  db: Database,
  scope: TenantScope,
  key: { tenantId: string | null; id: string },
  end: ({ revokedAt: string } | { expiresAt: string }) & { replacedBy?: string },
  now: Date,
): Promise<Credential | undefined> {
  let query = db
    .updateTable('credentials')
    .set({
      ...('revokedAt' in end ? { revoked_at: end.revokedAt } : { expires_at: end.expiresAt }),
      updated_at: now.toISOString(),
    })
    .where('tenant_id', '=', key.tenantId ?? '')
    .where('id', '=', key.id)
    .where('kind', '=', sql.lit('api_key'))
    .where(inScope(scope));
  if (end.replacedBy !== undefined) {
    query = query.set({ replaced_by: end.replacedBy }).where('replaced_by', 'is', null);
  }
  const row = await query.returningAll().executeTakeFirst();
  forgetApiKeys(db, { keyId: key.id });
  return row && toCredential(row, now);
}

/** Revokes all keys of an account. */
export async function revokeKeysOfAccount(
  db: Database,
  scope: TenantScope,
  account: { tenantId: string; id: string },
  now: Date,
): Promise<void> {
  await db
    .updateTable('credentials')
    .set({ revoked_at: now.toISOString(), updated_at: now.toISOString() })
    .where('tenant_id', '=', account.tenantId)
    .where('owner_type', '=', 'service_account')
    .where('owner_id', '=', account.id)
    .where('revoked_at', 'is', null)
    .where(inScope(scope))
    .execute();
  forgetApiKeys(db, { tenantId: account.tenantId, accountId: account.id });
}

/** Newest first. */
export async function searchCredentials(
  db: Database,
  scope: TenantScope,
  filter: CredentialFilter,
  page: PageRequest,
  now: Date,
): Promise<Page<Credential>> {
  const { ids, ownerId, providerId, ...otherFilters } = filter;
  const { rows, next } = await listRows(db, scope, page, {
    table: 'credentials',
    // Ids and owners have their own indexes, and match few rows.
    hasUnindexedFilter:
      ids == null && ownerId == null && providerId == null && Object.values(otherFilters).some((one) => one != null),
    rows: (range) => credentialRows(db, filter, range, now).execute(),
  });
  return { items: rows.map((row) => toCredential(row, now)), next };
}

function credentialRows(db: Database, filter: CredentialFilter, range: KeysetRange, now: Date) {
  return selectCredentials(db, range.scope, filter, now).$call(inKeysetRange(range));
}

/** The credentials of a scope that pass the filters, in no particular order. */
export function selectCredentials(db: Database, scope: TenantScope, filter: CredentialFilter, now: Date) {
  let query = db.selectFrom('credentials').selectAll().where(inScope(scope));
  if (filter.ids != null) query = query.where('id', 'in', filter.ids.length > 0 ? filter.ids : ['']);
  if (filter.name != null) query = query.where('name', '=', filter.name);
  if (filter.query != null) query = query.where(containsText('search_text', filter.query));
  if (filter.kind != null) query = query.where('kind', '=', filter.kind);
  if (filter.status != null) query = query.where(hasStatus(filter.status, now));
  if (filter.ownerId != null) query = query.where('owner_id', '=', filter.ownerId);
  if (filter.providerId != null) {
    query = query.where('owner_type', '=', 'provider').where('owner_id', '=', filter.providerId);
  }
  if (filter.expiresBefore != null) query = query.where('expires_at', '<', filter.expiresBefore);
  if (filter.unusedSince != null) {
    const since = filter.unusedSince;
    query = query.where((eb) => eb(eb.fn.coalesce('last_used_at', 'created_at'), '<', since));
  }
  if (filter.createdAfter != null) query = query.where('created_at', '>', filter.createdAfter);
  if (filter.createdBefore != null) query = query.where('created_at', '<', filter.createdBefore);
  return query;
}

/** Whether a credential needs no renewal: it is replaced, revoked or gone, or does not expire soon. */
export async function isCredentialRenewed(db: Database, scope: TenantScope, id: string, now: Date): Promise<boolean> {
  const row = await db
    .selectFrom('credentials')
    .selectAll()
    .where('id', '=', id)
    .where(inScope(scope))
    .executeTakeFirst();
  if (!row || row.replaced_by !== null || row.slot === 'former') return true;
  return !['expiring', 'expired'].includes(statusOf(row, now));
}

/** The condition for a status, which depends on the time. It follows the same rule as {@link statusOf}. */
function hasStatus(status: string, now: Date): Expression<SqlBool> {
  const time = now.toISOString();
  const soon = new Date(now.getTime() + EXPIRING_MS).toISOString();
  switch (status) {
    case 'revoked':
      return sql<SqlBool>`revoked_at is not null`;
    case 'expired':
      return sql<SqlBool>`revoked_at is null and expires_at <= ${time}`;
    case 'expiring':
      return sql<SqlBool>`revoked_at is null and expires_at > ${time} and expires_at <= ${soon}`;
    case 'active':
      return sql<SqlBool>`revoked_at is null and (expires_at is null or expires_at > ${soon})`;
    default:
      return sql<SqlBool>`1 = 0`;
  }
}

function statusOf(row: Row, now: Date): Credential['status'] {
  if (row.revoked_at !== null) return 'revoked';
  if (row.expires_at === null) return 'active';
  if (row.expires_at <= now.toISOString()) return 'expired';
  return row.expires_at <= new Date(now.getTime() + EXPIRING_MS).toISOString() ? 'expiring' : 'active';
}

/** The metadata of a credential, without its digest and secret. */
export function toCredential(row: Row, now: Date): Credential {
  return {
    id: row.id,
    tenantId: row.tenant_id === '' ? null : row.tenant_id,
    subTenantId: row.sub_tenant_id === '' ? null : row.sub_tenant_id,
    kind: row.kind,
    name: row.name,
    ownerType: row.owner_type,
    ownerId: row.owner_id,
    prefix: row.prefix,
    scopes: JSON.parse(row.scopes) as Scope[],
    status: statusOf(row, now),
    expiresAt: row.expires_at,
    lastUsedAt: row.last_used_at,
    createdBy: row.created_by,
    createdByKey: row.created_by_key,
    revokedAt: row.revoked_at,
    rotationCount: row.rotation_count,
    slot: row.slot?.startsWith('header:') ? 'header' : (row.slot as Credential['slot']),
    header: row.header,
    ...timesOf(row),
  };
}
