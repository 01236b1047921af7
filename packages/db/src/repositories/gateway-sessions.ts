import { setImmediate as breathe } from 'node:timers/promises';
import type { GatewaySession, Grant } from '@quartermaster/contracts/gateway-sessions.ts';
import { SESSION_TTL_MAX_SECONDS } from '@quartermaster/contracts/gateways.ts';
import type { InventoryKind } from '@quartermaster/contracts/inventory.ts';
import { type Expression, type Insertable, type Selectable, type SqlBool, sql } from 'kysely';
import type { Database } from '../database.ts';
import { idsSince, newId } from '../ids.ts';
import { inStretch, listRows, type Stretch } from '../listing.ts';
import { nameKey } from '../name-key.ts';
import { type Page, type PageRequest, placeColumns, placeOf, timesOf, within } from '../queries.ts';
import { statement } from '../statement.ts';
import type { Tables } from '../tables.ts';
import type { TenantPlace, TenantScope } from '../tenancy.ts';

export type NewGatewaySession = Pick<
  GatewaySession,
  'gatewayId' | 'subject' | 'actor' | 'expiresAt' | 'gatewayUrl' | 'grants' | 'metadata'
> & {
  /** `user:<id>` or `service_account:<tenant>/<id>`. */
  openedBy: string;
  /** The API key that opened it; null where a user did. */
  openedByKey: string | null;
};
export type GatewaySessionFilter = {
  gatewayId: string;
  status?: string | null | undefined;
  subject?: string | null | undefined;
};

/** What sessions grant of a provider, by the keys that the variants of names share: see {@link nameKey}. */
export type GrantedSubjects = {
  providerId: string;
  providerName: string;
  subjects: readonly { kind: InventoryKind; nameKey: string }[];
};
export type SessionReference = TenantPlace & Pick<GatewaySession, 'id' | 'gatewayId' | 'subject'>;

type Row = Selectable<Tables['gateway_sessions']>;
type RevokedReason = NonNullable<GatewaySession['revokedReason']>;

/** Sessions whose grants are in memory at a time: one may grant 10,000 items. */
const GRANTS_READ_AT_ONCE = 50;

/** A session of a gateway, expired and revoked ones included. */
export async function findGatewaySession(
  db: Database,
  scope: TenantScope,
  gatewayId: string,
  id: string,
  now: Date,
): Promise<GatewaySession | undefined> {
  const row = await db
    .selectFrom('gateway_sessions')
    .selectAll()
    .where('id', '=', id)
    .where('gateway_id', '=', gatewayId)
    .where(within(scope))
    .executeTakeFirst();
  return row && toGatewaySession(row, now);
}

/** Newest first. */
export async function listGatewaySessions(
  db: Database,
  scope: TenantScope,
  filter: GatewaySessionFilter,
  page: PageRequest,
  now: Date,
): Promise<Page<GatewaySession>> {
  const { gatewayId, status, subject } = filter;
  const { rows, next } = await listRows(db, scope, page, {
    table: 'gateway_sessions',
    parentId: gatewayId,
    isSifted: status != null || subject != null,
    rows: (stretch) => sessionRows(db, filter, stretch, now).execute(),
  });
  return { items: rows.map((row) => toGatewaySession(row, now)), next };
}

function sessionRows(db: Database, filter: GatewaySessionFilter, stretch: Stretch, now: Date) {
  let query = db
    .selectFrom('gateway_sessions')
    .selectAll()
    .where('gateway_id', '=', filter.gatewayId)
    .where(within(stretch.scope));
  if (filter.status != null) query = query.where(hasStatus(filter.status, now));
  if (filter.subject != null) query = query.where('subject', '=', filter.subject);
  return query.$call(inStretch(stretch));
}

const newSession = statement((db, { row }: { row: Insertable<Tables['gateway_sessions']> }) =>
  db.insertInto('gateway_sessions').values(row).returningAll(),
);

/** @param place the gateway's */
export async function insertGatewaySession(
  db: Database,
  place: TenantPlace,
  session: NewGatewaySession,
  now: Date,
): Promise<GatewaySession> {
  const [row] = await newSession(db, {
    row: {
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
      grants: JSON.stringify(session.grants),
      metadata: JSON.stringify(session.metadata),
      created_at: now.toISOString(),
      updated_at: now.toISOString(),
    },
  });
  if (!row) throw new Error('the session was not inserted');
  return toGatewaySession(row, now);
}

/** Revokes a session, expired or not; undefined where it is revoked already. */
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
    .where(within(scope))
    .returningAll()
    .executeTakeFirst();
  return row && toGatewaySession(row, now);
}

/** Ends the active sessions of a gateway. Answers how many there were. */
export async function revokeSessionsOfGateway(
  db: Database,
  scope: TenantScope,
  gatewayId: string,
  now: Date,
): Promise<number> {
  const result = await db
    .updateTable('gateway_sessions')
    .set(revoked(now, 'gateway_ended'))
    .where('gateway_id', '=', gatewayId)
    .where(hasStatus('active', now))
    .where(within(scope))
    .executeTakeFirst();
  return Number(result.numUpdatedRows);
}

/**
 * Ends the active sessions in `scope` whose subject or opener is a principal. Answers how many there were.
 *
 * @param principalName `user:<id>` or `service_account:<tenant>/<id>`
 */
export async function revokeSessionsOf(
  db: Database,
  scope: TenantScope,
  principalName: string,
  now: Date,
): Promise<number> {
  const result = await db
    .updateTable('gateway_sessions')
    .set(revoked(now, 'principal_ended'))
    .where((eb) => eb.or([eb('subject', '=', principalName), eb('opened_by', '=', principalName)]))
    .where(within(scope))
    .where(hasStatus('active', now))
    .executeTakeFirst();
  return Number(result.numUpdatedRows);
}

/** Ends the active sessions that a key opened. Answers how many there were. */
export async function revokeSessionsOfKey(db: Database, scope: TenantScope, keyId: string, now: Date): Promise<number> {
  const result = await db
    .updateTable('gateway_sessions')
    .set(revoked(now, 'key_ended'))
    .where('opened_by_key', '=', keyId)
    .where(hasStatus('active', now))
    .where(within(scope))
    .executeTakeFirst();
  return Number(result.numUpdatedRows);
}

/** Has the sessions that a key opened end at `end`, unless they end earlier. */
export async function shortenSessionsOfKey(
  db: Database,
  scope: TenantScope,
  { keyId, end }: { keyId: string; end: string },
  now: Date,
): Promise<void> {
  await db
    .updateTable('gateway_sessions')
    .set({ expires_at: end, updated_at: now.toISOString() })
    .where('opened_by_key', '=', keyId)
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', end)
    .where(within(scope))
    .execute();
}

/**
 * Ends the active sessions that grant one of some items, since these are blocked: in one pass, however many items, since
 * grants are long. Answers which sessions they were, the oldest first.
 *
 * @param scope the whole tenant of the provider: gateways of all its places may list it
 */
export async function revokeSessionsOfItems(
  db: Database,
  scope: TenantScope,
  items: GrantedSubjects,
  now: Date,
): Promise<SessionReference[]> {
  const ended: SessionReference[] = [];
  const grantsAny = grantsAnyOf(items);
  // None that began earlier can be active still; and ids are in the order of time, as the primary key has them.
  let after = idsSince('ses', new Date(now.getTime() - SESSION_TTL_MAX_SECONDS * 1000));
  for (;;) {
    const rows = await db
      .selectFrom('gateway_sessions')
      .select(['id', 'tenant_id', 'sub_tenant_id', 'gateway_id', 'subject', 'grants'])
      .where(within(scope))
      .where('id', '>', after)
      .where(hasStatus('active', now))
      .where(mentions(items.providerId))
      .orderBy('id')
      .limit(GRANTS_READ_AT_ONCE)
      .execute();
    const granting = rows.filter((row) => grantsAny(JSON.parse(row.grants) as Grant[]));
    if (granting.length > 0) {
      await db
        .updateTable('gateway_sessions')
        .set(revoked(now, 'item_blocked'))
        .where(
          'id',
          'in',
          granting.map(({ id }) => id),
        )
        .where(within(scope))
        .execute();
    }
    for (const row of granting) {
      ended.push({ id: row.id, gatewayId: row.gateway_id, subject: row.subject, ...placeOf(row) });
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < GRANTS_READ_AT_ONCE) return ended;
    after = last.id;
    // Grants are long, and reading them gives nobody else a turn.
    await breathe();
  }
}

/**
 * Whether somebody can be the subject of a session at a place: an active account, or an active user with a membership,
 * of the place's tenant. One that is bound to a sub-tenant is no subject in a sibling.
 *
 * @param subject `user:<id>` or `service_account:<tenant>/<id>`
 */
export async function subjectExists(db: Database, place: TenantPlace, subject: string): Promise<boolean> {
  const [, kind, tenantId, id = ''] = /^(user|service_account):(?:([^/]*)\/)?(.*)$/.exec(subject) ?? [];
  const { tenant_id, sub_tenant_id } = placeColumns(place);
  const subTenants = sub_tenant_id === '' ? null : ['', sub_tenant_id];
  if (kind === 'service_account') {
    if (tenantId !== tenant_id) return false;
    let query = db
      .selectFrom('service_accounts')
      .select('id')
      .where('tenant_id', '=', tenant_id)
      .where('id', '=', id)
      .where('status', '=', 'active');
    if (subTenants !== null) query = query.where('sub_tenant_id', 'in', subTenants);
    return (await query.executeTakeFirst()) !== undefined;
  }
  let query = db
    .selectFrom('users')
    .innerJoin('memberships as membership', 'membership.user_id', 'users.id')
    .select('users.id')
    .where('membership.tenant_id', '=', tenant_id)
    .where('membership.accepted_at', 'is not', null)
    .where('users.id', '=', id)
    .where('users.status', '=', 'active');
  if (subTenants !== null) query = query.where('membership.sub_tenant_id', 'in', subTenants);
  return (await query.limit(1).executeTakeFirst()) !== undefined;
}

function revoked(now: Date, reason: RevokedReason) {
  return { revoked_at: now.toISOString(), revoked_reason: reason, updated_at: now.toISOString() };
}

/** Spares reading the grants of sessions that have nothing of a provider. Ids have no character that JSON escapes. */
function mentions(providerId: string): Expression<SqlBool> {
  const text = `%"providerId":"${providerId.replaceAll(/[\\%_]/g, (character) => `\\${character}`)}"%`;
  return sql<SqlBool>`grants like ${text} escape ${'\\'}`;
}

/** Tells whether grants have one of some items. */
function grantsAnyOf({ providerId, providerName, subjects }: GrantedSubjects): (grants: readonly Grant[]) => boolean {
  const kinds = new Set(subjects.map(({ kind }) => kind));
  const keys = new Set(subjects.map(({ kind, nameKey }) => `${kind} ${nameKey}`));
  return (grants) =>
    grants.some(
      (grant) =>
        grant.providerId === providerId &&
        grant.items.some(
          ({ kind, name }) => kinds.has(kind) && keys.has(`${kind} ${nameKey(kind, name, providerName)}`),
        ),
    );
}

/** The status of a session follows from the time: the same rule as in {@link statusOf}. */
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

function toGatewaySession(row: Row, now: Date): GatewaySession {
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
    grants: JSON.parse(row.grants) as Grant[],
    metadata: JSON.parse(row.metadata) as GatewaySession['metadata'],
    ...timesOf(row),
  };
}
