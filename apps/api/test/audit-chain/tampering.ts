import type { Database } from '@quartermaster/db/database.ts';
import type { Tables } from '@quartermaster/db/tables.ts';
import { type Selectable, sql } from 'kysely';
import { expect } from 'vitest';
import { emptyChainHash, hashOf, leafOf } from '../../src/platform/audit/chain.ts';
import { accountWithKey, unique } from '../support/people.ts';
import type { Body, TestServer } from '../support/server.ts';

export const VERIFY = '/v1/audit-events/verify';

export type EventRow = Selectable<Tables['audit_events']>;
export type LinkRow = Selectable<Tables['audit_chain']>;

/** The columns of events whose value is a text, all of which are part of an event's digest. */
export const TEXT_COLUMNS = [
  'actor_type',
  'actor_id',
  'actor_tenant_id',
  'scheme',
  'key_id',
  'operation',
  'target_type',
  'target_id',
  'outcome',
  'reason',
  'decision',
  'request_id',
  'created_at',
  'sub_tenant_id',
] as const;

/** Changes the database directly, as someone could who has access to it and no key. */
export function tamper<T>({ services }: TestServer, work: (db: Database) => Promise<T>): Promise<T> {
  return services.db.transaction().execute(work);
}

/** Runs a statement. */
export async function run(db: Database, statement: string, ...values: unknown[]): Promise<void> {
  const parts = statement.split('?');
  await sql
    .join(
      parts.flatMap((part, index) => (index === 0 ? [sql.raw(part)] : [sql`${values[index - 1]}`, sql.raw(part)])),
      sql``,
    )
    .execute(db);
}

/** A tenant with sealed events, and the key of an account that may read them. */
export async function sealedTenant(server: TestServer, events = 6): Promise<{ tenantId: string; key: string }> {
  const tenantId = unique('audited');
  const { key } = await accountWithKey(server, { tenantId });
  for (let count = 0; count < events; count += 1) await writeOne(server, key);
  await server.services.audit.sealer.pass();
  return { tenantId, key };
}

/** Causes one more audit event, which is not sealed yet. */
export async function writeOne(server: TestServer, key: string): Promise<void> {
  await server.ok('POST', '/v1/gateways', { as: { key }, body: { name: unique('gateway') } });
}

export function verified(server: TestServer, key: string, query: Record<string, string> = {}): Promise<Body> {
  return server.ok('GET', `${VERIFY}?${new URLSearchParams(query).toString()}`, { as: { key } });
}

/** Expects the answer to report exactly these faults, written `kind@position`. */
export function expectFaults(answer: Body, ...expected: string[]): void {
  const reported = answer.faults.map(({ kind, position }: Body) => `${kind}@${position ?? ''}`);
  expect(reported.toSorted()).toEqual(expected.toSorted());
  expect(answer.status).toBe(expected.length === 0 ? 'intact' : 'broken');
}

export function linksOf(db: Database, tenantId: string): Promise<LinkRow[]> {
  return db.selectFrom('audit_chain').selectAll().where('tenant_id', '=', tenantId).orderBy('position').execute();
}

/** The events of a tenant in the order of its chain. */
export function eventsOf(db: Database, tenantId: string): Promise<EventRow[]> {
  return db
    .selectFrom('audit_chain as link')
    .innerJoin('audit_events as event', (join) =>
      join.onRef('event.tenant_id', '=', 'link.tenant_id').onRef('event.id', '=', 'link.event_id'),
    )
    .selectAll('event')
    .where('link.tenant_id', '=', tenantId)
    .orderBy('link.position')
    .execute();
}

/** The event at a position of a chain. */
export async function eventAt(db: Database, tenantId: string, position: number): Promise<EventRow> {
  return at(await eventsOf(db, tenantId), position);
}

/** @param position from 1 on */
export function at<Row>(rows: readonly Row[], position: number): Row {
  const row = rows[position - 1];
  if (row === undefined) throw new Error(`there is nothing at position ${position}`);
  return row;
}

/** Swaps the contents of two events. Their ids stay. */
export async function swapEvents(db: Database, [one, other]: readonly [EventRow, EventRow]): Promise<void> {
  for (const { tenant_id, id } of [one, other]) {
    await db.deleteFrom('audit_events').where('tenant_id', '=', tenant_id).where('id', '=', id).execute();
  }
  const swapped = [
    { ...one, id: other.id },
    { ...other, id: one.id },
  ];
  await db.insertInto('audit_events').values(swapped).execute();
}

/** Swaps two links of the chain, with their hashes or without them. */
export async function swapLinks(
  db: Database,
  [one, other]: readonly [LinkRow, LinkRow],
  hashes: boolean,
): Promise<void> {
  const swapped = [one, other].map((link, index) => {
    const { position, hash } = index === 0 ? other : one;
    return { ...link, position, ...(!hashes && { hash }) };
  });
  for (const { tenant_id, position } of [one, other]) {
    await db.deleteFrom('audit_chain').where('tenant_id', '=', tenant_id).where('position', '=', position).execute();
  }
  await db.insertInto('audit_chain').values(swapped).execute();
}

/** Removes the events and links of a chain from a position on. */
export async function removeTail(db: Database, tenantId: string, from: number): Promise<void> {
  const gone = (await linksOf(db, tenantId)).filter(({ position }) => position >= from);
  const ids = gone.map(({ event_id }) => event_id);
  await db.deleteFrom('audit_events').where('tenant_id', '=', tenantId).where('id', 'in', ids).execute();
  await db.deleteFrom('audit_chain').where('tenant_id', '=', tenantId).where('position', '>=', from).execute();
}

/** Computes the whole chain of a tenant again from its current events. Returns the last link. */
export async function recompute(db: Database, tenantId: string): Promise<LinkRow> {
  let hash = emptyChainHash(tenantId);
  const links = (await eventsOf(db, tenantId)).map((row, index) => {
    const leaf = leafOf(recordOf(row));
    hash = hashOf(hash, leaf);
    return { tenant_id: tenantId, position: index + 1, event_id: row.id, leaf, hash };
  });
  await db.deleteFrom('audit_chain').where('tenant_id', '=', tenantId).execute();
  await db.insertInto('audit_chain').values(links).execute();
  return at(links, links.length);
}

/** An event as the API returns it. The chain contains its digest. */
function recordOf(row: EventRow): Parameters<typeof leafOf>[0] {
  return {
    id: row.id,
    tenantId: row.tenant_id || null,
    subTenantId: row.sub_tenant_id || null,
    actor: { type: row.actor_type, id: row.actor_id, tenantId: row.actor_tenant_id },
    scheme: row.scheme,
    keyId: row.key_id,
    operation: row.operation,
    target: row.target_type === null || row.target_id === null ? null : { type: row.target_type, id: row.target_id },
    outcome: row.outcome,
    reason: row.reason,
    decision: row.decision,
    changedFields: JSON.parse(row.changed_fields),
    changes: JSON.parse(row.changes),
    count: row.count,
    requestId: row.request_id,
    callerRequestId: row.caller_request_id,
    createdAt: row.created_at,
    updatedAt: row.created_at,
  };
}
