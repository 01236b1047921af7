import { yieldWhenDue } from '../turns.ts';
import type { GatewaySession } from '@quartermaster/contracts/gateway-sessions.ts';
import { SESSION_TTL_MAX_SECONDS } from '@quartermaster/contracts/gateways.ts';
import type { Database } from '../database.ts';
import { lowestIdAt } from '../ids.ts';
import { inScope, placeOf } from '../queries.ts';
import type { TenantPlace, TenantScope } from '../tenancy.ts';
import { findGrantsOfItems, type GrantedSubjects } from './gateway-grants.ts';

export type SessionReference = TenantPlace & Pick<GatewaySession, 'id' | 'gatewayId' | 'subject'>;

/** Sessions that are revoked with one statement. */
const BATCH_SIZE = 500;

/**
 * Revokes the active sessions that grant one of some items, because these are blocked. Indexes find the sets that contain an
 * item, and the sessions of each set. Returns the revoked sessions, oldest first.
 *
 * @param scope the whole tenant of the provider, since gateways in any place of the tenant may list it
 */
export async function revokeSessionsOfItems(
  db: Database,
  scope: TenantScope,
  subjects: GrantedSubjects,
  now: Date,
): Promise<SessionReference[]> {
  const ended: SessionReference[] = [];
  for (const { tenantId, digest } of await findGrantsOfItems(db, scope, subjects)) {
    const granted = { tenantId, providerId: subjects.providerId, digest };
    // Ids are in the order of time, and sessions that began earlier have expired.
    let after: string | undefined = lowestIdAt('ses', new Date(now.getTime() - SESSION_TTL_MAX_SECONDS * 1000));
    while (after !== undefined) {
      const rows = await activeSessions(db, scope, { ...granted, after }, now);
      ended.push(...(await revokeBlocked(db, scope, rows, now)));
      after = rows.length < BATCH_SIZE ? undefined : rows.at(-1);
      await yieldWhenDue();
    }
  }
  return ended.toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

type Granted = { tenantId: string; providerId: string; digest: string; after: string };

async function activeSessions(db: Database, scope: TenantScope, granted: Granted, now: Date): Promise<string[]> {
  const rows = await db
    .selectFrom('gateway_session_grants as granted')
    .innerJoin('gateway_sessions as session', (join) =>
      join.onRef('session.tenant_id', '=', 'granted.tenant_id').onRef('session.id', '=', 'granted.session_id'),
    )
    .select('granted.session_id')
    .where('granted.tenant_id', '=', granted.tenantId)
    .where('granted.provider_id', '=', granted.providerId)
    .where('granted.digest', '=', granted.digest)
    .where('granted.session_id', '>', granted.after)
    .where('session.revoked_at', 'is', null)
    .where('session.expires_at', '>', now.toISOString())
    .where(inScope(scope, 'session'))
    .orderBy('granted.session_id')
    .limit(BATCH_SIZE)
    .execute();
  return rows.map((row) => row.session_id);
}

async function revokeBlocked(
  db: Database,
  scope: TenantScope,
  ids: readonly string[],
  now: Date,
): Promise<SessionReference[]> {
  if (ids.length === 0) return [];
  const time = now.toISOString();
  const rows = await db
    .updateTable('gateway_sessions')
    .set({ revoked_at: time, revoked_reason: 'item_blocked', updated_at: time })
    .where('id', 'in', ids)
    .where('revoked_at', 'is', null)
    .where(inScope(scope))
    .returning(['id', 'tenant_id', 'sub_tenant_id', 'gateway_id', 'subject'])
    .execute();
  return rows.map((row) => ({ id: row.id, gatewayId: row.gateway_id, subject: row.subject, ...placeOf(row) }));
}
