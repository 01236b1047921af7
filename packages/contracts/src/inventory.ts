import { z } from 'zod';
import {
  DescriptionSchema,
  DisplayNameSchema,
  HIDDEN_CHARACTER,
  LookupIdSchema,
  MetadataSchema,
  TimestampSchema,
  tenancyFields,
  timeFields,
} from './fields.ts';
import { operation } from './operation.ts';
import { pageFields } from './pages.ts';

export const InventoryKindSchema = z
  .enum(['model', 'tool', 'resource', 'prompt', 'agent', 'channel'])
  .meta({ id: 'InventoryKind' });
export type InventoryKind = z.infer<typeof InventoryKindSchema>;

export const InventoryStatusSchema = z
  .enum(['available', 'missing', 'retired', 'blocked'])
  .meta({ id: 'InventoryStatus' });

export const ItemNameSchema = z.string().min(1).max(256);

/**
 * Whether a name is what it looks like. Sessions grant by it: one that hides something passes for another before whoever
 * decides, and a gateway may take a lone `*` for everything.
 */
export function isPlainItemName(name: string): boolean {
  return name === name.trim() && name !== '*' && !HIDDEN_CHARACTER.test(name);
}

/** A name that somebody declares. */
export const ItemNameInputSchema = ItemNameSchema.refine(isPlainItemName, {
  error:
    'name should have no spaces around it, no control characters and no invisible ones, and should not be a lone *',
});

/** What an item is shown and called by. */
const definitionFields = {
  schemaDigest: z.string().nullable().describe("`sha256:` and the digest of the item's definition, where it has one."),
  title: DisplayNameSchema.nullable(),
  description: DescriptionSchema.nullable(),
  attributes: MetadataSchema,
};

export const DriftSchema = z
  .strictObject({ ...definitionFields, detectedAt: TimestampSchema })
  .meta({ id: 'Drift', description: 'What the provider changed an item to, and nobody accepted yet.' });
export type Drift = z.infer<typeof DriftSchema>;

export const InventoryItemSchema = z
  .strictObject({
    id: z.string(),
    providerId: z.string(),
    ...tenancyFields,
    kind: InventoryKindSchema,
    name: ItemNameSchema.describe(
      'Unique for its kind at the provider, as agents call it. Models are one in any case, and with or without the provider in front (`openai/gpt-5`).',
    ),
    title: definitionFields.title,
    description: definitionFields.description,
    status: InventoryStatusSchema.describe(
      'available: may be used. missing: gone from the last sync. retired: no longer declared. blocked: must not be used.',
    ),
    source: z.enum(['sync', 'manifest', 'recommendation', 'manual']),
    schemaDigest: definitionFields.schemaDigest,
    attributes: definitionFields.attributes,
    drift: DriftSchema.nullable().describe(
      'What the last sync found it changed to. Everything else here stays as it was accepted until somebody accepts the change.',
    ),
    firstSeenAt: TimestampSchema,
    lastSeenAt: TimestampSchema,
    ...timeFields,
  })
  .meta({
    id: 'InventoryItem',
    description: 'Something that a provider offers, and that agents are allowed to use or not.',
  });
export type InventoryItem = z.infer<typeof InventoryItemSchema>;

export const InventorySchema = z
  .strictObject({
    providerId: z.string(),
    syncedAt: TimestampSchema.nullable().describe('When the inventory was last synced; null: never.'),
    items: z.array(InventoryItemSchema),
    nextCursor: z.string().nullable().describe('Hand it in as `cursor` for the next page; null on the last.'),
  })
  .meta({ id: 'Inventory' });
export type Inventory = z.infer<typeof InventorySchema>;

export const CreateInventoryItemInputSchema = z
  .strictObject({
    kind: InventoryKindSchema,
    name: ItemNameInputSchema.describe(
      'As agents call it, without spaces around it, control characters and invisible ones, and not a lone `*`.',
    ),
    title: DisplayNameSchema.nullish(),
    description: DescriptionSchema.nullish(),
    status: z.enum(['available', 'retired', 'blocked']).default('available'),
    schemaDigest: z
      .string()
      .regex(/^sha256:[0-9a-f]{64}$/)
      .nullish(),
    attributes: MetadataSchema.nullish(),
  })
  .meta({ id: 'CreateInventoryItemInput' });
export type CreateInventoryItemInput = z.infer<typeof CreateInventoryItemInputSchema>;

export const UpdateInventoryItemInputSchema = z
  .strictObject({
    title: DisplayNameSchema.nullish(),
    description: DescriptionSchema.nullish(),
    status: z.enum(['available', 'retired', 'blocked']).optional(),
    attributes: MetadataSchema.nullish(),
  })
  .meta({ id: 'UpdateInventoryItemInput', description: 'Left out keeps, null clears, a value sets.' });
export type UpdateInventoryItemInput = z.infer<typeof UpdateInventoryItemInputSchema>;

const itemRecord = { untagged: ['firstSeenAt', 'lastSeenAt'] };

const tag = 'Providers';
const provider = { provider_id: LookupIdSchema.describe("The provider's id.") };
const item = { ...provider, item_id: LookupIdSchema.describe("The item's id.") };

export const getProviderInventory = operation({
  method: 'GET',
  path: '/v1/providers/{provider_id}/inventory',
  operationId: 'get_provider_inventory',
  ignoresUnknownQuery: true,
  scope: 'providers:read',
  tag,
  summary: 'Get the inventory of a provider',
  description:
    'Lists what the provider offers, one page at a time, as it was synced or declared. `syncedAt` says when the last sync was.',
  params: provider,
  query: {
    kind: InventoryKindSchema.nullish().describe('Only items of this kind.'),
    status: InventoryStatusSchema.nullish().describe('Only items with this status.'),
    ...pageFields,
  },
  output: InventorySchema,
  errors: ['provider_not_found'],
});

export const createInventoryItem = operation({
  method: 'POST',
  path: '/v1/providers/{provider_id}/inventory',
  operationId: 'create_inventory_item',
  scope: 'providers:write',
  tag,
  summary: 'Declare an inventory item',
  description:
    'Declares a model, tool or other item of the provider, without a sync. Use it where the provider cannot be synced. The provider may have one item of each kind and name (409).',
  params: provider,
  body: CreateInventoryItemInputSchema,
  record: itemRecord,
  output: InventoryItemSchema,
  errors: ['provider_not_found', 'name_taken'],
});

export const updateInventoryItem = operation({
  method: 'PUT',
  path: '/v1/providers/{provider_id}/inventory/{item_id}',
  operationId: 'update_inventory_item',
  scope: 'providers:write',
  tag,
  summary: 'Update an inventory item',
  description:
    'Changes the fields that the body names, and keeps the others. Blocking an item revokes the active sessions that grant it.',
  params: item,
  body: UpdateInventoryItemInputSchema,
  record: itemRecord,
  ifMatch: itemRecord,
  output: InventoryItemSchema,
  errors: ['provider_not_found', 'inventory_item_not_found'],
});

export const deleteInventoryItem = operation({
  method: 'DELETE',
  path: '/v1/providers/{provider_id}/inventory/{item_id}',
  operationId: 'delete_inventory_item',
  scope: 'providers:write',
  tag,
  summary: 'Delete an inventory item',
  description:
    'The declaration goes; what agents use without one is unknown from then on. To forbid an item, block it.',
  params: item,
  record: itemRecord,
  ifMatch: itemRecord,
  output: InventoryItemSchema,
  errors: ['provider_not_found', 'inventory_item_not_found'],
});
