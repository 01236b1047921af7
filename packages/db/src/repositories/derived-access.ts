import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { AccessKind, DerivedAccess } from '@quartermaster/contracts/derived-access.ts';
import { type Role, RoleSchema } from '@quartermaster/contracts/scopes.ts';
import { type Expression, type RawBuilder, type SqlBool, sql } from 'kysely';
import { inBatches } from '../batches.ts';
import type { Database } from '../database.ts';
import { isPostgres } from '../dialects/postgres.ts';
import { type Page, type PageRequest, inScope, placeOf, tupleIn } from '../queries.ts';
import { covers, type TenantPlace, type TenantScope } from '../tenancy.ts';

/** The source of derived access: a principal, by its name, or an API key. */
export type AccessSource = { principal: string } | { keyId: string };

/** The scope for records of each kind. An empty scope leaves a kind out. */
export type AccessScopes = Record<AccessKind, TenantScope>;

/** What identifies a record of derived access. A console session has no place. */
type RecordOfAccess = Pick<DerivedAccess, 'kind' | 'id' | 'tenantId' | 'subTenantId'>;

export type AccessFilter = {
  /** The kinds to list, in this order. */
  kinds: readonly AccessKind[];
  /** Whether to leave out keys of platform administrators' accounts. */
  withoutAdministrators: boolean;
  /** Whether to leave out access that derives only through a rotation by another principal. */
  withoutSuccessors: boolean;
  /** Only these records; null for all. */
  records: readonly RecordOfAccess[] | null;
  /** Console sessions that were not used since then have ended. */
  consoleSessionsUsedAfter: Date;
  /**
   * Filters memberships and invitations. `areHeld` true: only roles that the caller holds at the place of the record. False:
   * only roles that the caller does not hold there.
   */
  roles?: { heldAt: Record<Role, TenantScope>; areHeld: boolean };
};

/**
 * The most keys that are followed through rotations by another principal. A chain of such keys takes a few statements for
 * each key.
 */
const MAX_SUCCESSORS = 1000;

/** Keys that are followed in total. */
const MAX_KEYS = 50_000;

/** Ids in one statement: SQLite takes at most 32,766 parameters. */
const BATCH_SIZE = 500;

/** Levels of keys that one statement follows on SQLite. */
const MAX_LEVELS = 256;

/**
 * The ids of the keys that derive from a source. `made`: those that it created, directly or through other keys. `followed`:
 * these, and those that derive through a rotation by another principal.
 */
type Derivation = {
  source: AccessSource;
  made: readonly string[];
  followed: readonly string[];
  /** Whether these are all such keys: false for more than can be followed. */
  isWhole: boolean;
};

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
 * One page of the active records that derive from a source, kind by kind, each newest first. A page key consists of the kind and
 * time, and the id.
 */
export async function listDerivedAccess(
  db: Database,
  scopes: AccessScopes,
  { derivation, filter }: { derivation: Derivation; filter: AccessFilter },
  page: PageRequest,
  now: Date,
): Promise<Page<DerivedAccess>> {
  const [position = '', id = ''] = page.after ?? [];
  const [startKind = '', time = ''] = position.split(' ');
  const from = page.after === null ? 0 : filter.kinds.findIndex((kind) => kind === startKind);
  const items: DerivedAccess[] = [];
  for (const kind of filter.kinds.slice(Math.max(from, 0))) {
    const after = kind === startKind ? sql<SqlBool>`(created_at, sort_id) < (${time}, ${id})` : sql<SqlBool>`1 = 1`;
    const wanted = page.limit + 1 - items.length;
    const chosen = filter.records?.filter((record) => record.kind === kind);
    if (chosen?.length === 0) continue;
    const isChosen =
      chosen === undefined ? sql<SqlBool>`1 = 1` : tupleIn(['id', 'tenant_id', 'sub_tenant_id'], chosen.map(keyOf));
    const query = sql<Row & { sort_id: string }>`
      with made(id) as materialized (${idsIn(db, derivation.made)}),
        followed(id) as materialized (${idsIn(db, derivation.followed)})
      select * from (${RECORDS[kind](derivation, scopes[kind], { now, filter })}) as found
      where ${after} and ${isChosen} ${filter.withoutSuccessors ? sql`and is_successor = 0` : sql``}
      order by created_at desc, sort_id desc limit ${wanted}`;
    const { rows } = await query.execute(db);
    // SQLite answers synchronously.
    await yieldToEventLoop();
    for (const row of rows) items.push(toDerivedAccess(kind, row));
    if (items.length > page.limit) {
      const shown = rows.at(-2);
      // If the extra row is the first of its kind, the page ends before this kind.
      const next: [string, string] = shown ? [`${kind} ${shown.created_at}`, shown.sort_id] : [`${kind} ${LATEST}`, ''];
      return { items: items.slice(0, page.limit), next };
    }
  }
  return { items, next: null };
}

function keyOf({ id, tenantId, subTenantId }: RecordOfAccess): [string, string, string] {
  return [id, tenantId ?? '', subTenantId ?? ''];
}

/** Sorts after every time. */
const LATEST = '9999';

/** Finds the keys in scope that derive from a source. Each statement is short, and other requests run in between. */
export async function findDerivation(
  db: Database,
  scope: TenantScope,
  source: AccessSource,
  { withoutSuccessors }: Pick<AccessFilter, 'withoutSuccessors'>,
): Promise<Derivation> {
  const roots = await rootsOf(db, scope, source);
  const keys = new Set(roots);
  await follow(db, scope, { keys, from: roots });
  const made = [...keys];
  let isWhole = true;
  for (let looked = withoutSuccessors ? [] : made, successors = 0; looked.length > 0; ) {
    const found = (await successorsOf(db, scope, looked)).filter((id) => !keys.has(id));
    const next = found.slice(0, MAX_SUCCESSORS - successors);
    isWhole &&= next.length === found.length;
    successors += next.length;
    const before = keys.size;
    for (const id of next) keys.add(id);
    await follow(db, scope, { keys, from: next });
    looked = [...keys].slice(before);
  }
  return { source, made, followed: [...keys], isWhole: isWhole && keys.size < MAX_KEYS };
}

/** The source key, or the keys that the source principal created. */
async function rootsOf(db: Database, scope: TenantScope, source: AccessSource): Promise<string[]> {
  const keys = db.selectFrom('credentials').select('id').where('kind', '=', sql.lit('api_key'));
  const query =
    'keyId' in source
      ? keys.where('id', '=', source.keyId)
      : keys.where('created_by', '=', source.principal).where(inScope(scope));
  return (await query.limit(MAX_KEYS).execute()).map(({ id }) => id);
}

/** Adds all keys that were created with some keys, directly or indirectly. */
async function follow(
  db: Database,
  scope: TenantScope,
  { keys, from }: { keys: Set<string>; from: readonly string[] },
): Promise<void> {
  // A key that rotates itself makes a chain of thousands of levels. On SQLite other writes may wait for this, so one statement
  // follows several levels while there are few keys. PostgreSQL may read the whole table for each level of such a statement.
  const maxLevels = isPostgres(db) ? 1 : MAX_LEVELS;
  let levels = 1;
  for (let makers = from; makers.length > 0 && keys.size < MAX_KEYS; ) {
    const made: MadeKey[] = [];
    for await (const batch of inBatches(makers, BATCH_SIZE)) {
      made.push(...(await findKeysMadeWith(db, scope, batch, levels)));
    }
    await yieldToEventLoop();
    const fresh = made.filter(({ id }) => !keys.has(id));
    for (const { id } of fresh) keys.add(id);
    makers = fresh.flatMap(({ id, level }) => (level === levels ? [id] : []));
    levels = made.length <= BATCH_SIZE ? Math.min(2 * levels, maxLevels) : 1;
  }
}

type MadeKey = { id: string; level: number };

/** Finds the keys in scope that were created with some keys, directly (level 1) or indirectly, down to a level. */
async function findKeysMadeWith(
  db: Database,
  scope: TenantScope,
  ids: readonly string[],
  levels: number,
): Promise<MadeKey[]> {
  const isMade = (maker: RawBuilder<unknown>) =>
    sql`record.created_by_key ${maker} and record.kind = 'api_key' and ${inScope(scope, 'record')}`;
  const direct = sql`select record.id, 1 as level from credentials as record where ${isMade(sql`in (${sql.join(ids)})`)}`;
  // `cross join`: SQLite would otherwise compare all keys of the tenant with each maker.
  const query =
    levels === 1
      ? sql<MadeKey>`${direct}`
      : sql<MadeKey>`
          with recursive made(id, level) as (
            ${direct} union all
            select record.id, made.level + 1 from made cross join credentials as record
            where ${isMade(sql`= made.id`)} and made.level < ${levels}
          )
          select id, level from made limit ${MAX_KEYS}`;
  return (await query.execute(db)).rows;
}

/** The keys in scope that replaced some keys. */
async function successorsOf(db: Database, scope: TenantScope, ids: readonly string[]): Promise<string[]> {
  const successors: string[] = [];
  for await (const batch of inBatches(ids, BATCH_SIZE)) {
    const rows = await db
      .selectFrom('credentials as old')
      .innerJoin('credentials as next', 'next.id', 'old.replaced_by')
      .select('next.id')
      .where('old.id', 'in', batch)
      .where(inScope(scope, 'next'))
      .execute();
    successors.push(...rows.map(({ id }) => id));
  }
  await yieldToEventLoop();
  return successors.toSorted();
}

/**
 * Ids as rows, passed as one JSON parameter. Callers materialize them, because SQLite would parse the JSON for each joined
 * row.
 */
function idsIn(db: Database, ids: readonly string[]): RawBuilder<unknown> {
  const json = JSON.stringify(ids);
  return isPostgres(db)
    ? sql`select value as id from jsonb_array_elements_text(${json}::jsonb)`
    : sql`select value as id from json_each(${json})`;
}

type Options = { now: Date; filter: AccessFilter };

const RECORDS: Record<AccessKind, (derivation: Derivation, scope: TenantScope, options: Options) => RawBuilder<Row>> = {
  api_key: ({ source }, scope, { now, filter }) => sql`
    select record.id, record.id as sort_id, record.tenant_id, record.sub_tenant_id,
      'service_account:' || record.tenant_id || '/' || record.owner_id as holder, null as gateway_id,
      record.created_by as granted_by, record.created_by_key as granted_by_key, record.expires_at, record.created_at,
      case when record.id in (select id from made) then 0 else 1 end as is_successor
    from followed
    inner join credentials as record on record.id = followed.id
    inner join service_accounts as account
      on account.tenant_id = record.tenant_id and account.id = record.owner_id
    where record.id <> ${'keyId' in source ? source.keyId : ''}
      and record.revoked_at is null and (record.expires_at is null or record.expires_at > ${now.toISOString()})
      and account.status <> 'deleted' and ${inScope(scope, 'record')}
      ${filter.withoutAdministrators ? sql`and account.platform_administrator = 0` : sql``}`,
  gateway_session: ({ source }, scope, { now }) => sql`
    select record.id, record.id as sort_id, record.tenant_id, record.sub_tenant_id, record.subject as holder,
      record.gateway_id, record.opened_by as granted_by, record.opened_by_key as granted_by_key, record.expires_at,
      record.created_at, ${isSuccessor(source, 'opened_by')}
    from gateway_sessions as record
    where ${derives(source, 'opened_by')} and record.revoked_at is null
      and record.expires_at > ${now.toISOString()} and ${inScope(scope, 'record')}`,
  invitation: ({ source }, scope, { now, filter }) => sql`
    ${membershipColumns(source)}
    where ${derives(source, 'invited_by')} and record.accepted_at is null
      and (record.expires_at is null or record.expires_at > ${now.toISOString()}) and ${inScope(scope, 'record')}
      and ${hasRole(filter)}`,
  membership: ({ source }, scope, { filter }) => sql`
    ${membershipColumns(source)}
    where (${derives(source, 'invited_by')} or ${derives(source, 'role_granted_by')}) and record.accepted_at is not null and ${inScope(scope, 'record')}
      and ${hasRole(filter)}`,
  console_session: ({ source }, scope, { now, filter }) => sql`
    select record.id, record.id as sort_id, '' as tenant_id, '' as sub_tenant_id, 'user:' || record.user_id as holder,
      null as gateway_id, 'user:' || record.user_id as granted_by, null as granted_by_key, record.expires_at,
      record.created_at, 0 as is_successor
    from console_sessions as record
    inner join users on users.id = record.user_id
    where record.user_id = ${userOf(source)} and record.expires_at > ${now.toISOString()}
      and record.last_used_at > ${filter.consoleSessionsUsedAfter.toISOString()} and ${reachesWholeUser(scope)}
      ${filter.withoutAdministrators ? sql`and users.platform_administrator = 0 and record.platform_administrator = 0` : sql``}`,
  platform_administrator: ({ source }, scope) => sql`
    select record.id, record.id as sort_id, '' as tenant_id, '' as sub_tenant_id, 'user:' || record.id as holder,
      null as gateway_id, record.administrator_granted_by as granted_by,
      record.administrator_granted_by_key as granted_by_key, null as expires_at,
      record.administrator_granted_at as created_at, ${isSuccessor(source, 'administrator_granted_by')}
    from users as record
    where ${derives(source, 'administrator_granted_by')} and record.administrator_granted_at is not null
      and ${covers(scope, WHOLE_PLATFORM) ? sql`1 = 1` : sql`1 = 0`}`,
};

/** Only a scope of all tenants covers it. */
const WHOLE_PLATFORM: TenantPlace = { tenantId: '', subTenantId: null };

/** The user that is the source; '' for another kind of source. */
function userOf(source: AccessSource): string {
  return 'principal' in source && source.principal.startsWith('user:') ? source.principal.slice('user:'.length) : '';
}

/** A console session acts wherever its user is a member, so a scope has to cover all accepted memberships, and at least one. */
function reachesWholeUser(scope: TenantScope): RawBuilder<unknown> {
  if (covers(scope, WHOLE_PLATFORM)) return sql`1 = 1`;
  const accepted = sql`
    select 1 from memberships as held where held.user_id = record.user_id and held.accepted_at is not null`;
  return sql`exists (${accepted}) and not exists (${accepted} and not ${inScope(scope, 'held')})`;
}

/** `granted_by`: who changed the role, if the access derives from that change; otherwise the inviter. */
function membershipColumns(source: AccessSource): RawBuilder<unknown> {
  const byRole = derives(source, 'role_granted_by');
  return sql`
    select record.user_id as id, record.user_id || ' ' || record.tenant_id || ' ' || record.sub_tenant_id as sort_id,
      record.tenant_id, record.sub_tenant_id, 'user:' || record.user_id as holder, null as gateway_id,
      case when ${byRole} then record.role_granted_by else record.invited_by end as granted_by,
      case when ${byRole} then record.role_granted_by_key else record.invited_by_key end as granted_by_key,
      record.expires_at, record.created_at, ${isSuccessor(source, 'invited_by', 'role_granted_by')}
    from memberships as record`;
}

function hasRole({ roles }: AccessFilter): RawBuilder<unknown> {
  if (roles === undefined) return sql`1 = 1`;
  const held = RoleSchema.options.map(
    (role) => sql`(record.role = ${role} and ${inScope(roles.heldAt[role], 'record')})`,
  );
  const isHeld = sql`(${sql.join(held, sql` or `)})`;
  return roles.areHeld ? isHeld : sql`not ${isHeld}`;
}

type Maker = 'opened_by' | 'invited_by' | 'role_granted_by' | 'administrator_granted_by';

/** The condition that a record was created by the source, or with a key that derives from it. */
function derives(source: AccessSource, maker: Maker): Expression<SqlBool> {
  const byKey = sql<SqlBool>`${sql.ref(`record.${maker}_key`)} in (select id from followed)`;
  if ('keyId' in source) return byKey;
  return sql<SqlBool>`(${byKey} or ${sql.ref(`record.${maker}`)} = ${source.principal})`;
}

function isSuccessor(source: AccessSource, ...makers: Maker[]): RawBuilder<unknown> {
  const direct = makers.map((maker) => {
    const byKey = sql`when ${sql.ref(`record.${maker}_key`)} in (select id from made) then 0`;
    return 'keyId' in source ? byKey : sql`${byKey} when ${sql.ref(`record.${maker}`)} = ${source.principal} then 0`;
  });
  return sql`case ${sql.join(direct, sql` `)} else 1 end as is_successor`;
}

function toDerivedAccess(kind: AccessKind, row: Row): DerivedAccess {
  return {
    kind,
    id: row.id,
    ...(row.tenant_id === '' ? { tenantId: null, subTenantId: null } : placeOf(row)),
    holder: row.holder,
    gatewayId: row.gateway_id,
    grantedBy: row.granted_by,
    grantedByKey: row.granted_by_key,
    isSuccessor: Number(row.is_successor) === 1,
    expiresAt: row.expires_at,
    createdAt: row.created_at,
  };
}
