import { listExpiredInvitations } from '@quartermaster/db/repositories/invitations.ts';
import { deleteMembership } from '@quartermaster/db/repositories/memberships.ts';
import { EVERYWHERE, scopeOf } from '@quartermaster/db/tenancy.ts';
import { auditedWriteAsSystem } from '../../platform/audit/audited-write.ts';
import { removeInBatches } from '../../platform/remove-in-batches.ts';
import type { Services } from '../../platform/services.ts';
import { endedFields } from './service.ts';

const BATCH_SIZE = 100;

/** Removes invitations that can no longer be accepted. Returns how many. */
export function removeExpiredInvitations(
  services: Pick<Services, 'db' | 'now' | 'secrets' | 'stopping'>,
): Promise<number> {
  return removeInBatches(services, BATCH_SIZE, (most) =>
    auditedWriteAsSystem(services, 'remove_expired_invitation', async (trx, record, now) => {
      const expired = await listExpiredInvitations(trx, EVERYWHERE, most, now);
      for (const membership of expired) {
        await deleteMembership(trx, scopeOf(membership), membership);
        const target = { type: 'membership', id: membership.userId };
        record({ place: membership, target, changed: endedFields(membership) });
      }
      return expired.length;
    }),
  );
}
