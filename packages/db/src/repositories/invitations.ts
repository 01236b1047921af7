import type { Membership } from '@quartermaster/contracts/memberships.ts';
import type { Database } from '../database.ts';
import { inScope, placeColumns } from '../queries.ts';
import type { TenantPlace, TenantScope } from '../tenancy.ts';
import { type Inviter, toMembership } from './memberships.ts';

/** The inviter of a membership. Undefined for one that needed no invitation, such as that of a tenant's founder. */
export async function findInviter(
  db: Database,
  scope: TenantScope,
  membership: TenantPlace & Pick<Membership, 'userId'>,
): Promise<Inviter | undefined> {
  const { tenant_id, sub_tenant_id } = placeColumns(membership);
  const row = await db
    .selectFrom('memberships')
    .select(['invited_by', 'invited_by_key'])
    .where('tenant_id', '=', tenant_id)
    .where('sub_tenant_id', '=', sub_tenant_id)
    .where('user_id', '=', membership.userId)
    .where(inScope(scope))
    .executeTakeFirst();
  if (!row || row.invited_by === null) return undefined;
  return { invitedBy: row.invited_by, invitedByKey: row.invited_by_key };
}

/** Invitations that expired before `now`, at most `limit`. */
export async function listExpiredInvitations(
  db: Database,
  scope: TenantScope,
  limit: number,
  now: Date,
): Promise<Membership[]> {
  const rows = await db
    .selectFrom('memberships')
    .selectAll()
    .where('expires_at', '<=', now.toISOString())
    .where('accepted_at', 'is', null)
    .where(inScope(scope))
    .orderBy('expires_at')
    .limit(limit)
    .execute();
  return rows.map(toMembership);
}

/** Makes the pending invitations that a key created expire at `end`, unless they expire earlier. */
export async function shortenInvitationsOfKey(
  db: Database,
  scope: TenantScope,
  { keyId, end }: { keyId: string; end: string },
  now: Date,
): Promise<void> {
  await db
    .updateTable('memberships')
    .set({ expires_at: end, updated_at: now.toISOString() })
    .where('invited_by_key', '=', keyId)
    .where('accepted_at', 'is', null)
    .where('expires_at', '>', end)
    .where(inScope(scope))
    .execute();
}
