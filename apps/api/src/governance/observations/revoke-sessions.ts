import type { InventoryItem } from '@quartermaster/contracts/inventory.ts';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { inBatches } from '@quartermaster/db/batches.ts';
import { canBlockOrAllow, coverageRuleOf, findDecidingItem, nameFamily } from '@quartermaster/db/name-family.ts';
import { nameKey } from '@quartermaster/db/name-key.ts';
import { findItemNamesOfFamilies, type ItemName } from '@quartermaster/db/repositories/inventory.ts';
import { revokeSessionsOfItems, type SessionReference } from '@quartermaster/db/repositories/sessions-of-items.ts';
import type { Change } from '../../platform/audit/audited-write.ts';

/** Items that are compared with the blocks of their family before other requests have a turn. */
const COMPARED_AT_ONCE = 100;

/**
 * Items of one provider after whose change a block may hold for more than before: they were blocked, or they were retired or
 * deleted and had lifted the block of a less specific item.
 */
export type BlockCandidates = readonly Pick<InventoryItem, 'kind' | 'name'>[];

/**
 * Revokes the gateway sessions that grant an item that is blocked now: one of the candidates, or one that they cover. A request
 * calls this once, at the end of its transaction, because it reads all open sessions of the tenant.
 *
 * @returns the revoked sessions
 */
export async function revokeSessionsOfBlocked(
  trx: Database,
  record: (change: Change) => void,
  { provider, candidates }: { provider: Provider; candidates: BlockCandidates },
  now: Date,
): Promise<SessionReference[]> {
  if (candidates.length === 0) return [];
  const { id: providerId, name: providerName, tenantId } = provider;
  // The whole tenant, because gateways of the whole tenant may list providers of its sub-tenants.
  const scope = [{ tenantId, subTenantId: null }];
  const items = await findBlocked(trx, provider, candidates);
  if (items.length === 0) return [];
  const revoked = await revokeSessionsOfItems(trx, scope, { providerId, providerName, items }, now);
  for (const session of revoked) {
    const target = { type: 'gateway_session', id: session.id };
    record({ place: session, target, changed: ['revokedAt', 'revokedReason'] });
  }
  return revoked;
}

/** The candidates, and the inventory items of their families, that are blocked now. */
async function findBlocked(
  trx: Database,
  provider: Provider,
  candidates: BlockCandidates,
): Promise<Pick<InventoryItem, 'kind' | 'name'>[]> {
  const named = candidates.map(({ kind, name }) => ({ kind, name, nameKey: nameKey(kind, name, provider.name) }));
  const families = named.map(({ kind, nameKey: key }) => ({
    providerId: provider.id,
    kind,
    nameFamily: nameFamily(kind, key),
  }));
  const related = await findItemNamesOfFamilies(trx, provider, families);
  const familyOf = ({ kind, nameKey: key }: Keyed) => `${kind} ${nameFamily(kind, key)}`;
  const deciding = Map.groupBy(related.filter(canBlockOrAllow), familyOf);
  const rules = new Map(candidates.map(({ kind }) => [kind, coverageRuleOf(provider, kind)]));
  const isBlocked = (item: Keyed) => {
    const rule = rules.get(item.kind);
    return (
      rule !== undefined &&
      findDecidingItem(deciding.get(familyOf(item)) ?? [], rule, item.nameKey)?.status === 'blocked'
    );
  };
  const blocked: Keyed[] = [];
  for await (const batch of inBatches([...named, ...related], COMPARED_AT_ONCE)) {
    blocked.push(...batch.filter(isBlocked));
  }
  return blocked;
}

type Keyed = Pick<ItemName, 'kind' | 'name' | 'nameKey'>;
