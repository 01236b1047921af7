import type { InventoryKind } from '@quartermaster/contracts/inventory.ts';
import type { Gateway } from '@quartermaster/contracts/gateways.ts';
import { BoundedMap } from '@quartermaster/db/bounded-map.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { together } from '@quartermaster/db/prepared-statement.ts';
import { type GrantedItem, itemPages, type KeyedGrantedItem } from '@quartermaster/db/repositories/granted-items.ts';
import { findBlocksAndExceptions, type ItemName } from '@quartermaster/db/repositories/inventory.ts';
import { findManifest } from '@quartermaster/db/repositories/manifests.ts';
import { findNamedProviders, type NamedProvider } from '@quartermaster/db/repositories/providers.ts';
import { mayNameProvider, type TenantScope, wholeTenant } from '@quartermaster/db/tenancy.ts';
import { caseFolded } from '@quartermaster/naming/case-folded.ts';
import { coverageRules } from '@quartermaster/naming/coverage.ts';
import { findDecidingItem } from '@quartermaster/naming/deciding-item.ts';
import { nameFamily } from '@quartermaster/naming/name-family.ts';
import { nameKey } from '@quartermaster/naming/name-key.ts';
import { manifestReferences } from '@quartermaster/naming/provider-names.ts';
import { allowanceOf } from '../../governance/declarations/allow-list.ts';
import { findTenantBlocks } from '../../governance/declarations/tenant-blocks.ts';

/** Whether a gateway allows something of a provider now, or why not. */
type Verdict = 'allowed' | 'not_in_inventory' | 'blocked' | 'manifest';

/** What a gateway allows of one of its active providers, before its inventory is read. */
export type ProviderPolicy = {
  provider: NamedProvider;
  /** The verdict on an item that is in the inventory, and neither blocked nor retired itself. */
  verdict: (item: KeyedGrantedItem) => Exclude<Verdict, 'not_in_inventory'>;
  /** The blocked items of the provider, and the others of their families that can lift a block. */
  decisive: readonly ItemName[];
};

/** The policies of those providers that are active, in the given order. */
export async function providerPolicies(
  db: Database,
  gateway: Gateway,
  providerIds: readonly string[],
): Promise<{ scope: TenantScope; policies: ProviderPolicy[]; inactive: NamedProvider[] }> {
  // The whole tenant: a gateway of a sub-tenant also lists providers of the tenant, which its callers do not reach.
  const scope = wholeTenant(gateway.tenantId);
  const { manifestId } = gateway;
  const [manifest, all, decisive] = await together(db, [
    () => (manifestId === null ? null : findManifest(db, scope, manifestId)),
    () => findNamedProviders(db, scope, providerIds),
    () => findBlocksAndExceptions(db, gateway, providerIds),
  ]);
  const providers = all.filter(({ status }) => status === 'active');
  const tenantBlocks = await findTenantBlocks(db, gateway, providers);
  const allowance = allowanceOf(gateway, manifest);
  const found = new Map(providers.map((provider) => [provider.id, provider]));
  const decisiveByProvider = Map.groupBy(decisive, ({ providerId }) => providerId);
  const policies = providerIds.flatMap((id): ProviderPolicy[] => {
    const provider = found.get(id);
    if (!provider) return [];
    const allows = allowance(provider);
    const ownDecisive = decisiveByProvider.get(id) ?? [];
    const isBlocked = blocksOf(provider, ownDecisive);
    const isBlockedByTenant = tenantBlocks(provider).isBlocked;
    const verdict = (item: KeyedGrantedItem) => {
      if (isBlocked(item) || isBlockedByTenant(item)) return 'blocked';
      return allows(item) ? 'allowed' : 'manifest';
    };
    return [{ provider, verdict, decisive: ownDecisive }];
  });
  return { scope, policies, inactive: all.filter(({ status }) => status !== 'active') };
}

/**
 * Returns whether an item is blocked by a blocked item of another spelling. See findDecidingItem.
 *
 * @param decisive the provider's blocked items, and the others of their families that can lift a block
 */
function blocksOf(provider: NamedProvider, decisive: readonly ItemName[]): (item: KeyedGrantedItem) => boolean {
  if (decisive.length === 0) return () => false;
  const byFamily = Map.groupBy(decisive, familyOf);
  const ruleOf = coverageRules();
  return (item) => {
    const ofFamily = byFamily.get(familyOf(item));
    if (ofFamily === undefined) return false;
    const items = [...ofFamily, { ...item, status: 'available' as const }];
    return findDecidingItem(items, ruleOf(provider, item.kind), item.nameKey)?.status === 'blocked';
  };
}

function familyOf({ kind, nameKey: key }: { kind: InventoryKind; nameKey: string }): string {
  return `${kind} ${nameFamily(kind, key)}`;
}

/** What a gateway allows of a provider now, with its whole inventory. Looking a name up takes no statement. */
export type CompiledProvider = {
  provider: NamedProvider;
  /** The items that are allowed. */
  allowed: readonly GrantedItem[];
  /** The declared items that are not. */
  refused: readonly GrantedItem[];
  /** The verdict on a name as an agent calls it, or `provider_disabled`. */
  verdict: (kind: InventoryKind, name: string) => Verdict | 'provider_disabled';
};

/** What a gateway allows now. */
export type CompiledPolicy = {
  gateway: Gateway;
  /** In the order of the gateway. */
  providers: readonly CompiledProvider[];
  /**
   * Finds a provider by its id, name or alias, as the manifests of the gateway's place name it. Undefined also if it is
   * ambiguous.
   */
  find: (reference: string) => CompiledProvider | undefined;
  /** How many items it holds. */
  size: number;
};

/** Reads everything that decides at a gateway. */
export async function compilePolicy(db: Database, gateway: Gateway): Promise<CompiledPolicy> {
  const { scope, policies, inactive } = await providerPolicies(db, gateway, gateway.providerIds);
  const byId = new Map<string, CompiledProvider>();
  let size = 0;
  for (const policy of policies) {
    const items: KeyedGrantedItem[] = [];
    for await (const page of itemPages(db, { scope, providerId: policy.provider.id })) items.push(...page);
    size += items.length + policy.decisive.length;
    byId.set(policy.provider.id, compileProvider(policy, items));
  }
  for (const provider of inactive) {
    byId.set(provider.id, { provider, allowed: [], refused: [], verdict: () => 'provider_disabled' });
  }
  const providers = gateway.providerIds.flatMap((id) => byId.get(id) ?? []);
  const called = Map.groupBy(
    providers.flatMap((one) => referencesTo(gateway, one).map((text) => ({ text, one }))),
    ({ text }) => text,
  );
  const find = (reference: string) => {
    const found = called.get(byId.has(reference) ? reference : caseFolded(reference)) ?? [];
    return found.length === 1 ? found[0]?.one : undefined;
  };
  return { gateway, providers, find, size };
}

function referencesTo(gateway: Gateway, { provider }: CompiledProvider): string[] {
  return manifestReferences(provider, { byName: mayNameProvider(gateway, provider) });
}

/** Verdicts on names that are not in the inventory, or on models, that a policy remembers for each provider. */
const MAX_REMEMBERED = 10_000;

/** Declared names of a family that another spelling is compared with. With ten thousand of them a decision would take 5 ms. */
const MAX_OF_FAMILY = 200;

/** Nothing with a longer name can be declared. A message may have a name of megabytes, which must not be remembered. */
const MAX_NAME_LENGTH = 512;

function compileProvider(policy: ProviderPolicy, items: readonly KeyedGrantedItem[]): CompiledProvider {
  const { provider, verdict, decisive } = policy;
  const exact = new Map(items.map((item) => [`${item.kind} ${item.name}`, verdict(item)]));
  const isAllowed = ({ kind, name }: GrantedItem) => exact.get(`${kind} ${name}`) === 'allowed';
  const declared = [...items, ...decisive.filter(({ status }) => status === 'blocked')];
  const models = Map.groupBy(
    items.filter(({ kind }) => kind === 'model'),
    familyOf,
  );
  const byFamily = Map.groupBy(decisive, familyOf);
  const ruleOf = coverageRules();
  const remembered = new BoundedMap<string, Verdict>(MAX_REMEMBERED);

  /** The verdict on a name that the inventory does not have in this spelling. Another spelling or version may cover a model. */
  const verdictOfOther = (kind: InventoryKind, name: string): Verdict => {
    const key = nameKey(kind, name, provider.name);
    const family = familyOf({ kind, nameKey: key });
    const blocked = (byFamily.get(family) ?? []).filter(({ status }) => status === 'blocked');
    const ofFamily = models.get(family) ?? [];
    if (ofFamily.length + blocked.length > MAX_OF_FAMILY) return 'not_in_inventory';
    const candidates = [...ofFamily.map((item) => ({ ...item, status: 'available' as const })), ...blocked];
    const deciding = findDecidingItem(candidates, ruleOf(provider, kind), key);
    if (deciding === undefined) return 'not_in_inventory';
    if (deciding.status === 'blocked') return 'blocked';
    return verdict({ kind, name, nameKey: key, source: deciding.source });
  };
  return {
    provider,
    allowed: items.filter(isAllowed).map(({ kind, name }) => ({ kind, name })),
    refused: declared.filter((item) => !isAllowed(item)).map(({ kind, name }) => ({ kind, name })),
    verdict(kind, name) {
      if (name.length > MAX_NAME_LENGTH) return 'not_in_inventory';
      const key = `${kind} ${name}`;
      const known = exact.get(key) ?? remembered.get(key);
      if (known !== undefined) return known;
      const found = verdictOfOther(kind, name);
      remembered.set(key, found);
      return found;
    },
  };
}
