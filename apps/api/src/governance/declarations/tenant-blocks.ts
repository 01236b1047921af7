import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { coverageRules } from '@quartermaster/naming/coverage.ts';
import { findDecidingItem } from '@quartermaster/naming/deciding-item.ts';
import { nameFamily } from '@quartermaster/naming/name-family.ts';
import { nameKey } from '@quartermaster/naming/name-key.ts';
import type { GrantedItemKey } from '@quartermaster/db/repositories/granted-items.ts';
import { findBlocksAndExceptions, type ItemName } from '@quartermaster/db/repositories/inventory.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import { findTenantCounterparts, type SubTenantProvider } from './tenant-counterparts.ts';

type TenantBlocks = {
  isBlocked: (item: GrantedItemKey) => boolean;
  /** The blocked items. They may cover other names, and more exact items of the tenant may lift them. */
  blocked: readonly GrantedItemKey[];
};

const NO_BLOCKS: TenantBlocks = { isBlocked: () => false, blocked: [] };

/**
 * Finds what the whole tenant blocks of providers that a sub-tenant declares again. Otherwise a sub-tenant could lift a block
 * of the tenant by declaring the same provider itself. Without providers of a sub-tenant this runs no statement.
 *
 * @returns a look-up function
 */
export async function findTenantBlocks(
  db: Database,
  tenant: Pick<TenantPlace, 'tenantId'>,
  providers: readonly (SubTenantProvider & Pick<Provider, 'subTenantId'>)[],
): Promise<(provider: SubTenantProvider) => TenantBlocks> {
  const subTenantProviders = providers.filter(({ subTenantId }) => subTenantId !== null);
  if (subTenantProviders.length === 0) return () => NO_BLOCKS;
  const counterpartsOf = await findTenantCounterparts(db, tenant, subTenantProviders);
  const ids = new Set(subTenantProviders.flatMap(counterpartsOf).map(({ id }) => id));
  const decisive = ids.size === 0 ? [] : await findBlocksAndExceptions(db, tenant, [...ids]);
  if (decisive.length === 0) return () => NO_BLOCKS;
  const byFamily = Map.groupBy(decisive, familyText);
  const byProvider = Map.groupBy(decisive, ({ providerId }) => providerId);
  return (provider) => {
    // A model's name may begin with the name of the sub-tenant's provider. The block of the tenant has to recognise it
    // nevertheless.
    const prefixes = [provider.name, ...provider.aliases];
    const counterparts = counterpartsOf(provider).map((one) => ({ ...one, aliases: [...one.aliases, ...prefixes] }));
    const ruleOf = coverageRules();
    return {
      isBlocked: ({ kind, nameKey: ownKey }) =>
        counterparts.some((counterpart) => {
          const key = nameKey(kind, ownKey, counterpart.name);
          const items = byFamily.get(familyText({ providerId: counterpart.id, kind, nameKey: key })) ?? [];
          return findDecidingItem(items, ruleOf(counterpart, kind), key)?.status === 'blocked';
        }),
      blocked: counterparts.flatMap(({ id }) => byProvider.get(id) ?? []).filter(({ status }) => status === 'blocked'),
    };
  };
}

function familyText({ providerId, kind, nameKey: key }: Pick<ItemName, 'providerId' | 'kind' | 'nameKey'>): string {
  return `${providerId} ${kind} ${nameFamily(kind, key)}`;
}
