import type { Database } from '@quartermaster/db/database.ts';
import { findLastOperatorTask, openOperatorTask } from '@quartermaster/db/repositories/operator-tasks.ts';
import { findServiceAccounts } from '@quartermaster/db/repositories/service-accounts.ts';
import { scopeOf, type TenantPlace, wholeTenant } from '@quartermaster/db/tenancy.ts';
import type { Filled } from '../../platform/fair-share.ts';
import { REOPEN_AFTER_MS } from './observation-tasks.ts';

/** A limit that is reached, and whether the tenant, the account or the sub-tenant reached it. */
export type FullLimit = { of: 'observations' | 'providers' | 'denied names'; limit: number; filled: Filled };

/** Opens the operator task about a limit that is reached, unless one was finished less than a day ago. */
export async function openCardinalityTask(
  db: Database,
  { tenantId, subTenantId }: TenantPlace,
  { sender, full }: { sender: string; full: FullLimit },
  now: Date,
): Promise<void> {
  const place = { tenantId, subTenantId: null };
  const last = await findLastOperatorTask(db, scopeOf(place), cardinalityTask(tenantId), now);
  if (last?.completedAt != null && now.getTime() - Date.parse(last.completedAt) < REOPEN_AFTER_MS) return;
  const title = titleOf(full, { sender: await nameOfSender(db, sender, now), subTenantId });
  await openOperatorTask(db, place, { ...cardinalityTask(tenantId), title, priority: 'high' }, now);
}

/** What people call the sender. Not all who see the task may read the names of users. */
export async function nameOfSender(db: Database, sender: string, now: Date): Promise<string> {
  const [, tenantId = '', id] = /^service_account:([^/]*)\/(.+)$/.exec(sender) ?? [];
  if (id === undefined) return 'A user';
  const [account] = await findServiceAccounts(db, wholeTenant(tenantId), id, now);
  return `The service account ${account?.displayName ?? account?.name ?? id}`;
}

function titleOf(
  { of, limit, filled }: FullLimit,
  { sender, subTenantId }: { sender: string; subTenantId: string | null },
): string {
  if (filled === 'tenant') return `The tenant reached its limit of ${limit} ${of}: new ones are not observed`;
  if (of === 'denied names')
    return `${sender} was denied ${limit} names that are not reviewed yet: further ones are not observed`;
  const holder =
    filled === 'account'
      ? sender
      : subTenantId === null
        ? 'The part of the tenant outside its sub-tenants'
        : `The sub-tenant ${subTenantId}`;
  return `${holder} reached its share of the tenant's limit of ${limit} ${of}: its new ones are not observed`;
}

function cardinalityTask(tenantId: string) {
  return { kind: 'review_cardinality', subject: { type: 'tenant', id: tenantId } } as const;
}
