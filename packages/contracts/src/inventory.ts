import { z } from 'zod';
import {
  AttributesInputSchema,
  DescriptionInputSchema,
  DescriptionSchema,
  DisplayNameInputSchema,
  DisplayNameSchema,
  HIDDEN_CHARACTER,
  LookupIdSchema,
  MetadataSchema,
  TimestampSchema,
  tenancyFields,
  tenancyQueryFields,
  timeFields,
} from './fields.ts';
import { operation } from './operation.ts';
import { page, pageFields } from './pages.ts';

export const InventoryKindSchema = z
  .enum(['model', 'tool', 'resource', 'prompt', 'agent', 'channel'])
  .meta({ id: 'InventoryKind', description: 'The kind of an item.' });
export type InventoryKind = z.infer<typeof InventoryKindSchema>;

export const InventoryStatusSchema = z.enum(['available', 'missing', 'pending', 'retired', 'blocked']).meta({
  id: 'InventoryStatus',
  description:
    '`available`: may be used. `missing`: the last sync did not find it. `pending`: a sync found it, and it waits for a decision; no session grants it. `retired`: no longer declared. `blocked`: must not be used.',
});

export const ItemNameSchema = z.string().min(1).max(256);

/**
 * Whether a name looks like what it is. Sessions grant items by name: with invisible characters, one name could pass for
 * another when a person decides about it, and a gateway may read a lone `*` as "everything".
 */
export function isPlainItemName(name: string): boolean {
  return name === name.trim() && name !== '*' && !HIDDEN_CHARACTER.test(name);
}

/** The name of an item that a caller declares. */
export const ItemNameInputSchema = ItemNameSchema.refine(isPlainItemName, {
  error:
    'name should not begin or end with a space, should have no control characters or invisible characters, and should not be a lone *',
});

/** The definition of an item: what people and models are shown, and what it is called with. */
const definitionFields = {
  schemaDigest: z
    .string()
    .nullable()
    .describe("`sha256:` and the SHA-256, in hex, of the item's definition. Null if it has none."),
  title: DisplayNameSchema.nullable(),
  description: DescriptionSchema.nullable(),
  attributes: MetadataSchema,
};

export const DriftSchema = z.strictObject({ ...definitionFields, detectedAt: TimestampSchema }).meta({
  id: 'Drift',
  description: 'The new definition of an item that the provider changed, until a person accepts the change.',
});
export type Drift = z.infer<typeof DriftSchema>;

export const InventoryItemSchema = z
  .strictObject({
    id: z.string(),
    providerId: z.string(),
    ...tenancyFields,
    kind: InventoryKindSchema,
    name: ItemNameSchema.describe(
      'The name that agents use. It is unique for its kind at the provider. Model names are compared case-insensitively, with or without the provider as prefix (`openai/gpt-5`).',
    ),
    title: definitionFields.title,
    description: definitionFields.description,
    status: InventoryStatusSchema,
    source: z.enum(['sync', 'manifest', 'recommendation', 'manual']).describe('What declared the item.'),
    schemaDigest: definitionFields.schemaDigest,
    attributes: definitionFields.attributes,
    drift: DriftSchema.nullable().describe(
      'The new definition that the last sync found. The other fields keep the accepted definition until a person accepts the change. Null: there is no change.',
    ),
    renamedFrom: ItemNameSchema.nullable().describe(
      'The former name, if a sync found the item with the definition of an item that the provider no longer lists. Null: it is not known to be renamed.',
    ),
    firstSeenAt: TimestampSchema,
    lastSeenAt: TimestampSchema,
    ...timeFields,
  })
  .meta({
    id: 'InventoryItem',
    description: 'A model, tool, agent, prompt, resource or channel that a provider offers, as declared.',
  });
export type InventoryItem = z.infer<typeof InventoryItemSchema>;

export const InventorySchema = z
  .strictObject({
    providerId: z.string(),
    syncedAt: TimestampSchema.nullable().describe('When the inventory was last synced. Null: never.'),
    items: z.array(InventoryItemSchema),
    nextCursor: z.string().nullable().describe('Send it as `cursor` to get the next page. Null on the last page.'),
  })
  .meta({ id: 'Inventory', description: 'One page of the inventory of a provider.' });
export type Inventory = z.infer<typeof InventorySchema>;

export const CreateInventoryItemInputSchema = z
  .strictObject({
    kind: InventoryKindSchema,
    name: ItemNameInputSchema.describe(
      'The name that agents use. It has no space at its beginning or end, no control characters and no invisible characters, and is not a lone `*`.',
    ),
    title: DisplayNameInputSchema.nullish(),
    description: DescriptionInputSchema.nullish(),
    status: z.enum(['available', 'retired', 'blocked']).default('available'),
    schemaDigest: z
      .string()
      .regex(/^sha256:[0-9a-f]{64}$/)
      .nullish(),
    attributes: AttributesInputSchema.nullish(),
  })
  .meta({
    id: 'CreateInventoryItemInput',
    examples: [{ kind: 'model', name: 'gpt-5', status: 'blocked', description: 'Use gpt-5-mini.' }],
  });
export type CreateInventoryItemInput = z.infer<typeof CreateInventoryItemInputSchema>;

export const UpdateInventoryItemInputSchema = z
  .strictObject({
    title: DisplayNameInputSchema.nullish(),
    description: DescriptionInputSchema.nullish(),
    status: z.enum(['available', 'retired', 'blocked']).optional(),
    attributes: AttributesInputSchema.nullish(),
  })
  .meta({
    id: 'UpdateInventoryItemInput',
    description: 'A field that is left out keeps its value. Null clears it.',
    examples: [{ status: 'blocked' }],
  });
export type UpdateInventoryItemInput = z.infer<typeof UpdateInventoryItemInputSchema>;

const itemRecord = { tagExcludes: ['firstSeenAt', 'lastSeenAt'] };

const tag = 'Providers';
const provider = { provider_id: LookupIdSchema.describe("The provider's id.") };
const item = { ...provider, item_id: LookupIdSchema.describe("The item's id.") };

const filters = {
  kind: InventoryKindSchema.nullish().meta({
    description: 'Only items of this kind.',
    param: { id: 'ItemKindFilter' },
  }),
  status: InventoryStatusSchema.nullish().meta({
    description: 'Only items with this status.',
    param: { id: 'ItemStatusFilter' },
  }),
  text: z
    .string()
    .min(1)
    .max(200)
    .nullish()
    .meta({
      description: 'Only items whose name contains this text. ASCII letters are compared case-insensitively.',
      param: { id: 'ItemTextFilter' },
    }),
};

export const listInventoryItems = operation({
  method: 'GET',
  path: '/v1/inventory-items',
  operationId: 'list_inventory_items',
  scope: 'providers:read',
  tag,
  summary: 'List inventory items of all providers',
  description:
    "Lists the items at all providers in the caller's reach, newest first, for example to find the provider that offers a model. Items of deleted providers are left out.",
  query: { ...tenancyQueryFields, ...filters, ...pageFields },
  output: page('InventoryItemPage', InventoryItemSchema),
});

export const getProviderInventory = operation({
  method: 'GET',
  path: '/v1/providers/{provider_id}/inventory',
  operationId: 'get_provider_inventory',
  ignoresUnknownQuery: true,
  scope: 'providers:read',
  tag,
  summary: 'Get the inventory of a provider',
  description:
    'Lists the items that the provider offers, as they were synced or declared. `syncedAt` is the time of the last sync.',
  params: provider,
  query: { ...filters, ...pageFields },
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
    'Declares an item of the provider without a sync, for example because the provider cannot be synced. 409 if the provider already has an item of this kind and name.',
  params: provider,
  body: CreateInventoryItemInputSchema,
  record: itemRecord,
  output: InventoryItemSchema,
  errors: ['tenant_limit_reached', 'provider_not_found', 'name_taken'],
});

export const getInventoryItem = operation({
  method: 'GET',
  path: '/v1/providers/{provider_id}/inventory/{item_id}',
  operationId: 'get_inventory_item',
  scope: 'providers:read',
  tag,
  summary: 'Get an inventory item',
  description: 'Returns one item of any status, with its definition, and with what a sync found changed (`drift`).',
  params: item,
  record: itemRecord,
  output: InventoryItemSchema,
  errors: ['provider_not_found', 'inventory_item_not_found'],
});

export const updateInventoryItem = operation({
  method: 'PUT',
  path: '/v1/providers/{provider_id}/inventory/{item_id}',
  operationId: 'update_inventory_item',
  scope: 'providers:write',
  tag,
  summary: 'Update an inventory item',
  description:
    'Changes the fields that the body names and keeps the others. Blocking an item revokes the active sessions that grant it.',
  params: item,
  body: UpdateInventoryItemInputSchema,
  record: itemRecord,
  ifMatch: itemRecord,
  output: InventoryItemSchema,
  errors: ['tenant_limit_reached', 'provider_not_found', 'inventory_item_not_found'],
});

export const deleteInventoryItem = operation({
  method: 'DELETE',
  path: '/v1/providers/{provider_id}/inventory/{item_id}',
  operationId: 'delete_inventory_item',
  scope: 'providers:write',
  tag,
  summary: 'Delete an inventory item',
  description:
    'Deletes the declaration. If agents use the item afterwards, it is unknown. To forbid an item, block it instead.',
  params: item,
  record: itemRecord,
  ifMatch: itemRecord,
  output: InventoryItemSchema,
  errors: ['provider_not_found', 'inventory_item_not_found'],
});
