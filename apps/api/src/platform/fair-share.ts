import type { Database } from '@quartermaster/db/database.ts';
import { hasSubTenants } from '@quartermaster/db/repositories/tenants.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';

/** Whose limit or share is full. */
export const FILLED = ['tenant', 'account', 'sub_tenant'] as const;

export type Filled = (typeof FILLED)[number];

/** How much of a tenant's limit is used and free. */
type Left = {
  used: number;
  free: number;
  /** How many records to add. */
  wanted: number;
  /** How many of the used ones belong to the account and to the sub-tenant. Called only if a share may be full. */
  countOwn: () => Promise<{ ofAccount: number; ofSubTenant: number }>;
};

/**
 * How many records an account may add at a place of its tenant, so that senders who choose names freely leave room for others.
 * An account may add records while it has fewer records than are still free. The same rule applies to a sub-tenant, if the
 * tenant has sub-tenants. So each account gets at most half of what the others left, and a single account gets half of the
 * limit. Network switches share their buffers by the same dynamic thresholds (Choudhury and Hahne, 1998).
 *
 * @returns `filled`: whose limit or share determined `room`
 */
export async function roomWithinShares(
  db: Database,
  place: TenantPlace,
  { used, free, wanted, countOwn }: Left,
): Promise<{ room: number; filled: Filled }> {
  if (free <= 0) return { room: 0, filled: 'tenant' };
  // An account holds at most as many records as the whole tenant, so usually its records need not be counted.
  if (wanted <= roomInShare(free, used)) return { room: wanted, filled: 'tenant' };
  const { ofAccount, ofSubTenant } = await countOwn();
  const ofAccountLeft = roomInShare(free, ofAccount);
  const ofSubTenantLeft = (await hasSubTenants(db, place)) ? roomInShare(free, ofSubTenant) : free;
  const room = Math.min(ofAccountLeft, ofSubTenantLeft);
  if (room === free) return { room, filled: 'tenant' };
  return { room, filled: ofSubTenantLeft < ofAccountLeft ? 'sub_tenant' : 'account' };
}

/** How many records or bytes an account or sub-tenant that holds `held` may add while `free` are free. */
export function roomInShare(free: number, held: number): number {
  return Math.max(0, Math.ceil((free - held) / 2));
}
