import type { Database } from '@quartermaster/db/database.ts';
import { hasSubTenants } from '@quartermaster/db/repositories/tenants.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';

/** Whose limit or share leaves no more room. */
export type Filled = 'tenant' | 'account' | 'sub_tenant';

/** What is left of a limit of a tenant. */
type Left = {
  used: number;
  free: number;
  /** How many are to be added. */
  wanted: number;
  /** What the account and the sub-tenant have of what is used. Asked only where a share may be full. */
  countOwn: () => Promise<{ ofAccount: number; ofSubTenant: number }>;
};

/**
 * How many records an account may add in a place of its tenant, so that senders who choose names freely leave room for
 * others. An account may add as long as it has fewer than are free, and so may a sub-tenant, where the tenant has any. So
 * each one gets at most half of what others left, and a single account half of the limit. These are the dynamic
 * thresholds by which network switches share their buffers (Choudhury and Hahne, 1998).
 *
 * @returns also what sets that number
 */
export async function roomWithinShares(
  db: Database,
  place: TenantPlace,
  { used, free, wanted, countOwn }: Left,
): Promise<{ room: number; filled: Filled }> {
  if (free <= 0) return { room: 0, filled: 'tenant' };
  // Nobody has more than all of them together: usually there is no need to count.
  if (wanted <= roomInShare(free, used)) return { room: wanted, filled: 'tenant' };
  const { ofAccount, ofSubTenant } = await countOwn();
  const ofAccountLeft = roomInShare(free, ofAccount);
  const ofSubTenantLeft = (await hasSubTenants(db, place)) ? roomInShare(free, ofSubTenant) : free;
  const room = Math.min(ofAccountLeft, ofSubTenantLeft);
  if (room === free) return { room, filled: 'tenant' };
  return { room, filled: ofSubTenantLeft < ofAccountLeft ? 'sub_tenant' : 'account' };
}

function roomInShare(free: number, own: number): number {
  return Math.max(0, Math.ceil((free - own) / 2));
}
