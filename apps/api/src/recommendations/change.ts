import { InventoryItemSchema } from '@quartermaster/contracts/inventory.ts';
import { type Provider, ProviderSchema } from '@quartermaster/contracts/providers.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { nameKey } from '@quartermaster/db/name-key.ts';
import {
  deleteInventoryItem,
  findInventoryItem,
  type InventoryItemChange,
  insertInventoryItem,
  updateInventoryItem,
} from '@quartermaster/db/repositories/inventory.ts';
import {
  findProviderSecret,
  swapProviderSecrets,
  unswapProviderSecrets,
} from '@quartermaster/db/repositories/provider-secrets.ts';
import { updateProvider } from '@quartermaster/db/repositories/providers.ts';
import { scopeOf } from '@quartermaster/db/tenancy.ts';
import { z } from 'zod';
import { changedFields } from '../audit-events/write.ts';
import { ApiError } from '../errors.ts';
import type { FormerStates } from '../runtime-observations/recompute.ts';
import { itemOf } from './reconcile.ts';
import type { TenantLimits } from '../tenants/limits.ts';
import type { Change } from './rules/rule.ts';
import { type Blocked, settleCredential, settleItem, settleProvider, settleRemovedItem } from './settle.ts';

/**
 * A change that was made: what it was, with the id of what it made; and what follows from it, still to be done. That
 * answers what is blocked by it.
 */
export type Made = { change: Change; settle: (former?: FormerStates) => Promise<Blocked> };

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

/**
 * Makes a change, in a transaction. The same function undoes it: see {@link backwards}. What follows from it is settled
 * by the caller, once the recommendation is marked.
 *
 * @throws 409 `tenant_limit_reached` where it makes an item beyond the tenant's limit; an undo makes none
 */
export async function makeChange(
  trx: Database,
  provider: Provider,
  { change, tenantLimits }: { change: Change; tenantLimits: TenantLimits },
  now: Date,
): Promise<Made> {
  switch (change.target.type) {
    case 'inventory_item':
      return changeItem(trx, provider, { change, tenantLimits }, now);
    case 'provider':
      return changeProvider(trx, provider, change, now);
    case 'credential':
      return changeCredential(trx, provider, change, now);
  }
}

/** The change that takes this one back. */
export function backwards({ target, before, after }: Change): Change {
  return { target, before: after, after: before };
}

/** The names of the fields that a change sets, for the audit. */
export function changedNames({ before, after }: Change): string[] {
  return changedFields(before && after ? before : {}, after ?? before ?? {});
}

async function changeItem(
  trx: Database,
  provider: Provider,
  { change, tenantLimits }: { change: Change; tenantLimits: TenantLimits },
  now: Date,
): Promise<Made> {
  const scope = scopeOf(provider);
  const { id } = change.target;
  if (id === null) {
    await tenantLimits.add(trx, provider.tenantId, 'inventoryItems');
    const made = NewItemSchema.strip().parse(change.after);
    const item = await insertInventoryItem(
      trx,
      provider,
      {
        ...made,
        providerId: provider.id,
        nameKey: nameKey(made.kind, made.name, provider.name),
        ...{ title: null, description: null, schemaDigest: null, attributes: {} },
      },
      now,
    );
    return {
      change: { ...change, target: { ...change.target, id: item.id } },
      settle: (former) => settleItem(trx, provider, item, now, former),
    };
  }
  if (change.after === null) {
    await deleteInventoryItem(trx, scope, id);
    return {
      change,
      settle: async (former) => {
        await settleRemovedItem(trx, provider, itemOf(change), now, former);
        return [];
      },
    };
  }
  const fields = ItemChangeSchema.strip().parse(change.after) as InventoryItemChange;
  const item = await updateInventoryItem(trx, scope, id, fields, now);
  if (!item) throw new Error(`the inventory item ${id} is gone`);
  return { change, settle: (former) => settleItem(trx, provider, item, now, former) };
}

async function changeProvider(trx: Database, provider: Provider, change: Change, now: Date): Promise<Made> {
  const { status } = ProviderChangeSchema.strip().parse(change.after);
  const changed = await updateProvider(trx, scopeOf(provider), provider.id, { status }, now);
  if (!changed) throw new Error(`the provider ${provider.id} is gone`);
  return {
    change,
    settle: async () => {
      await settleProvider(trx, changed, now);
      return [];
    },
  };
}

/** Swaps the secret on standby in, or backwards the former one. */
async function changeCredential(trx: Database, provider: Provider, change: Change, now: Date): Promise<Made> {
  const { credentialId: fromId } = CredentialChangeSchema.parse(change.before);
  const { credentialId: toId } = CredentialChangeSchema.parse(change.after);
  const standby = await findProviderSecret(trx, scopeOf(provider), provider.id, 'standby', now);
  const swapped =
    standby?.id === toId
      ? await swapProviderSecrets(trx, provider, provider.id, now)
      : await unswapProviderSecrets(trx, provider, { currentId: fromId, formerId: toId }, now);
  if (!swapped) {
    const why = 'the secret that was in use before is erased, a day after, or another one came since';
    throw new ApiError('recommendation_built_on', `It cannot be undone: ${why}.`);
  }
  return {
    change,
    settle: async () => {
      await settleCredential(trx, provider, { refused: false }, now);
      return [];
    },
  };
}

/** The current state of what a change is about, as far as it is still there. */
export async function targetOf(
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
