import type { InventoryItem } from '@quartermaster/contracts/inventory.ts';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { inBatches } from '@quartermaster/db/batches.ts';
import { canBlockOrAllow, findDecidingItem } from '@quartermaster/naming/deciding-item.ts';
import { coverageRuleOf } from '@quartermaster/naming/coverage.ts';
import { nameFamily } from '@quartermaster/naming/name-family.ts';
import { nameKey } from '@quartermaster/naming/name-key.ts';
import { findBlockedItems, findItemNamesOfFamilies, type ItemName } from '@quartermaster/db/repositories/inventory.ts';
import type { GrantedItem, GrantedItemKey } from '@quartermaster/db/repositories/granted-items.ts';
import { subTenantProvidersInSessions } from '@quartermaster/db/repositories/session-providers.ts';
import { revokeSessionsOfItems, type SessionReference } from '@quartermaster/db/repositories/sessions-of-items.ts';
import { wholeTenant } from '@quartermaster/db/tenancy.ts';
import type { AuditedChange } from '../../platform/audit/audited-write.ts';
import { findTenantCounterparts } from '../declarations/tenant-counterparts.ts';
import { findTenantBlocks } from '../declarations/tenant-blocks.ts';

/** Items that are compared with the blocks of their family before other requests have a turn. */
const COMPARED_AT_ONCE = 100;

/**
 * Changed items of one provider whose change may extend a block: items that were blocked, and items that were retired or
 * deleted and had lifted the block of a less specific item.
 */
export type BlockCandidates = readonly Pick<InventoryItem, 'kind' | 'name'>[];

type RecordChange = (change: AuditedChange) => void;

/**
 * Revokes the gateway sessions that grant an item that is blocked now: one of the candidates, or an item that a candidate
 * covers. This includes items at providers of sub-tenants that declare this provider again. Call it once for each request, at
 * the end of the transaction, because it reads all open sessions of the tenant.
 *
 * @returns the revoked sessions
 */
export async function revokeSessionsOfBlocked(
  trx: Database,
  record: RecordChange,
  { provider, candidates }: { provider: Provider; candidates: BlockCandidates },
  now: Date,
): Promise<SessionReference[]> {
  if (candidates.length === 0) return [];
  const items = await findBlocked(trx, provider, candidates);
  if (items.length === 0) return [];
  const revoked = await revoke(trx, record, { provider, items }, now);
  if (provider.subTenantId !== null) return revoked;
  const changed = candidates.map(({ kind, name }) => ({ kind, nameKey: nameKey(kind, name, provider.name) }));
  for await (const subTenantProviders of declaredAgain(trx, provider, now)) {
    revoked.push(...(await revokeSessionsOfTenantBlocks(trx, record, { subTenantProviders, changed }, now)));
  }
  return revoked;
}

/**
 * Like {@link revokeSessionsOfBlocked}, after a provider was renamed, moved, adopted or deleted, or got another kind. Its
 * blocks may cover other names than before. Providers of sub-tenants may now declare another provider of the whole tenant
 * again, not only this one.
 *
 * @returns the revoked sessions
 */
export async function revokeSessionsOfChangedProvider(
  trx: Database,
  record: RecordChange,
  provider: Provider,
  now: Date,
): Promise<SessionReference[]> {
  const items = await findBlocked(trx, provider, await findBlockedItems(trx, provider, provider.id));
  const revoked = await revoke(trx, record, { provider, items }, now);
  const pages = provider.subTenantId === null ? subTenantProvidersInSessions(trx, provider, now) : [[provider]];
  for await (const subTenantProviders of pages) {
    revoked.push(...(await revokeSessionsOfTenantBlocks(trx, record, { subTenantProviders, changed: null }, now)));
  }
  return revoked;
}

/**
 * Revokes the sessions that grant an item of a sub-tenant's provider, if the whole tenant blocks the item at the provider that
 * the sub-tenant declares again. Only items of the same families as `changed` are checked. If `changed` is null, items of the
 * families of all blocks are checked.
 */
async function revokeSessionsOfTenantBlocks(
  trx: Database,
  record: RecordChange,
  {
    subTenantProviders,
    changed,
  }: { subTenantProviders: readonly Provider[]; changed: readonly GrantedItemKey[] | null },
  now: Date,
): Promise<SessionReference[]> {
  const [first] = subTenantProviders;
  if (first === undefined) return [];
  const blocksOf = await findTenantBlocks(trx, first, subTenantProviders);
  const revoked: SessionReference[] = [];
  for (const provider of subTenantProviders) {
    const { blocked, isBlocked } = blocksOf(provider);
    // A session may also grant items that the provider no longer has.
    const named = (changed ?? blocked).map(({ kind, nameKey: key }) => {
      return { kind, name: key, nameKey: nameKey(kind, key, provider.name) };
    });
    const items = await filterInBatches([...named, ...(await findRelated(trx, provider, named))], isBlocked);
    revoked.push(...(await revoke(trx, record, { provider, items }, now)));
  }
  return revoked;
}

async function revoke(
  trx: Database,
  record: RecordChange,
  { provider, items }: { provider: Provider; items: readonly GrantedItem[] },
  now: Date,
): Promise<SessionReference[]> {
  if (items.length === 0) return [];
  const { id: providerId, name: providerName, tenantId } = provider;
  // The whole tenant, because gateways of the whole tenant may list providers of its sub-tenants.
  const scope = wholeTenant(tenantId);
  const revoked = await revokeSessionsOfItems(trx, scope, { providerId, providerName, items }, now);
  for (const session of revoked) {
    const target = { type: 'gateway_session', id: session.id };
    const after = { revokedAt: now.toISOString(), revokedReason: 'item_blocked' };
    record({ place: session, target, changed: { fields: Object.keys(after), before: {}, after } });
  }
  return revoked;
}

/**
 * The providers of sub-tenants that declare a provider of the whole tenant again, and that an open session may grant. In pages.
 */
async function* declaredAgain(
  db: Database,
  provider: Provider,
  now: Date,
): AsyncGenerator<readonly Provider[], void, undefined> {
  for await (const page of subTenantProvidersInSessions(db, provider, now)) {
    const counterpartsOf = await findTenantCounterparts(db, provider, page);
    yield page.filter((candidate) => counterpartsOf(candidate).some(({ id }) => id === provider.id));
  }
}

/** The candidates, and the inventory items of their families, that are blocked now. */
async function findBlocked(trx: Database, provider: Provider, candidates: BlockCandidates): Promise<Named[]> {
  const named = candidates.map(({ kind, name }) => ({ kind, name, nameKey: nameKey(kind, name, provider.name) }));
  const related = await findRelated(trx, provider, named);
  const familyOf = ({ kind, nameKey: key }: Named) => `${kind} ${nameFamily(kind, key)}`;
  const deciding = Map.groupBy(related.filter(canBlockOrAllow), familyOf);
  const rules = new Map(candidates.map(({ kind }) => [kind, coverageRuleOf(provider, kind)]));
  const isBlocked = (item: Named) => {
    const rule = rules.get(item.kind);
    return (
      rule !== undefined &&
      findDecidingItem(deciding.get(familyOf(item)) ?? [], rule, item.nameKey)?.status === 'blocked'
    );
  };
  return filterInBatches([...named, ...related], isBlocked);
}

async function filterInBatches(items: readonly Named[], isBlocked: (item: Named) => boolean): Promise<Named[]> {
  const blocked: Named[] = [];
  for await (const batch of inBatches(items, COMPARED_AT_ONCE)) blocked.push(...batch.filter(isBlocked));
  return blocked;
}

/** The inventory items of a provider that are of the families of some names. */
function findRelated(trx: Database, provider: Provider, names: readonly GrantedItemKey[]): Promise<ItemName[]> {
  const families = names.map(({ kind, nameKey: key }) => {
    return { providerId: provider.id, kind, nameFamily: nameFamily(kind, key) };
  });
  return findItemNamesOfFamilies(trx, provider, families);
}

type Named = Pick<ItemName, 'kind' | 'name' | 'nameKey'>;
