import type {
  CreateInventoryItemInput,
  InventoryItem,
  UpdateInventoryItemInput,
} from '@quartermaster/contracts/inventory.ts';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { nameKey } from '@quartermaster/naming/name-key.ts';
import {
  deleteInventoryItem,
  findInventoryItem,
  type InventoryItemChange,
  insertInventoryItem,
  updateInventoryItem,
} from '@quartermaster/db/repositories/inventory.ts';
import { scopeOf } from '@quartermaster/db/tenancy.ts';
import { auditedWrite, changedFields, deletedFields } from '../../platform/audit/audited-write.ts';
import { requireProvider } from '../providers/service.ts';
import { ApiError, duplicateKeyAs } from '../../platform/errors.ts';
import { reevaluateItems, reevaluateRemovedItem } from '../../governance/observations/reevaluate.ts';
import { revokeSessionsOfBlocked } from '../../governance/observations/revoke-sessions.ts';
import type { CallerContext } from '../../auth/context.ts';

type Path = { provider_id: string; item_id: string };

export async function createItem(
  ctx: CallerContext,
  providerId: string,
  body: CreateInventoryItemInput,
): Promise<InventoryItem> {
  return auditedWrite(ctx, async (trx, record, now) => {
    const provider = await requireProvider(ctx, trx, providerId);
    await ctx.services.tenantLimits.addRemovable(trx, provider.tenantId, { resource: 'inventoryItems', content: body });
    const { kind, name, status, title = null, description = null, schemaDigest = null } = body;
    const values = {
      providerId,
      kind,
      name,
      nameKey: nameKey(kind, name, provider.name),
      status,
      title,
      description,
      schemaDigest,
      source: 'manual',
    } as const;
    const item = await insertInventoryItem(trx, provider, { ...values, attributes: body.attributes ?? {} }, now).catch(
      duplicateKeyAs('name_taken', `The provider already has a ${kind} named ${JSON.stringify(name)}.`),
    );
    const candidates = await reevaluateItems(trx, provider, [item], now);
    record({
      place: provider,
      target: { type: 'inventory_item', id: item.id },
      changed: { fields: Object.keys(body), before: null, after: item },
    });
    await revokeSessionsOfBlocked(trx, record, { provider, candidates }, now);
    return item;
  });
}

export async function changeItem(
  ctx: CallerContext,
  path: Path,
  body: UpdateInventoryItemInput,
): Promise<InventoryItem> {
  return auditedWrite(ctx, async (trx, record, now) => {
    const { provider, item } = await requireItem(ctx, trx, path);
    const { title, description, status, attributes } = body;
    const change: InventoryItemChange = {
      ...(title !== undefined && { title }),
      ...(description !== undefined && { description }),
      ...(status !== undefined && { status }),
      ...(attributes !== undefined && { attributes: attributes ?? {} }),
    };
    const changed = changedFields(item, change);
    if (changed.length === 0) return item;
    await ctx.services.tenantLimits.changeRecord(trx, provider.tenantId, { before: item, change, changed });
    const updated = await updateInventoryItem(trx, scopeOf(provider), item.id, change, now);
    if (!updated) throw itemNotFound();
    record({
      place: provider,
      target: { type: 'inventory_item', id: item.id },
      changed: { fields: changed, before: item, after: updated },
    });
    const candidates = await reevaluateItems(trx, provider, [updated], now);
    await revokeSessionsOfBlocked(trx, record, { provider, candidates }, now);
    return updated;
  });
}

export async function removeItem(ctx: CallerContext, path: Path): Promise<InventoryItem> {
  return auditedWrite(ctx, async (trx, record, now) => {
    const { provider, item } = await requireItem(ctx, trx, path);
    await deleteInventoryItem(trx, scopeOf(provider), item.id);
    const candidates = await reevaluateRemovedItem(trx, provider, item, now);
    const changed = deletedFields(item, ['kind', 'name', 'status', 'schemaDigest']);
    record({ place: provider, target: { type: 'inventory_item', id: item.id }, changed });
    await revokeSessionsOfBlocked(trx, record, { provider, candidates }, now);
    return item;
  });
}

/** The item that a path names, and its provider. @throws 404 */
export async function requireItem(
  ctx: CallerContext,
  db: Database,
  path: Path,
): Promise<{ provider: Provider; item: InventoryItem }> {
  const provider = await requireProvider(ctx, db, path.provider_id);
  const item = await findInventoryItem(db, scopeOf(provider), provider.id, path.item_id);
  if (!item) throw itemNotFound();
  return { provider, item };
}

function itemNotFound(): ApiError {
  return new ApiError('inventory_item_not_found', 'The provider has no inventory item with this id.');
}
