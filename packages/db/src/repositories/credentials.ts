import { type Credential, EXPIRING_DAYS, type SearchCredentialsInput } from '@quartermaster/contracts/credentials.ts';
import type { Scope } from '@quartermaster/contracts/scopes.ts';
import { type Expression, type Selectable, type SqlBool, sql } from 'kysely';
import type { Database } from '../database.ts';
import { inStretch, listRows, type Stretch } from '../listing.ts';
import { contains, folded, type Page, type PageRequest, placeColumns, timesOf, within } from '../queries.ts';
import type { Tables } from '../tables.ts';
import type { TenantPlace, TenantScope } from '../tenancy.ts';
import { forgetApiKeys } from './api-keys.ts';

export type CredentialFilter = Omit<SearchCredentialsInput, 'tenantId' | 'subTenantId' | 'limit' | 'cursor'>;

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
      revoked_at: null,
      rotation_count: key.rotationCount,
      replaced_by: null,
      search_text: folded([key.id, key.name, key.prefix].filter(Boolean).join('\n')),
      created_at: now.toISOString(),
      updated_at: now.toISOString(),
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  return toCredential(row, now);
}

/** A key of one account, revoked ones included. */
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
    .where('kind', '=', 'api_key')
    .where('owner_id', '=', account.id)
    .where(within(scope))
    .executeTakeFirst();
  return row && toCredential(row, now);
}

/**
 * Sets when a key ends, or ended. A key that another follows is replaced once: the second time is undefined, so that a
 * repeated rotation does not leave keys behind that nobody saw.
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
    .where('kind', '=', 'api_key')
    .where(within(scope));
  if (end.replacedBy !== undefined) {
    query = query.set({ replaced_by: end.replacedBy }).where('replaced_by', 'is', null);
  }
  const row = await query.returningAll().executeTakeFirst();
  forgetApiKeys(db, { keyId: key.id });
  return row && toCredential(row, now);
}

/** Revokes the keys of an account that work. */
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
    .where(within(scope))
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
  const { ids, ownerId, providerId, ...sifting } = filter;
  const { rows, next } = await listRows(db, scope, page, {
    table: 'credentials',
    // Ids and owners have indexes of their own, and are few.
    isSifted: ids == null && ownerId == null && providerId == null && Object.values(sifting).some((one) => one != null),
    rows: (stretch) => credentialRows(db, filter, stretch, now).execute(),
  });
  return { items: rows.map((row) => toCredential(row, now)), next };
}

function credentialRows(db: Database, filter: CredentialFilter, stretch: Stretch, now: Date) {
  let query = db.selectFrom('credentials').selectAll().where(within(stretch.scope));
  if (filter.ids != null) query = query.where('id', 'in', filter.ids.length > 0 ? filter.ids : ['']);
  if (filter.name != null) query = query.where('name', '=', filter.name);
  if (filter.query != null) query = query.where(contains('search_text', filter.query));
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
  return query.$call(inStretch(stretch));
}

/** Whether nothing has to be done about a credential's end: it was replaced, was revoked or is gone, or does not end soon. */
export async function isCredentialRenewed(db: Database, scope: TenantScope, id: string, now: Date): Promise<boolean> {
  const row = await db
    .selectFrom('credentials')
    .selectAll()
    .where('id', '=', id)
    .where(within(scope))
    .executeTakeFirst();
  if (!row || row.replaced_by !== null || row.slot === 'former') return true;
  return !['expiring', 'expired'].includes(statusOf(row, now));
}

/** The status of a credential follows from the time: the same rule as in {@link statusOf}. */
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

/** A row as metadata: neither digest nor secret. */
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
    revokedAt: row.revoked_at,
    rotationCount: row.rotation_count,
    slot: row.slot,
    header: row.header,
    ...timesOf(row),
  };
}
