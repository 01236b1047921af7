import { hash } from 'node:crypto';
import type { Grant } from '@quartermaster/contracts/gateway-sessions.ts';
import type { Gateway } from '@quartermaster/contracts/gateways.ts';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import { together } from '@quartermaster/db/prepared-statement.ts';
import type { Database } from '@quartermaster/db/database.ts';
import {
  type KeyedGrantedItem,
  itemPages,
  findGrantedItems,
  type GrantedItem,
  type GrantedItemKey,
} from '@quartermaster/db/repositories/granted-items.ts';
import { coverageRules } from '@quartermaster/naming/coverage.ts';
import { findDecidingItem } from '@quartermaster/naming/deciding-item.ts';
import { nameFamily } from '@quartermaster/naming/name-family.ts';
import { findBlocksAndExceptions, type ItemName } from '@quartermaster/db/repositories/inventory.ts';
import { findManifest } from '@quartermaster/db/repositories/manifests.ts';
import { findActiveProviders } from '@quartermaster/db/repositories/providers.ts';
import { type TenantScope, wholeTenant } from '@quartermaster/db/tenancy.ts';
import { findTenantBlocks } from '../../governance/declarations/tenant-blocks.ts';
import { valueError } from '../../platform/errors.ts';
import { allowanceOf } from './allow-list.ts';

/** Items that one session may grant. Beyond it the session is refused: a cut list would deny access at random. */
const GRANTED_ITEMS_MAX = 10_000;

/** Maximum bytes of JSON of a session's grants, because the response contains them. */
const GRANTS_MAX_BYTES = 1024 * 1024;

/**
 * What a gateway grants of these providers: the available items of the active providers that the manifest allows.
 *
 * @throws 422 for more than {@link GRANTED_ITEMS_MAX} items, or {@link GRANTS_MAX_BYTES}
 */
export async function grantsOf(db: Database, gateway: Gateway, providerIds: readonly string[]): Promise<Grant[]> {
  const { scope, policies } = await policiesOf(db, gateway, providerIds);
  const grants: Grant[] = [];
  let left = GRANTED_ITEMS_MAX;
  let bytes = 0;
  for (const { provider, allows } of policies) {
    const items = await itemsOf(db, scope, { provider, allows, limit: left + 1 });
    left -= items.length;
    if (left < 0) {
      const rule = `a session grants at most ${GRANTED_ITEMS_MAX} items. Choose fewer providers`;
      throw valueError(['body', 'providerIds'], rule, providerIds);
    }
    bytes += Buffer.byteLength(JSON.stringify(items));
    if (bytes > GRANTS_MAX_BYTES) {
      const rule = `a session grants at most ${GRANTS_MAX_BYTES} bytes of items. Choose fewer providers`;
      throw valueError(['body', 'providerIds'], rule, providerIds);
    }
    grants.push({ providerId: provider.id, providerName: provider.name, items });
  }
  return grants;
}

/**
 * `sha256:` and the SHA-256, in hex, of the RFC 8785 form of grants. It is written here by hand, with the members in the order
 * of their names, because with thousands of items a general canonicalizer takes longer than everything else together.
 */
export function digestOfGrants(grants: readonly Grant[]): string {
  const text = grants.map(({ items, providerId, providerName }) => {
    const sorted = items.map(({ kind, name }) => ({ kind, name }));
    return JSON.stringify({ items: sorted, providerId, providerName });
  });
  return `sha256:${hash('sha256', `[${text.join(',')}]`)}`;
}

/** The part of a session's grants that its gateway, the inventories and the manifest still allow. It never adds items. */
export async function stillGranted(db: Database, gateway: Gateway, grants: readonly Grant[]): Promise<Grant[]> {
  const granted = new Map(grants.map((grant) => [grant.providerId, grant]));
  const listed = gateway.providerIds.filter((id) => granted.has(id));
  const { scope, policies } = await policiesOf(db, gateway, listed);
  const left: Grant[] = [];
  for (const { provider, allows } of policies) {
    const grant = granted.get(provider.id);
    if (grant === undefined) continue;
    const found = await findGrantedItems(db, scope, provider.id, grant.items);
    const current = new Set(found.filter(allows).map(identityOf));
    left.push({ ...grant, items: grant.items.filter((item) => current.has(identityOf(item))) });
  }
  return left;
}

type Policy = { provider: Pick<Provider, 'id' | 'name'>; allows: (item: KeyedGrantedItem) => boolean };

/** The active ones of these providers, in the given order, with what the blocks and the gateway's manifest allow. */
async function policiesOf(
  db: Database,
  gateway: Gateway,
  providerIds: readonly string[],
): Promise<{ scope: TenantScope; policies: Policy[] }> {
  // The whole tenant: a gateway of a sub-tenant also lists providers of the tenant, which its callers do not reach.
  const scope = wholeTenant(gateway.tenantId);
  const { manifestId } = gateway;
  const [manifest, providers, decisive] = await together(db, [
    () => (manifestId === null ? null : findManifest(db, scope, manifestId)),
    () => findActiveProviders(db, scope, providerIds),
    () => findBlocksAndExceptions(db, gateway, providerIds),
  ]);
  const tenantBlocks = await findTenantBlocks(db, gateway, providers);
  const allowance = allowanceOf(gateway, manifest);
  const found = new Map(providers.map((provider) => [provider.id, provider]));
  const decisiveByProvider = Map.groupBy(decisive, ({ providerId }) => providerId);
  const policies = providerIds.flatMap((id) => {
    const provider = found.get(id);
    if (!provider) return [];
    const allows = allowance(provider);
    const [isBlocked, isBlockedByTenant] = [
      blocksOf(provider, decisiveByProvider.get(id) ?? []),
      tenantBlocks(provider).isBlocked,
    ];
    return [
      { provider, allows: (item: KeyedGrantedItem) => !isBlocked(item) && !isBlockedByTenant(item) && allows(item) },
    ];
  });
  return { scope, policies };
}

/**
 * Returns whether an item is blocked by a blocked item of another spelling. See findDecidingItem.
 *
 * @param decisive the provider's blocked items, and the others of their families that can lift a block
 */
function blocksOf(
  provider: Pick<Provider, 'id' | 'name' | 'aliases' | 'baseUrl'>,
  decisive: readonly ItemName[],
): (item: KeyedGrantedItem) => boolean {
  if (decisive.length === 0) return () => false;
  const familyOf = ({ kind, nameKey: key }: GrantedItemKey) => `${kind} ${nameFamily(kind, key)}`;
  const byFamily = Map.groupBy(decisive, familyOf);
  const ruleOf = coverageRules();
  return (item) => {
    const ofFamily = byFamily.get(familyOf(item));
    if (ofFamily === undefined) return false;
    const items = [...ofFamily, { ...item, status: 'available' as const }];
    return findDecidingItem(items, ruleOf(provider, item.kind), item.nameKey)?.status === 'blocked';
  };
}

async function itemsOf(
  db: Database,
  scope: TenantScope,
  { provider, allows, limit }: Policy & { limit: number },
): Promise<GrantedItem[]> {
  const items: GrantedItem[] = [];
  for await (const page of itemPages(db, { scope, providerId: provider.id })) {
    items.push(...page.filter(allows).map(({ kind, name }) => ({ kind, name })));
    if (items.length >= limit) break;
  }
  return items;
}

function identityOf({ kind, name }: GrantedItem): string {
  return `${kind}:${name}`;
}
