import type { InventoryItem } from '@quartermaster/contracts/inventory.ts';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { inBatches } from '@quartermaster/db/batches.ts';
import { canBlockOrAllow, coverageRuleOf, findDecidingItem, nameFamily } from '@quartermaster/db/name-family.ts';
import { nameKey } from '@quartermaster/db/name-key.ts';
import { findInventoryItemsOfFamilies, type KeyedItem } from '@quartermaster/db/repositories/inventory.ts';
import { revokeSessionsOfItems, type SessionReference } from '@quartermaster/db/repositories/sessions-of-items.ts';
import type { Change } from '../../platform/audit/audited-write.ts';

/** Items that are compared with the blocks of their family before other requests have a turn. */
const COMPARED_AT_ONCE = 100;

/** Items of one provider that a request blocked. The sessions that grant one of them have to be revoked. */
export type BlockedItems = Pick<InventoryItem, 'kind' | 'name'>[];

/**
 * Revokes the gateway sessions that grant an item that is blocked now. A request calls this once, at the end of its
 * transaction, because it reads all open sessions of the tenant.
 *
 * @returns the revoked sessions
 */
export async function revokeSessionsOfBlocked(
  trx: Database,
  record: (change: Change) => void,
  { provider, blocked }: { provider: Provider; blocked: BlockedItems },
  now: Date,
): Promise<SessionReference[]> {
  if (blocked.length === 0) return [];
  const { id: providerId, name: providerName, tenantId } = provider;
  // The whole tenant, because gateways of the whole tenant may list providers of its sub-tenants.
  const scope = [{ tenantId, subTenantId: null }];
  const items = await withCoveredItems(trx, provider, blocked);
  const revoked = await revokeSessionsOfItems(trx, scope, { providerId, providerName, items }, now);
  for (const session of revoked) {
    const target = { type: 'gateway_session', id: session.id };
    record({ place: session, target, changed: ['revokedAt', 'revokedReason'] });
  }
  return revoked;
}

/** The blocked items, and the inventory items that a block of one of them covers. */
async function withCoveredItems(trx: Database, provider: Provider, blocked: BlockedItems): Promise<BlockedItems> {
  const families = blocked.map(({ kind, name }) => ({
    providerId: provider.id,
    kind,
    nameFamily: nameFamily(kind, nameKey(kind, name, provider.name)),
  }));
  const related = await findInventoryItemsOfFamilies(trx, provider, families);
  const familyOf = ({ kind, nameKey: key }: KeyedItem) => `${kind} ${nameFamily(kind, key)}`;
  const deciding = Map.groupBy(related.filter(canBlockOrAllow), familyOf);
  const rules = new Map(blocked.map(({ kind }) => [kind, coverageRuleOf(provider, kind)]));
  const isBlocked = (item: KeyedItem) => {
    const rule = rules.get(item.kind);
    return (
      rule !== undefined &&
      findDecidingItem(deciding.get(familyOf(item)) ?? [], rule, item.nameKey)?.status === 'blocked'
    );
  };
  const covered = [...blocked];
  for await (const batch of inBatches(related, COMPARED_AT_ONCE)) {
    covered.push(...batch.filter(isBlocked).map(({ kind, name }) => ({ kind, name })));
  }
  return covered;
}
