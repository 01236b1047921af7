import type { Membership } from '@quartermaster/contracts/memberships.ts';
import { holdsScopes, ROLE_SCOPES } from '@quartermaster/contracts/scopes.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { findActiveKey } from '@quartermaster/db/repositories/credentials.ts';
import { findInviter } from '@quartermaster/db/repositories/invitations.ts';
import { type Inviter, listAcceptedMemberships } from '@quartermaster/db/repositories/memberships.ts';
import { findAccount } from '@quartermaster/db/repositories/users.ts';
import { EVERYWHERE, scopeOf } from '@quartermaster/db/tenancy.ts';
import { type Principal, scopesAt } from '../../auth/principal.ts';
import { grantsOf } from '../../auth/users.ts';

type Rights = Pick<Principal, 'grants' | 'platformScopes'>;

const NO_RIGHTS: Rights = { grants: [], platformScopes: [] };

/** Whether the inviter still has the rights to offer this membership, with the same key or as the same user. */
export async function inviterMayInvite(trx: Database, membership: Membership, now: Date): Promise<boolean> {
  const inviter = await findInviter(trx, scopeOf(membership), membership);
  if (!inviter) return true;
  const held = scopesAt(await rightsOf(trx, inviter, now), membership);
  return holdsScopes(held, ['memberships:write', ...ROLE_SCOPES[membership.role]]);
}

async function rightsOf(trx: Database, { invitedBy, invitedByKey }: Inviter, now: Date): Promise<Rights> {
  if (invitedByKey !== null) {
    const key = await findActiveKey(trx, EVERYWHERE, invitedByKey, now);
    if (!key) return NO_RIGHTS;
    const { tenantId, subTenantId, scopes } = key;
    return { grants: [{ tenantId, subTenantId, scopes }], platformScopes: key.platformAdministrator ? scopes : [] };
  }
  const userId = invitedBy.replace(/^user:/, '');
  const user = await findAccount(trx, userId);
  if (user?.status !== 'active') return NO_RIGHTS;
  const memberships = await listAcceptedMemberships(trx, EVERYWHERE, userId);
  return {
    grants: grantsOf(memberships),
    platformScopes: user.platformAdministrator ? ['*'] : [],
  };
}
