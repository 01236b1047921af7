import type { AccessKind, DerivedAccess } from '@quartermaster/contracts/derived-access.ts';
import { type Expression, type RawBuilder, type SqlBool, sql } from 'kysely';
import type { Database } from '../database.ts';
import { type Page, type PageRequest, placeOf, within } from '../queries.ts';
import type { TenantScope } from '../tenancy.ts';

/** Whose derived access is meant: a principal's, by its name, or an API key's. */
export type AccessSource = { principal: string } | { keyId: string };

/** Where records of each kind may be seen; an empty scope leaves a kind out. */
export type AccessScopes = Record<AccessKind, TenantScope>;

export type AccessFilter = {
  /** Kinds in their order. */
  kinds: readonly AccessKind[];
  /** Whether keys of platform administrators' accounts are left out. */
  withoutAdministrators: boolean;
  /** Whether to leave out what derives only through a rotation by somebody else. */
  withoutSuccessors: boolean;
};

/** Rotations by somebody else that are followed, one behind the other, and keys that followed by such a rotation. */
const ROTATIONS_FOLLOWED = 50;
const SUCCESSORS_FOLLOWED = 1000;

/** The keys that derive from a source, as a recursive query, and the successors that it begins with. */
type Derivation = { source: AccessSource; successors: readonly string[]; scope: TenantScope };

type Row = {
  id: string;
  tenant_id: string;
  sub_tenant_id: string;
  holder: string;
  gateway_id: string | null;
  granted_by: string | null;
  granted_by_key: string | null;
  is_successor: number;
  expires_at: string | null;
  created_at: string;
};

/**
 * One page of what derives from a source and is in force: kind by kind, each newest first. A page key is the kind with
 * the time, and the id.
 */
export async function listDerivedAccess(
  db: Database,
  scopes: AccessScopes,
  { source, filter }: { source: AccessSource; filter: AccessFilter },
  page: PageRequest,
  now: Date,
): Promise<Page<DerivedAccess>> {
  const scope = scopes.api_key;
  const successors = await successorsOf(db, scope, source);
  const derivation = { source, successors, scope };
  const [position = '', id = ''] = page.after ?? [];
  const [startKind = '', time = ''] = position.split(' ');
  const from = page.after === null ? 0 : filter.kinds.findIndex((kind) => kind === startKind);
  const items: DerivedAccess[] = [];
  for (const kind of filter.kinds.slice(Math.max(from, 0))) {
    const after = kind === startKind ? sql<SqlBool>`(created_at, sort_id) < (${time}, ${id})` : sql<SqlBool>`1 = 1`;
    const wanted = page.limit + 1 - items.length;
    const query = sql<Row & { sort_id: string }>`
      with recursive ${derivedKeys('made', { ...derivation, successors: [] })},
        ${derivedKeys('followed', derivation)}
      select * from (${RECORDS[kind](derivation, scopes[kind], { now, filter })}) as found
      where ${after} ${filter.withoutSuccessors ? sql`and is_successor = 0` : sql``}
      order by created_at desc, sort_id desc limit ${wanted}`;
    const { rows } = await query.execute(db);
    for (const row of rows) items.push(toDerivedAccess(kind, row));
    if (items.length > page.limit) {
      const shown = rows.at(-2);
      // The one too many may be the first of its kind: then the page ends before this kind.
      const next: [string, string] = shown ? [`${kind} ${shown.created_at}`, shown.sort_id] : [`${kind} ${LATEST}`, ''];
      return { items: items.slice(0, page.limit), next };
    }
  }
  return { items, next: null };
}

/** Later than every time. */
const LATEST = '9999';

/** Keys that replaced derived keys and were made by somebody else. */
async function successorsOf(db: Database, scope: TenantScope, source: AccessSource): Promise<string[]> {
  const successors: string[] = [];
  for (let rotation = 0; rotation < ROTATIONS_FOLLOWED && successors.length < SUCCESSORS_FOLLOWED; rotation += 1) {
    const { rows } = await sql<{ id: string }>`
      with recursive ${derivedKeys('followed', { source, successors, scope })}
      select replaced_by as id from credentials
      where id in (select id from followed) and replaced_by is not null
        and replaced_by not in (select id from followed)
      order by id limit ${SUCCESSORS_FOLLOWED}`.execute(db);
    if (rows.length === 0) break;
    successors.push(...rows.map((row) => row.id));
  }
  return successors;
}

/** The ids of the source's key, of the keys that it made, and of those that these made in turn. */
function derivedKeys(name: string, { source, successors, scope }: Derivation): RawBuilder<unknown> {
  const own =
    'keyId' in source
      ? sql`select id from credentials where id = ${source.keyId} and kind = 'api_key'`
      : sql`select id from credentials
          where created_by = ${source.principal} and kind = 'api_key' and ${within(scope)}`;
  const followed =
    successors.length === 0
      ? sql``
      : sql`union select id from credentials where id in (${sql.join([...successors])}) and ${within(scope)}`;
  return sql`${sql.raw(name)}(id) as (
    select id from (${own} ${followed}) as roots
    union
    select made_key.id from ${sql.raw(name)} as maker
    inner join credentials as made_key on made_key.created_by_key = maker.id
    where made_key.kind = 'api_key' and ${within(scope, 'made_key')})`;
}

type Options = { now: Date; filter: AccessFilter };

const RECORDS: Record<AccessKind, (derivation: Derivation, scope: TenantScope, options: Options) => RawBuilder<Row>> = {
  api_key: ({ source }, scope, { now, filter }) => sql`
    select record.id, record.id as sort_id, record.tenant_id, record.sub_tenant_id,
      'service_account:' || record.tenant_id || '/' || record.owner_id as holder, null as gateway_id,
      record.created_by as granted_by, record.created_by_key as granted_by_key, record.expires_at, record.created_at,
      case when record.id in (select id from made) then 0 else 1 end as is_successor
    from credentials as record
    inner join service_accounts as account
      on account.tenant_id = record.tenant_id and account.id = record.owner_id
    where record.id in (select id from followed) and record.id <> ${'keyId' in source ? source.keyId : ''}
      and record.revoked_at is null and (record.expires_at is null or record.expires_at > ${now.toISOString()})
      and account.status <> 'deleted' and ${within(scope, 'record')}
      ${filter.withoutAdministrators ? sql`and account.platform_administrator = 0` : sql``}`,
  gateway_session: ({ source }, scope, { now }) => sql`
    select record.id, record.id as sort_id, record.tenant_id, record.sub_tenant_id, record.subject as holder,
      record.gateway_id, record.opened_by as granted_by, record.opened_by_key as granted_by_key, record.expires_at,
      record.created_at, ${isSuccessor(source, 'opened_by')}
    from gateway_sessions as record
    where ${derives(source, 'opened_by')} and record.revoked_at is null
      and record.expires_at > ${now.toISOString()} and ${within(scope, 'record')}`,
  invitation: ({ source }, scope, { now }) => sql`
    ${membershipColumns(source)}
    where ${derives(source, 'invited_by')} and record.accepted_at is null
      and (record.expires_at is null or record.expires_at > ${now.toISOString()}) and ${within(scope, 'record')}`,
  membership: ({ source }, scope) => sql`
    ${membershipColumns(source)}
    where ${derives(source, 'invited_by')} and record.accepted_at is not null and ${within(scope, 'record')}`,
};

function membershipColumns(source: AccessSource): RawBuilder<unknown> {
  return sql`
    select record.user_id as id, record.user_id || ' ' || record.tenant_id || ' ' || record.sub_tenant_id as sort_id,
      record.tenant_id, record.sub_tenant_id, 'user:' || record.user_id as holder, null as gateway_id,
      record.invited_by as granted_by, record.invited_by_key as granted_by_key, record.expires_at, record.created_at,
      ${isSuccessor(source, 'invited_by')}
    from memberships as record`;
}

type Maker = 'opened_by' | 'invited_by';

/** Whether the source made a record, or a key that derives from it. */
function derives(source: AccessSource, maker: Maker): Expression<SqlBool> {
  const byKey = sql<SqlBool>`${sql.ref(`record.${maker}_key`)} in (select id from followed)`;
  if ('keyId' in source) return byKey;
  return sql<SqlBool>`(${byKey} or ${sql.ref(`record.${maker}`)} = ${source.principal})`;
}

function isSuccessor(source: AccessSource, maker: Maker): RawBuilder<unknown> {
  const direct = 'keyId' in source ? sql`` : sql`when ${sql.ref(`record.${maker}`)} = ${source.principal} then 0`;
  return sql`
    case when ${sql.ref(`record.${maker}_key`)} in (select id from made) then 0 ${direct} else 1 end as is_successor`;
}

function toDerivedAccess(kind: AccessKind, row: Row): DerivedAccess {
  return {
    kind,
    id: row.id,
    ...placeOf(row),
    holder: row.holder,
    gatewayId: row.gateway_id,
    grantedBy: row.granted_by,
    grantedByKey: row.granted_by_key,
    isSuccessor: Number(row.is_successor) === 1,
    expiresAt: row.expires_at,
    createdAt: row.created_at,
  };
}
