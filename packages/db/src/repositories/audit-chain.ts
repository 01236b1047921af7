import type { AuditEvent } from '@quartermaster/contracts/audit-events.ts';
import { type Selectable, sql } from 'kysely';
import type { Database } from '../database.ts';
import type { Tables } from '../tables.ts';
import { toAuditEvent } from './audit-events.ts';

// Each tenant has one hash chain. The platform's own chain has the tenant ''.

/** The position of an event in the chain of its tenant, from 1. Digests are SHA-256 in hex. */
export type Link = { position: number; eventId: string; leaf: string; hash: string };

/** A signed head of a chain: its length, and the hash of its last link. */
export type Head = { size: number; hash: string; sealedAt: string; token: string };

/** An event as it is stored. `unreadable`: the row cannot be one that the service wrote. */
export type StoredEvent = AuditEvent | 'unreadable' | 'missing';

/** The highest valid position. SQLite would also store larger numbers, and texts, which sort after all numbers. */
const LAST_POSITION = 2 ** 31 - 1;

/** Whether a link has a position that the service could have assigned. */
export function hasValidPosition({ position }: Pick<Link, 'position'>): boolean {
  return Number.isInteger(position) && position >= 1 && position <= LAST_POSITION;
}

/** The next tenant with unsealed events. @param after a tenant id; null finds the first one */
export async function findNextUnsealedTenant(db: Database, after: string | null): Promise<string | undefined> {
  let query = db.selectFrom('audit_unsealed').select('tenant_id');
  if (after !== null) query = query.where('tenant_id', '>', after);
  const row = await query.orderBy('tenant_id').limit(1).executeTakeFirst();
  return row?.tenant_id;
}

/** An event that is not sealed yet, and its MAC. */
export type UnsealedEvent = { id: string; event: StoredEvent; mac: string | null };

/** Unsealed events after an id, in the order of their ids. */
export async function listUnsealedEvents(
  db: Database,
  tenantId: string,
  { after, limit }: { after: string | null; limit: number },
): Promise<UnsealedEvent[]> {
  let query = db.selectFrom('audit_unsealed').select('event_id').where('tenant_id', '=', tenantId);
  if (after !== null) query = query.where('event_id', '>', after);
  const waiting = await query.orderBy('event_id').limit(limit).execute();
  const ids = waiting.map(({ event_id }) => event_id);
  const events = await storedEvents(db, tenantId, ids);
  return ids.map((id) => ({ id, ...(events.get(id) ?? MISSING) }));
}

/** Removes events from the unsealed ones without sealing them. */
export async function removeUnsealed(db: Database, tenantId: string, ids: readonly string[]): Promise<void> {
  await db.deleteFrom('audit_unsealed').where('tenant_id', '=', tenantId).where('event_id', 'in', ids).execute();
}

/** Replaces the MAC of an event. */
export async function replaceMac(db: Database, tenantId: string, id: string, mac: string): Promise<void> {
  await db.updateTable('audit_events').set({ mac }).where('tenant_id', '=', tenantId).where('id', '=', id).execute();
}

/** Counts the unsealed events of a tenant, up to `limit`. */
export async function countUnsealed(db: Database, tenantId: string, limit: number): Promise<number> {
  const waiting = db.selectFrom('audit_unsealed').select('event_id').where('tenant_id', '=', tenantId).limit(limit);
  const row = await db
    .selectFrom(waiting.as('waiting'))
    .select(({ fn }) => fn.countAll().as('count'))
    .executeTakeFirstOrThrow();
  return Number(row.count);
}

/** The last link of a chain and its newest head, read with one query so that they are consistent. */
export async function findChainEnd(
  db: Database,
  tenantId: string,
): Promise<{ end: Pick<Link, 'position' | 'hash'> | null; head: Head | null }> {
  const last = db
    .selectFrom('audit_chain')
    .select(['tenant_id', 'position', 'hash'])
    .where('tenant_id', '=', tenantId)
    .where('position', '>=', 1)
    .where('position', '<=', LAST_POSITION)
    .orderBy('position', 'desc')
    .limit(1);
  const newest = db
    .selectFrom('audit_heads')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('size', '<=', LAST_POSITION)
    .orderBy('size', 'desc')
    .limit(1);
  const row = await db
    .selectFrom(last.as('last'))
    .fullJoin(newest.as('newest'), 'newest.tenant_id', 'last.tenant_id')
    .select(['last.position', 'last.hash as end_hash'])
    .select(['newest.size', 'newest.hash as hash', 'newest.sealed_at', 'newest.token'])
    .executeTakeFirst();
  const { position = null, end_hash = null, size = null, hash = null, sealed_at = null, token = null } = row ?? {};
  return {
    end: position === null || end_hash === null ? null : { position, hash: end_hash },
    head:
      size === null || hash === null || sealed_at === null || token === null
        ? null
        : { size, hash, sealedAt: sealed_at, token },
  };
}

/**
 * Appends links to a chain together with their signed head, and removes their events from the unsealed ones.
 *
 * @param replaced the size of an earlier head to delete; null deletes none
 * @throws DuplicateKeyError if another process has appended to the chain in the meantime
 */
export async function appendLinks(
  db: Database,
  tenantId: string,
  { links, head, replaced }: { links: readonly Link[]; head: Head; replaced: number | null },
): Promise<void> {
  await db
    .insertInto('audit_chain')
    .values(links.map(({ eventId, ...link }) => ({ tenant_id: tenantId, event_id: eventId, ...link })))
    .execute();
  await db
    .deleteFrom('audit_unsealed')
    .where('tenant_id', '=', tenantId)
    .where(
      'event_id',
      'in',
      links.map(({ eventId }) => eventId),
    )
    .execute();
  if (replaced !== null) {
    await db.deleteFrom('audit_heads').where('tenant_id', '=', tenantId).where('size', '=', replaced).execute();
  }
  const { sealedAt, ...signed } = head;
  await db
    .insertInto('audit_heads')
    .values({ tenant_id: tenantId, sealed_at: sealedAt, ...signed })
    .execute();
}

/**
 * Links after a position, in their order, each with its event. Null lists from the start. The result includes forged links
 * with invalid positions.
 */
export async function listLinks(
  db: Database,
  tenantId: string,
  { after, limit }: { after: number | null; limit: number },
): Promise<(Link & { event: StoredEvent })[]> {
  let query = db.selectFrom('audit_chain').selectAll().where('tenant_id', '=', tenantId);
  if (after !== null) query = query.where('position', '>', after);
  const links = await query.orderBy('position').limit(limit).execute();
  const events = await storedEvents(
    db,
    tenantId,
    links.map(({ event_id }) => event_id),
  );
  return links.map(({ position, event_id, leaf, hash }) => ({
    position,
    eventId: event_id,
    leaf,
    hash,
    event: events.get(event_id)?.event ?? 'missing',
  }));
}

/** The hash of one link. */
export async function findLinkHash(db: Database, tenantId: string, position: number): Promise<string | undefined> {
  const row = await db
    .selectFrom('audit_chain')
    .select('hash')
    .where('tenant_id', '=', tenantId)
    .where('position', '=', position)
    .executeTakeFirst();
  return row?.hash;
}

/** Heads with sizes greater than `after`, up to `upTo`. */
export async function listHeads(
  db: Database,
  tenantId: string,
  { after, upTo }: { after: number; upTo: number },
): Promise<Head[]> {
  const rows = await db
    .selectFrom('audit_heads')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('size', '>', after)
    .where('size', '<=', upTo)
    .orderBy('size')
    .execute();
  return rows.map(({ size, hash, sealed_at, token }) => ({ size, hash, sealedAt: sealed_at, token }));
}

/**
 * The newest heads of up to `limit` tenants after `after`; null starts with the first tenant. Each takes a few index look-ups,
 * however many heads a tenant has.
 *
 * @returns `last`: the last tenant that was read, null if there are no more
 */
export async function listNewestHeads(
  db: Database,
  { after, limit }: { after: string | null; limit: number },
): Promise<{ heads: (Pick<Head, 'size' | 'hash'> & { tenantId: string })[]; last: string | null }> {
  // Scalar subqueries, since a join might read all heads.
  const newest = sql<{ tenant_id: string; nth: number; size: number | null; hash: string | null }>`(
    with recursive tenant(tenant_id, nth) as (
      select (
        select tenant_id from audit_heads where ${after === null ? sql`true` : sql`tenant_id > ${after}`}
        order by tenant_id limit 1), 1
      union all
      select (
        select head.tenant_id from audit_heads as head where head.tenant_id > tenant.tenant_id
        order by head.tenant_id limit 1), nth + 1
      from tenant where tenant.tenant_id is not null and nth < ${limit}),
    newest(tenant_id, nth, size) as materialized (
      select tenant_id, nth, (
        select size from audit_heads as head
        where head.tenant_id = tenant.tenant_id and size <= ${LAST_POSITION} order by size desc limit 1)
      from tenant where tenant_id is not null)
    select tenant_id, nth, size, (
      select hash from audit_heads as head where head.tenant_id = newest.tenant_id and head.size = newest.size) as hash
    from newest)`;
  // Wrapped in a select of the query builder: SQLite then uses the reading connection, and does not wait for writes.
  const rows = await db.selectFrom(newest.as('newest')).selectAll().execute();
  return {
    heads: rows.flatMap(({ tenant_id: tenantId, size, hash }) =>
      size === null || hash === null ? [] : [{ tenantId, size, hash }],
    ),
    last: rows.find(({ nth }) => nth === limit)?.tenant_id ?? null,
  };
}

/** The next tenant whose chain has a head. @param after a tenant id; null finds the first one */
export async function findNextTenantWithHead(db: Database, after: string | null): Promise<string | undefined> {
  let query = db.selectFrom('audit_heads').select('tenant_id');
  if (after !== null) query = query.where('tenant_id', '>', after);
  const row = await query.orderBy('tenant_id').limit(1).executeTakeFirst();
  return row?.tenant_id;
}

/** Replaces the signature of a head. */
export async function replaceHeadToken(db: Database, tenantId: string, head: Head): Promise<void> {
  await db
    .updateTable('audit_heads')
    .set({ token: head.token, sealed_at: head.sealedAt })
    .where('tenant_id', '=', tenantId)
    .where('size', '=', head.size)
    .execute();
}

/**
 * Scans events after an id, in the order of their ids, for events that are in no chain. Null starts with the first event.
 *
 * @returns `unchained`: these events, and whether they wait to be sealed; `scanned`: how many events were scanned; `last`: the
 *   id of the last scanned event, null if there are no more
 */
export async function findUnchainedEvents(
  db: Database,
  tenantId: string,
  { after, limit }: { after: string | null; limit: number },
): Promise<{ unchained: (UnsealedEvent & { waits: boolean })[]; scanned: number; last: string | null }> {
  let query = db.selectFrom('audit_events').select('id').where('tenant_id', '=', tenantId);
  if (after !== null) query = query.where('id', '>', after);
  const events = await query.orderBy('id').limit(limit).execute();
  const ids = events.map(({ id }) => id);
  if (ids.length === 0) return { unchained: [], scanned: 0, last: null };
  // This order matters: an event that is sealed between the two queries is still found by one of them.
  const waiting = await db
    .selectFrom('audit_unsealed')
    .select('event_id')
    .where('tenant_id', '=', tenantId)
    .where('event_id', 'in', ids)
    .execute();
  // A link with an invalid position seals nothing.
  const links = await db
    .selectFrom('audit_chain')
    .select(['event_id', 'position'])
    .where('tenant_id', '=', tenantId)
    .where('event_id', 'in', ids)
    .execute();
  const waits = new Set(waiting.map(({ event_id }) => event_id));
  const sealed = new Set(links.filter(hasValidPosition).map(({ event_id }) => event_id));
  const unsealed = ids.filter((id) => !sealed.has(id));
  const stored = await storedEvents(db, tenantId, unsealed);
  const unchained = unsealed.map((id) => ({ id, waits: waits.has(id), ...(stored.get(id) ?? MISSING) }));
  const last = ids.length === limit ? (ids.at(-1) ?? null) : null;
  return { unchained, scanned: ids.length, last };
}

const MISSING = { event: 'missing', mac: null } as const;

/**
 * Events by their ids. A separate query instead of a join: without statistics, the planner would read the whole tables for each
 * batch.
 */
async function storedEvents(
  db: Database,
  tenantId: string,
  ids: readonly string[],
): Promise<Map<string, Omit<UnsealedEvent, 'id'>>> {
  if (ids.length === 0) return new Map();
  const query = db.selectFrom('audit_events').selectAll().where('tenant_id', '=', tenantId).where('id', 'in', ids);
  return new Map((await query.execute()).map((row) => [row.id, { event: storedEvent(row), mac: row.mac }]));
}

function storedEvent(row: Selectable<Tables['audit_events']>): StoredEvent {
  try {
    return toAuditEvent(row);
  } catch (error) {
    if (error instanceof SyntaxError) return 'unreadable';
    throw error;
  }
}
