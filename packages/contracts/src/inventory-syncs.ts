import { z } from 'zod';
import { LookupIdSchema, TimestampSchema } from './fields.ts';
import { type InventoryKind, InventoryKindSchema } from './inventory.ts';
import { operation } from './operation.ts';
import type { ProviderKind } from './providers.ts';

/** The maximum number of errors that an answer lists. All of them are counted. */
export const MAX_LISTED_SYNC_ERRORS = 100;

/** The kinds of items that a sync asks a provider for. */
export const SYNCED_KINDS = {
  llm: ['model'],
  mcp: ['tool', 'resource', 'prompt'],
} as const satisfies Partial<Record<ProviderKind, readonly InventoryKind[]>>;

const InventorySyncErrorSchema = z
  .strictObject({ kind: InventoryKindSchema, name: z.string().max(256), reason: z.string() })
  .meta({
    id: 'InventorySyncError',
    description: 'An item that the provider listed, but that cannot be an inventory item.',
  });

export const InventorySyncSchema = z
  .strictObject({
    taskId: z.string().describe('The id of the operator task (`sync_inventory`) of this sync.'),
    providerId: z.string(),
    added: z.int().describe('How many new items were added.'),
    pending: z.int().describe('How many of the added items are `pending`: they wait for a decision.'),
    updated: z
      .int()
      .describe('How many known items changed, are available again, or differ from the accepted definition (drift).'),
    removed: z
      .int()
      .describe(
        'How many items the provider no longer lists. They are not deleted; their status is `missing`, or `retired` if they were `pending`.',
      ),
    held: z
      .int()
      .describe(
        'How many items the provider no longer lists, but that stay as they are until a person confirms it (`confirm_removals`).',
      ),
    unchanged: z.int().describe('How many items did not change.'),
    errors: z
      .array(InventorySyncErrorSchema)
      .max(MAX_LISTED_SYNC_ERRORS)
      .describe(
        `The items that the provider listed, but that cannot be inventory items: the first ${MAX_LISTED_SYNC_ERRORS}.`,
      ),
    errorCount: z.int().describe('How many such items there were in total.'),
    durationMs: z.int().describe('How long the sync took, in milliseconds.'),
    attempts: z.int().describe('How many attempts were needed until the provider answered: 1 to 3.'),
    syncedAt: TimestampSchema,
  })
  .meta({ id: 'InventorySync', description: 'The result of an inventory sync.' });
export type InventorySync = z.infer<typeof InventorySyncSchema>;

export const syncProviderInventory = operation({
  method: 'POST',
  path: '/v1/providers/{provider_id}/sync',
  operationId: 'sync_provider_inventory',
  scope: 'providers:write',
  tag: 'Providers',
  summary: 'Sync the inventory of a provider',
  description: [
    'Asks the provider what it offers, and updates the inventory with the answer. An MCP server (`mcp`) is asked for its',
    'tools, resources and prompts over streamable HTTP, a model vendor (`llm`) for its models with `GET {baseUrl}/models`.',
    'Everything is fetched first and then written in one transaction, so a failed sync (502) changes nothing. Requests go',
    'only to the origin of the base URL, with the credential and the headers of the provider. There are at most 3 attempts, and 25 seconds',
    'in total. An item whose digest differs from the accepted one keeps the accepted definition, and shows the new one as',
    '`drift`. The first successful sync of a provider declares what it lists. What a later sync adds is `pending` until a person',
    'decides, unless `newItems` of the provider is `allow`. If the provider lists none, or less than half, of the items of a kind that were available before, these items stay as they',
    'are, the provider is `doubtful`, and the recommendation `confirm_removals` asks a person.',
  ].join(' '),
  params: { provider_id: LookupIdSchema.describe("The provider's id.") },
  callsThirdParty: true,
  cost: 10,
  output: InventorySyncSchema,
  errors: [
    'tenant_limit_reached',
    'provider_not_found',
    'provider_not_syncable',
    'sync_running',
    'sync_failed',
    'rate_limited',
  ],
});
