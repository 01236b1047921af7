import { InventoryItemSchema } from '@quartermaster/contracts/inventory.ts';
import { type Provider, ProviderSchema } from '@quartermaster/contracts/providers.ts';
import { inBatches } from '@quartermaster/db/batches.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { nameKey } from '@quartermaster/naming/name-key.ts';
import {
  deleteInventoryItem,
  findInventoryItem,
  findInventoryItems,
  insertInventoryItem,
  type InventoryItemChange,
  updateInventoryItem,
} from '@quartermaster/db/repositories/inventory.ts';
import {
  findProviderSecret,
  swapProviderSecrets,
  undoProviderSecretSwap,
} from '@quartermaster/db/repositories/provider-secrets.ts';
import { markHeldItemsMissing, restoreMissingItems } from '@quartermaster/db/repositories/inventory-sync.ts';
import { setHealth, updateProvider } from '@quartermaster/db/repositories/providers.ts';
import { scopeOf } from '@quartermaster/db/tenancy.ts';
import { z } from 'zod';
import { type AuditedChange, changedFields } from '../../platform/audit/audited-write.ts';
import type { ChangedFields } from '../../platform/audit/kept-values.ts';
import { ApiError } from '../../platform/errors.ts';
import type { TenantLimits } from '../../platform/tenant-limits.ts';
import type { FormerStates } from '../observations/recompute.ts';
import {
  reevaluateAllowed,
  reevaluateItems,
  reevaluateProvider,
  reevaluateRemovedItem,
} from '../observations/reevaluate.ts';
import type { BlockCandidates } from '../observations/revoke-sessions.ts';
import { itemOf, reconcileCredential } from '../rules/reconcile.ts';
import { removableKinds } from '../rules/confirm-removals.ts';
import type { Change } from '../rules/rule.ts';
import { applyToManifest, undoInManifest } from './manifest-change.ts';

/** A change that was applied. */
export type AppliedChange = {
  /** The change. If it created an item, its target has the id of this item. */
  change: Change;
  /** Reevaluates what was changed. Returns the items for `revokeSessionsOfBlocked`. */
  reevaluate: (former?: FormerStates) => Promise<BlockCandidates>;
};

/** Items that are read and reevaluated at once. */
const REEVALUATED_BATCH_SIZE = 256;

const ItemChangeSchema = InventoryItemSchema.pick({
  status: true,
  title: true,
  description: true,
  attributes: true,
  schemaDigest: true,
  drift: true,
}).partial();
const NewItemSchema = InventoryItemSchema.pick({ kind: true, name: true, status: true, source: true });
const CredentialChangeSchema = z.object({ credentialId: z.string() });
const ProviderChangeSchema = ProviderSchema.pick({ status: true });
const RemovalSchema = ProviderSchema.pick({ health: true });

type ChangeOptions = {
  change: Change;
  tenantLimits: TenantLimits;
  /** Records the changes of manifests and gateways. All others are recorded by the caller. */
  record: (change: AuditedChange) => void;
  /** Who applies it, as an author of what it creates. */
  appliedBy: string;
  /** When the change that is undone was applied. Null: nothing is undone. */
  undoneSince?: string | null;
};

/**
 * Applies a change within a transaction. An undo applies the {@link inverse} change. The caller marks the recommendation,
 * then calls `reevaluate`.
 *
 * @throws 409 `tenant_limit_reached` if it creates an item beyond the tenant's limit. An undo creates none
 */
export async function applyChange(
  trx: Database,
  provider: Provider,
  { change, tenantLimits, record, appliedBy, undoneSince = null }: ChangeOptions,
  now: Date,
): Promise<AppliedChange> {
  switch (change.target.type) {
    case 'inventory_item':
      return changeItem(trx, provider, { change, tenantLimits }, now);
    case 'provider':
      return isRemoval(change)
        ? confirmRemoval(trx, provider, { change, undoneSince }, now)
        : changeProvider(trx, provider, change, now);
    case 'credential':
      return changeCredential(trx, provider, change, now);
    case 'manifest':
      return changeManifest(trx, provider, { change, tenantLimits, record, appliedBy, undoneSince }, now);
  }
}

/** The change that undoes a change. */
export function inverse({ target, before, after }: Change): Change {
  return { target, before: after, after: before };
}

/** The fields that a change sets, for its audit event. */
export function changedBy({ before, after }: Change): ChangedFields {
  const fields = changedFields(before && after ? before : {}, after ?? before ?? {});
  return { fields, before, after: after ?? {} };
}

async function changeItem(
  trx: Database,
  provider: Provider,
  { change, tenantLimits }: { change: Change; tenantLimits: TenantLimits },
  now: Date,
): Promise<AppliedChange> {
  const scope = scopeOf(provider);
  const { id } = change.target;
  if (id === null) {
    await tenantLimits.addRecord(trx, provider.tenantId, { resource: 'inventoryItems', content: change.after });
    const added = NewItemSchema.strip().parse(change.after);
    const item = await insertInventoryItem(
      trx,
      provider,
      {
        ...added,
        providerId: provider.id,
        nameKey: nameKey(added.kind, added.name, provider.name),
        title: null,
        description: null,
        schemaDigest: null,
        attributes: {},
      },
      now,
    );
    return {
      change: { ...change, target: { ...change.target, id: item.id } },
      reevaluate: (former) => reevaluateItems(trx, provider, [item], now, former),
    };
  }
  if (change.after === null) {
    await deleteInventoryItem(trx, scope, id);
    return {
      change,
      reevaluate: (former) => reevaluateRemovedItem(trx, provider, itemOf(change), now, former),
    };
  }
  const fields = ItemChangeSchema.strip().parse(change.after) as InventoryItemChange;
  const item = await updateInventoryItem(trx, scope, id, fields, now);
  if (!item) throw new Error(`the inventory item ${id} does not exist`);
  return { change, reevaluate: (former) => reevaluateItems(trx, provider, [item], now, former) };
}

async function changeProvider(trx: Database, provider: Provider, change: Change, now: Date): Promise<AppliedChange> {
  const { status } = ProviderChangeSchema.strip().parse(change.after);
  const changed = await updateProvider(trx, scopeOf(provider), provider.id, { status }, now);
  if (!changed) throw new Error(`the provider ${provider.id} does not exist`);
  return {
    change,
    reevaluate: async () => {
      await reevaluateProvider(trx, changed, now);
      return [];
    },
  };
}

/** Whether a change confirms that held items of a provider are gone. */
export function isRemoval({ after }: Change): boolean {
  return after?.['missingItems'] !== undefined;
}

/** Makes the held items of a provider missing, or undoes that. */
async function confirmRemoval(
  trx: Database,
  provider: Provider,
  { change, undoneSince }: { change: Change; undoneSince: string | null },
  now: Date,
): Promise<AppliedChange> {
  const { health } = RemovalSchema.strip().parse(change.after);
  const scope = scopeOf(provider);
  const { id: providerId, healthReason } = provider;
  const ids =
    undoneSince === null
      ? await markHeldItemsMissing(trx, scope, { providerId, kinds: removableKinds(provider) }, now)
      : await restoreMissingItems(trx, scope, { providerId, missingSince: undoneSince }, now);
  await setHealth(trx, scope, providerId, { health, healthReason }, now);
  return {
    change,
    reevaluate: async () => {
      const candidates: BlockCandidates[number][] = [];
      for await (const batch of inBatches(ids, REEVALUATED_BATCH_SIZE)) {
        const items = await findInventoryItems(trx, provider, providerId, batch);
        candidates.push(...(await reevaluateItems(trx, provider, items, now)));
      }
      return candidates;
    },
  };
}

/** Publishes a version of a manifest, or undoes that. */
async function changeManifest(
  trx: Database,
  provider: Provider,
  options: Required<ChangeOptions>,
  now: Date,
): Promise<AppliedChange> {
  const { change, undoneSince } = options;
  if (undoneSince !== null) await undoInManifest(trx, provider, { ...options, change: inverse(change) }, now);
  return {
    change: undoneSince === null ? await applyToManifest(trx, provider, options, now) : change,
    reevaluate: async (former) => {
      await reevaluateAllowed(trx, provider, itemOf(change), now, former);
      return [];
    },
  };
}

/** Makes the standby secret the current one, or undoes that. */
async function changeCredential(trx: Database, provider: Provider, change: Change, now: Date): Promise<AppliedChange> {
  const { credentialId: fromId } = CredentialChangeSchema.parse(change.before);
  const { credentialId: toId } = CredentialChangeSchema.parse(change.after);
  const standby = await findProviderSecret(trx, scopeOf(provider), provider.id, 'standby', now);
  const swapped =
    standby?.id === toId
      ? await swapProviderSecrets(trx, provider, provider.id, now)
      : await undoProviderSecretSwap(trx, provider, { currentId: fromId, formerId: toId }, now);
  if (!swapped) {
    const why = 'the former secret was erased (24 hours after it was replaced), or another secret was stored';
    throw new ApiError('recommendation_built_on', `The recommendation cannot be undone: ${why}.`);
  }
  return {
    change,
    reevaluate: async () => {
      await reconcileCredential(trx, provider, { refused: false }, now);
      return [];
    },
  };
}

/** The current record that a change is about, if it still exists. */
export async function findTarget(
  db: Database,
  provider: Provider,
  { target }: Change,
  now: Date,
): Promise<Record<string, unknown> | undefined> {
  if (target.type === 'provider') return provider;
  if (target.type === 'inventory_item' && target.id !== null) {
    return findInventoryItem(db, scopeOf(provider), provider.id, target.id);
  }
  if (target.type === 'credential') {
    const current = await findProviderSecret(db, scopeOf(provider), provider.id, 'current', now);
    return current && { credentialId: current.id };
  }
  return undefined;
}
