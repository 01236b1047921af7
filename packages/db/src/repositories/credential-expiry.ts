import type { Credential } from '@quartermaster/contracts/credentials.ts';
import { type Expression, type SqlBool, sql } from 'kysely';
import type { Database } from '../database.ts';
import { inScope, type Page, type PageRequest, pageOf, placeOf } from '../queries.ts';
import type { TenantPlace, TenantScope } from '../tenancy.ts';
import { type CredentialFilter, selectCredentials, toCredential } from './credentials.ts';

/** A credential that expires, and its place. */
export type ExpiringCredential = TenantPlace &
  Pick<Credential, 'id' | 'name' | 'prefix' | 'ownerId'> & {
    kind: 'api_key' | 'provider_secret';
    /** What people call the account or provider that has it. */
    ownerName: string | null;
    expiresAt: string;
  };

const OWNER_NAME = sql<string | null>`case credentials.kind
  when 'api_key' then (select coalesce(display_name, name) from service_accounts as account
    where account.tenant_id = credentials.tenant_id and account.id = credentials.owner_id)
  else (select coalesce(display_name, name) from providers as provider
    where provider.tenant_id = credentials.tenant_id and provider.id = credentials.owner_id) end`;

/** A literal, not a parameter: a partial index is only used if the statement itself contains its condition. */
const UNFINISHED_ROTATION = sql<SqlBool>`
  task.kind = 'rotate_credential' and task.subject_type = 'credential'
  and task.status in ('open', 'claimed', 'running')`;

/**
 * The active credentials that expire before a time and never had a rotation task, soonest first. Rotated credentials are left
 * out: they end after their overlap.
 */
export async function listExpiringCredentials(
  db: Database,
  scope: TenantScope,
  { before, limit }: { before: Date; limit: number },
  now: Date,
): Promise<ExpiringCredential[]> {
  const rows = await db
    .selectFrom('credentials')
    .select(['id', 'tenant_id', 'sub_tenant_id', 'kind', 'name', 'prefix', 'owner_id', 'expires_at'])
    .select(OWNER_NAME.as('owner_name'))
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', now.toISOString())
    .where('expires_at', '<=', before.toISOString())
    .where('kind', 'in', ['api_key', 'provider_secret'])
    .where('replaced_by', 'is', null)
    .where(inScope(scope))
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('operator_tasks as task')
            .select('task.id')
            .whereRef('task.tenant_id', '=', 'credentials.tenant_id')
            .where('task.kind', '=', 'rotate_credential')
            .where('task.subject_type', '=', 'credential')
            .whereRef('task.subject_id', '=', 'credentials.id'),
        ),
      ),
    )
    .orderBy('expires_at')
    .orderBy('id')
    .limit(limit)
    .execute();
  return rows.map((row) => ({
    ...placeOf(row),
    id: row.id,
    kind: row.kind as ExpiringCredential['kind'],
    name: row.name,
    prefix: row.prefix,
    ownerId: row.owner_id,
    ownerName: row.owner_name,
    expiresAt: row.expires_at ?? '',
  }));
}

/** The condition for credentials that work now and expire, as the index by expiry has it. */
function expiresAfter(now: Date): Expression<SqlBool> {
  return sql<SqlBool>`revoked_at is null and expires_at > ${now.toISOString()}`;
}

/** Counts the credentials that work now and expire, up to `limit`. @param before only those that expire before this time */
export async function countExpiring(
  db: Database,
  scope: TenantScope,
  { before, limit }: { before: string | null; limit: number },
  now: Date,
): Promise<number> {
  let query = db.selectFrom('credentials').select('id').where(expiresAfter(now)).where(inScope(scope)).limit(limit);
  if (before !== null) query = query.where('expires_at', '<', before);
  const { count } = await db
    .selectFrom(query.as('expiring'))
    .select(({ fn }) => fn.countAll().as('count'))
    .executeTakeFirstOrThrow();
  return Number(count);
}

/**
 * The credentials that work now and expire, those that expire next first. Filters may match few of them, so the caller makes
 * sure that there are not too many in `scope`.
 */
export async function searchCredentialsByExpiry(
  db: Database,
  scope: TenantScope,
  filter: CredentialFilter,
  { limit, after }: PageRequest,
  now: Date,
): Promise<Page<Credential>> {
  let query = selectCredentials(db, scope, filter, now).where(expiresAfter(now));
  if (after !== null) query = query.where(sql<SqlBool>`(expires_at, id) > (${sql.join([...after])})`);
  const rows = await query
    .orderBy('expires_at')
    .orderBy('id')
    .limit(limit + 1)
    .execute();
  return pageOf(
    rows,
    limit,
    (row) => toCredential(row, now),
    (row) => [row.expires_at ?? '', row.id],
  );
}

/** The credentials that are revoked or rotated although their rotation task is unfinished. In no particular order. */
export async function listCredentialsWithObsoleteTask(
  db: Database,
  scope: TenantScope,
  limit: number,
): Promise<(TenantPlace & { id: string; rotated: boolean })[]> {
  const rows = await db
    .selectFrom('operator_tasks as task')
    .innerJoin('credentials as credential', (join) =>
      join.onRef('credential.tenant_id', '=', 'task.tenant_id').onRef('credential.id', '=', 'task.subject_id'),
    )
    .select(['credential.id', 'credential.tenant_id', 'credential.sub_tenant_id', 'credential.replaced_by'])
    .where(UNFINISHED_ROTATION)
    .where((eb) => eb.or([eb('credential.revoked_at', 'is not', null), eb('credential.replaced_by', 'is not', null)]))
    .where(inScope(scope, 'task'))
    .limit(limit)
    .execute();
  return rows.map((row) => ({ ...placeOf(row), id: row.id, rotated: row.replaced_by !== null }));
}
