import type { GatewaySession, GatewaySessionSummary } from '@quartermaster/contracts/gateway-sessions.ts';
import { type Expression, type Insertable, type Selectable, type SqlBool, sql } from 'kysely';
import type { Database } from '../database.ts';
import { newId } from '../ids.ts';
import { inKeysetRange, type KeysetRange, listRows } from '../listing.ts';
import { type Page, type PageRequest, inScope, placeColumns, placeOf, timesOf, tupleIn } from '../queries.ts';
import { multiRowStatement, preparedStatement, together } from '../prepared-statement.ts';
import type { Flag } from '../tables/columns.ts';
import type { Tables } from '../tables.ts';
import type { TenantPlace, TenantScope } from '../tenancy.ts';
import { ensureGrantedItems, insertGrants, readGrants } from './gateway-grants.ts';

export type NewGatewaySession = Pick<
  GatewaySession,
  | 'gatewayId'
  | 'subject'
  | 'actor'
  | 'expiresAt'
  | 'gatewayUrl'
  | 'grants'
  | 'grantsDigest'
  | 'providerIds'
  | 'metadata'
> & {
  /** `user:<id>` or `service_account:<tenant>/<id>`. */
  openedBy: string;
  /** The API key that opened it; null if a user did. */
  openedByKey: string | null;
};
export type GatewaySessionFilter = {
  gatewayId: string;
  status?: string | null | undefined;
  subject?: string | null | undefined;
};

type Row = Selectable<Tables['gateway_sessions']>;
type RevokedReason = NonNullable<GatewaySession['revokedReason']>;

/** A session of a gateway, also if it is expired or revoked. */
export async function findGatewaySession(
  db: Database,
  scope: TenantScope,
  gatewayId: string,
  id: string,
  now: Date,
): Promise<GatewaySession | undefined> {
  const found = await findSessionSummary(db, scope, gatewayId, id, now);
  return found && { ...found, grants: await readGrants(db, found) };
}

/** A session of a gateway without its grants, which may be long. Also if it is expired or revoked. */
export async function findSessionSummary(
  db: Database,
  scope: TenantScope,
  gatewayId: string,
  id: string,
  now: Date,
): Promise<GatewaySessionSummary | undefined> {
  const row = await db
    .selectFrom('gateway_sessions')
    .selectAll()
    .where('id', '=', id)
    .where('gateway_id', '=', gatewayId)
    .where(inScope(scope))
    .executeTakeFirst();
  return row && (await withDecisions(db, [toSummary(row, now)]))[0];
}

/** What decides whether a session may be used. */
export type SessionState = TenantPlace &
  Pick<GatewaySession, 'id' | 'gatewayId' | 'subject' | 'expiresAt' | 'revokedReason' | 'providerIds'>;

const statesOfSessions = multiRowStatement((db, rows: readonly SessionId[], { scope }: { scope: TenantScope }) =>
  db
    .selectFrom('gateway_sessions')
    .select(['tenant_id', 'sub_tenant_id', 'id', 'gateway_id', 'subject', 'expires_at', 'provider_ids'])
    .select(['revoked_at', 'revoked_reason'])
    .where(areSessions(rows))
    .where(inScope(scope)),
);

/** The states of those sessions that exist. @param sessions of any tenants, expired and revoked ones too */
export async function findSessionStates(
  db: Database,
  scope: TenantScope,
  sessions: readonly { tenantId: string; id: string }[],
): Promise<SessionState[]> {
  const ids = sessions.map(({ tenantId, id }) => ({ tenant_id: tenantId, id }));
  const rows = await statesOfSessions(db, ids, { scope });
  return rows.map((row) => ({
    ...placeOf(row),
    id: row.id,
    gatewayId: row.gateway_id,
    subject: row.subject,
    expiresAt: row.expires_at,
    revokedReason: row.revoked_at === null ? null : ((row.revoked_reason ?? 'revoked') as RevokedReason),
    providerIds: providerIdsOf(row),
  }));
}

/** Newest first, without their grants. */
export async function listGatewaySessions(
  db: Database,
  scope: TenantScope,
  filter: GatewaySessionFilter,
  page: PageRequest,
  now: Date,
): Promise<Page<GatewaySessionSummary>> {
  const { gatewayId, status, subject } = filter;
  const { rows, next } = await listRows(db, scope, page, {
    table: 'gateway_sessions',
    parentId: gatewayId,
    hasUnindexedFilter: status != null || subject != null,
    rows: (range) => sessionRows(db, filter, range, now).execute(),
  });
  const items = await withDecisions(
    db,
    rows.map((row) => toSummary(row, now)),
  );
  return { items, next };
}

function sessionRows(db: Database, filter: GatewaySessionFilter, range: KeysetRange, now: Date) {
  let query = db
    .selectFrom('gateway_sessions')
    .selectAll()
    .where('gateway_id', '=', filter.gatewayId)
    .where(inScope(range.scope));
  if (filter.status != null) query = query.where(hasStatus(filter.status, now));
  if (filter.subject != null) query = query.where('subject', '=', filter.subject);
  return query.$call(inKeysetRange(range));
}

const newSession = preparedStatement((db, { row }: { row: Insertable<Tables['gateway_sessions']> }) =>
  db.insertInto('gateway_sessions').values(row).returningAll(),
);

/**
 * @param place the place of the gateway
 * @param beforeStoring is called with the bytes of each new set of granted items before it is stored; it refuses by throwing
 */
export async function insertGatewaySession(
  db: Database,
  place: TenantPlace,
  session: NewGatewaySession,
  beforeStoring: (bytes: number) => Promise<void>,
  now: Date,
): Promise<GatewaySession> {
  const row = {
    ...placeColumns(place),
    id: newId('ses', now),
    gateway_id: session.gatewayId,
    subject: session.subject,
    actor: session.actor,
    opened_by: session.openedBy,
    opened_by_key: session.openedByKey,
    issued_at: now.toISOString(),
    expires_at: session.expiresAt,
    revoked_at: null,
    gateway_url: session.gatewayUrl,
    grants_digest: session.grantsDigest,
    item_count: session.grants.reduce((sum, { items }) => sum + items.length, 0),
    provider_ids: session.providerIds === null ? null : JSON.stringify(session.providerIds),
    metadata: JSON.stringify(session.metadata),
    created_at: now.toISOString(),
    updated_at: now.toISOString(),
  };
  const [[stored], granted] = await together(db, [
    () => newSession(db, { row }),
    () => ensureGrantedItems(db, place, session.grants, beforeStoring, now),
  ]);
  if (!stored) throw new Error('the session was not inserted');
  const inserted = toSummary(stored, now);
  await insertGrants(db, inserted, granted);
  return { ...inserted, grants: session.grants };
}

/** Revokes a session, expired or not. Returns undefined if it is already revoked. */
export async function revokeGatewaySession(
  db: Database,
  scope: TenantScope,
  gatewayId: string,
  id: string,
  now: Date,
): Promise<GatewaySession | undefined> {
  const row = await db
    .updateTable('gateway_sessions')
    .set(revoked(now, 'revoked'))
    .where('id', '=', id)
    .where('gateway_id', '=', gatewayId)
    .where('revoked_at', 'is', null)
    .where(inScope(scope))
    .returningAll()
    .executeTakeFirst();
  if (!row) return undefined;
  const summary = toSummary(row, now);
  const [session = summary] = await withDecisions(db, [summary]);
  return { ...session, grants: await readGrants(db, session) };
}

/** The open sessions of a subject at a gateway, counted up to `most`. */
export async function countOpenSessions(
  db: Database,
  scope: TenantScope,
  { gatewayId, subject, most }: { gatewayId: string; subject: string; most: number },
  now: Date,
): Promise<number> {
  const counted = db
    .selectFrom('gateway_sessions')
    .select('expires_at')
    .where(inScope(scope))
    .where('gateway_id', '=', gatewayId)
    .where('subject', '=', subject)
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', now.toISOString())
    .limit(most);
  const { count } = await db
    .selectFrom(counted.as('counted'))
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** Revokes the active sessions of a gateway. Returns how many there were. */
export async function revokeSessionsOfGateway(
  db: Database,
  scope: TenantScope,
  gatewayId: string,
  now: Date,
): Promise<number> {
  return revokeActive(db, scope, 'gateway_ended', now, sql`gateway_id = ${gatewayId}`);
}

/**
 * Revokes the active sessions in `scope` whose subject or opener is a principal. Returns how many there were.
 *
 * @param principalName `user:<id>` or `service_account:<tenant>/<id>`
 */
export async function revokeSessionsOfPrincipal(
  db: Database,
  scope: TenantScope,
  principalName: string,
  now: Date,
): Promise<number> {
  const isPrincipal = sql<SqlBool>`(subject = ${principalName} or opened_by = ${principalName})`;
  return revokeActive(db, scope, 'principal_ended', now, isPrincipal);
}

/** Revokes all active sessions. Returns how many there were. */
export async function revokeAllSessions(db: Database, scope: TenantScope, now: Date): Promise<number> {
  return revokeActive(db, scope, 'principal_ended', now, sql`1 = 1`);
}

/** Revokes one session. Returns whether it was active. */
export async function endSession(
  db: Database,
  scope: TenantScope,
  { tenantId, id }: { tenantId: string; id: string },
  now: Date,
): Promise<boolean> {
  const isSession = sql<SqlBool>`tenant_id = ${tenantId} and id = ${id}`;
  return (await revokeActive(db, scope, 'revoked', now, isSession)) > 0;
}

/** Revokes the active sessions that a key opened. Returns how many there were. */
export async function revokeSessionsOfKey(db: Database, scope: TenantScope, keyId: string, now: Date): Promise<number> {
  return revokeActive(db, scope, 'key_ended', now, sql`opened_by_key = ${keyId}`);
}

/** Makes the sessions that a key opened expire at `end`, unless they expire earlier. */
export async function shortenSessionsOfKey(
  db: Database,
  scope: TenantScope,
  { keyId, end }: { keyId: string; end: string },
  now: Date,
): Promise<void> {
  const sessions = await db
    .selectFrom('gateway_sessions')
    .select(['tenant_id', 'id'])
    .where('opened_by_key', '=', keyId)
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', end)
    .where(inScope(scope))
    .execute();
  await shortenRows(db, sessions, { time: now.toISOString(), end });
}

/** A possible subject of a session: the places through which it is known at the session's place. */
export type Subject = { places: TenantPlace[]; platformAdministrator: boolean };

/**
 * Finds the subject of a session at a place: an active account, or an active user with a membership, of the place's tenant.
 * An account or user of one sub-tenant cannot be the subject in another sub-tenant.
 *
 * @param subject `user:<id>` or `service_account:<tenant>/<id>`
 */
export async function findSubject(db: Database, place: TenantPlace, subject: string): Promise<Subject | undefined> {
  const [, kind, tenantId, id = ''] = /^(user|service_account):(?:([^/]*)\/)?(.*)$/.exec(subject) ?? [];
  const { tenant_id, sub_tenant_id } = placeColumns(place);
  const subTenants = sub_tenant_id === '' ? null : ['', sub_tenant_id];
  if (kind === 'service_account') {
    if (tenantId !== tenant_id) return undefined;
    let query = db
      .selectFrom('service_accounts')
      .select(['tenant_id', 'sub_tenant_id', 'platform_administrator'])
      .where('tenant_id', '=', tenant_id)
      .where('id', '=', id)
      .where('status', '=', 'active');
    if (subTenants !== null) query = query.where('sub_tenant_id', 'in', subTenants);
    return toSubject(await query.execute());
  }
  let query = db
    .selectFrom('users')
    .innerJoin('memberships as membership', 'membership.user_id', 'users.id')
    .select(['membership.tenant_id', 'membership.sub_tenant_id', 'users.platform_administrator'])
    .where('membership.tenant_id', '=', tenant_id)
    .where('membership.accepted_at', 'is not', null)
    .where('membership.suspended_at', 'is', null)
    .where('users.id', '=', id)
    .where('users.status', '=', 'active');
  if (subTenants !== null) query = query.where('membership.sub_tenant_id', 'in', subTenants);
  return toSubject(await query.orderBy('membership.sub_tenant_id').limit(MAX_PLACES_OF_SUBJECT).execute());
}

/** Two are enough: a membership of the whole tenant comes first, and covers all others. */
const MAX_PLACES_OF_SUBJECT = 2;

type SubjectRow = { tenant_id: string; sub_tenant_id: string; platform_administrator: Flag };

function toSubject(rows: readonly SubjectRow[]): Subject | undefined {
  const [first] = rows;
  return first && { places: rows.map(placeOf), platformAdministrator: first.platform_administrator === 1 };
}

async function revokeActive(
  db: Database,
  scope: TenantScope,
  reason: RevokedReason,
  now: Date,
  which: Expression<SqlBool>,
): Promise<number> {
  const sessions = await db
    .selectFrom('gateway_sessions')
    .select(['tenant_id', 'id'])
    .where(which)
    .where(hasStatus('active', now))
    .where(inScope(scope))
    .execute();
  return (await revokeRows(db, sessions, { time: now.toISOString(), reason })).length;
}

type SessionId = { tenant_id: string; id: string };

/** A tenant may have 10,000 open sessions, and SQLite answers synchronously. So each statement changes only some of them. */
const revokeRows = multiRowStatement(
  (db, rows: readonly SessionId[], { time, reason }: { time: string; reason: RevokedReason }) =>
    db
      .updateTable('gateway_sessions')
      .set({ revoked_at: time, revoked_reason: reason, updated_at: time })
      .where(areSessions(rows))
      .where('revoked_at', 'is', null)
      .returning('id'),
);

const shortenRows = multiRowStatement((db, rows: readonly SessionId[], { time, end }: { time: string; end: string }) =>
  db.updateTable('gateway_sessions').set({ expires_at: end, updated_at: time }).where(areSessions(rows)),
);

function areSessions(rows: readonly SessionId[]): Expression<SqlBool> {
  return tupleIn(
    ['tenant_id', 'id'],
    rows.map(({ tenant_id, id }) => [tenant_id, id]),
  );
}

function revoked(now: Date, reason: RevokedReason) {
  return { revoked_at: now.toISOString(), revoked_reason: reason, updated_at: now.toISOString() };
}

/** The condition for a status, which depends on the time. It follows the same rule as {@link statusOf}. */
function hasStatus(status: string, now: Date): Expression<SqlBool> {
  switch (status) {
    case 'revoked':
      return sql<SqlBool>`revoked_at is not null`;
    case 'expired':
      return sql<SqlBool>`revoked_at is null and expires_at <= ${now.toISOString()}`;
    case 'active':
      return sql<SqlBool>`revoked_at is null and expires_at > ${now.toISOString()}`;
    default:
      return sql<SqlBool>`1 = 0`;
  }
}

function statusOf(row: Row, now: Date): GatewaySession['status'] {
  if (row.revoked_at !== null) return 'revoked';
  return row.expires_at <= now.toISOString() ? 'expired' : 'active';
}

const NO_DECISIONS = { allowed: 0, denied: 0, lastAt: null };

/** Adds how many decisions were asked for in each session. */
async function withDecisions(db: Database, sessions: GatewaySessionSummary[]): Promise<GatewaySessionSummary[]> {
  if (sessions.length === 0) return sessions;
  const rows = await db
    .selectFrom('gateway_session_decisions')
    .select(['session_id', 'allowed', 'denied', 'last_at'])
    .where('tenant_id', 'in', [...new Set(sessions.map(({ tenantId }) => tenantId))])
    .where(
      'session_id',
      'in',
      sessions.map(({ id }) => id),
    )
    .execute();
  const found = new Map(rows.map((row) => [row.session_id, row]));
  return sessions.map((session) => {
    const row = found.get(session.id);
    return row ? { ...session, decisions: { allowed: row.allowed, denied: row.denied, lastAt: row.last_at } } : session;
  });
}

function providerIdsOf({ provider_ids }: Pick<Row, 'provider_ids'>): string[] | null {
  return provider_ids === null ? null : (JSON.parse(provider_ids) as string[]);
}

function toSummary(row: Row, now: Date): GatewaySessionSummary {
  return {
    id: row.id,
    gatewayId: row.gateway_id,
    ...placeOf(row),
    subject: row.subject,
    actor: row.actor,
    status: statusOf(row, now),
    issuedAt: row.issued_at,
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
    revokedReason: row.revoked_reason as RevokedReason | null,
    gatewayUrl: row.gateway_url,
    grantsDigest: row.grants_digest,
    grantedItems: row.item_count,
    providerIds: providerIdsOf(row),
    decisions: NO_DECISIONS,
    metadata: JSON.parse(row.metadata) as GatewaySession['metadata'],
    ...timesOf(row),
  };
}
