import { createHash } from 'node:crypto';
import { setImmediate as breathe } from 'node:timers/promises';
import type { Grant } from '@quartermaster/contracts/gateway-sessions.ts';
import type { Gateway } from '@quartermaster/contracts/gateways.ts';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { Database } from '@quartermaster/db/database.ts';
import {
  type AvailableItem,
  findGrantedItems,
  type GrantedItem,
  type GrantedItemKey,
  listGrantedItems,
} from '@quartermaster/db/repositories/granted-items.ts';
import { coveringAt, decidingItem, nameFamily } from '@quartermaster/db/name-family.ts';
import { findBlockedItems, type KeyedItem } from '@quartermaster/db/repositories/inventory.ts';
import { findManifest } from '@quartermaster/db/repositories/manifests.ts';
import { findActiveProviders } from '@quartermaster/db/repositories/providers.ts';
import type { TenantScope } from '@quartermaster/db/tenancy.ts';
import { valueError } from '../errors.ts';
import { allowanceOf } from './allow-list.ts';

/** Items that one session may grant. Beyond it the session is refused: grants that were cut would deny at random. */
const GRANTED_ITEMS_MAX = 10_000;

/** Bytes of JSON that the grants of one session have at the most: they are in its answer. */
const GRANTS_MAX_BYTES = 1024 * 1024;

/** Items read at once, then the event loop gets a turn: the database answers without giving it one. */
const ITEMS_OF_PAGE = 2000;

/**
 * What a gateway grants of these providers: what the inventories of the active ones allow, and the manifest of that.
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
      const rule = `a session grants at most ${GRANTED_ITEMS_MAX} items: choose fewer providers`;
      throw valueError(['body', 'providerIds'], rule, providerIds);
    }
    bytes += Buffer.byteLength(JSON.stringify(items));
    if (bytes > GRANTS_MAX_BYTES) {
      const rule = `a session grants at most ${GRANTS_MAX_BYTES} bytes of items: choose fewer providers`;
      throw valueError(['body', 'providerIds'], rule, providerIds);
    }
    grants.push({ providerId: provider.id, providerName: provider.name, items });
  }
  return grants;
}

/**
 * `sha256:` and the SHA-256, in hex, of the RFC 8785 form of grants. Written out here, since a general canonicalizer takes
 * longer than all the rest of a session with thousands of items: members are in the order of their names.
 */
export function digestOfGrants(grants: readonly Grant[]): string {
  const text = grants.map(({ items, providerId, providerName }) => {
    const sorted = items.map(({ kind, name }) => ({ kind, name }));
    return JSON.stringify({ items: sorted, providerId, providerName });
  });
  return `sha256:${createHash('sha256')
    .update(`[${text.join(',')}]`)
    .digest('hex')}`;
}

/**
 * What of a session's grants its gateway, the inventories and the manifest allow still: never more than it was granted.
 */
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

type Policy = { provider: Pick<Provider, 'id' | 'name'>; allows: (item: AvailableItem) => boolean };

/** The active ones of these providers, in this order, and what their blocks and the gateway's manifest allow of them. */
async function policiesOf(
  db: Database,
  gateway: Gateway,
  providerIds: readonly string[],
): Promise<{ scope: TenantScope; policies: Policy[] }> {
  // The whole tenant: a sub-tenant's gateway lists providers of the tenant, too, which its callers do not reach.
  const scope = [{ tenantId: gateway.tenantId, subTenantId: null }];
  const { manifestId } = gateway;
  const allowance = allowanceOf(gateway, manifestId === null ? null : await findManifest(db, scope, manifestId));
  const found = new Map((await findActiveProviders(db, scope, providerIds)).map((provider) => [provider.id, provider]));
  const blocked = Map.groupBy(await findBlockedItems(db, gateway, [...found.keys()]), ({ providerId }) => providerId);
  const policies = providerIds.flatMap((id) => {
    const provider = found.get(id);
    if (!provider) return [];
    const [allows, isBlocked] = [allowance(provider), blocksOf(provider, blocked.get(id) ?? [])];
    return [{ provider, allows: (item: AvailableItem) => !isBlocked(item) && allows(item) }];
  });
  return { scope, policies };
}

/** Whether a block of another spelling holds for an available item: see decidingItem. */
function blocksOf(
  provider: Pick<Provider, 'name' | 'aliases' | 'baseUrl'>,
  blocked: readonly KeyedItem[],
): (item: AvailableItem) => boolean {
  if (blocked.length === 0) return () => false;
  const familyOf = ({ kind, nameKey: key }: GrantedItemKey) => `${kind} ${nameFamily(kind, key)}`;
  const byFamily = Map.groupBy(blocked, familyOf);
  return (item) => {
    const blocks = byFamily.get(familyOf(item));
    if (blocks === undefined) return false;
    const items = [...blocks, { ...item, status: 'available' as const }];
    return decidingItem(items, coveringAt(provider, item.kind), item.nameKey)?.status === 'blocked';
  };
}

async function itemsOf(
  db: Database,
  scope: TenantScope,
  { provider, allows, limit }: Policy & { limit: number },
): Promise<GrantedItem[]> {
  const items: GrantedItem[] = [];
  for (let after: GrantedItemKey | null = null; items.length < limit; ) {
    const page = await listGrantedItems(db, scope, provider.id, after, ITEMS_OF_PAGE);
    items.push(...page.filter(allows).map(({ kind, name }) => ({ kind, name })));
    after = page.at(-1) ?? null;
    if (after === null || page.length < ITEMS_OF_PAGE) break;
    await breathe();
  }
  return items;
}

function identityOf({ kind, name }: GrantedItem): string {
  return `${kind}:${name}`;
}
