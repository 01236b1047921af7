import { z } from 'zod';
import { LookupIdSchema, TimestampSchema } from './fields.ts';
import { InventoryKindSchema } from './inventory.ts';
import { operation } from './operation.ts';

/** Items that could not be taken over and are named in an answer; the rest is counted. */
export const SYNC_ERRORS_SHOWN = 100;

const InventorySyncErrorSchema = z
  .strictObject({ kind: InventoryKindSchema, name: z.string().max(256), reason: z.string() })
  .meta({ id: 'InventorySyncError', description: 'An item that was listed and could not be taken over.' });

export const InventorySyncSchema = z
  .strictObject({
    taskId: z.string().describe('The operator task of kind `sync_inventory` that it ran as.'),
    providerId: z.string(),
    added: z.int().describe('Items that were not known before.'),
    updated: z.int().describe('Known items that changed, came back, or are not what was accepted (drift).'),
    removed: z.int().describe('Items that the provider lists no more: they are `missing` now, and not deleted.'),
    unchanged: z.int(),
    errors: z
      .array(InventorySyncErrorSchema)
      .max(SYNC_ERRORS_SHOWN)
      .describe(`What was listed and could not be taken over: the first ${SYNC_ERRORS_SHOWN}.`),
    errorCount: z.int().describe('How many there were in all.'),
    durationMs: z.int(),
    attempts: z.int().describe('How often the provider was asked, until it answered.'),
    syncedAt: TimestampSchema,
  })
  .meta({ id: 'InventorySync', description: 'What a sync of an inventory found.' });
export type InventorySync = z.infer<typeof InventorySyncSchema>;

export const syncProviderInventory = operation({
  method: 'POST',
  path: '/v1/providers/{provider_id}/sync',
  operationId: 'sync_provider_inventory',
  scope: 'providers:write',
  tag: 'Providers',
  summary: 'Sync the inventory of a provider',
  description: [
    'Asks the provider what it offers: an MCP server (`mcp`) for its tools, resources and prompts over streamable HTTP,',
    'a model vendor (`llm`) for its models with `GET {baseUrl}/models`. Everything is fetched first and written in one',
    'transaction, so that a failed sync (502) leaves the inventory as it was. Requests go to the origin of the base URL',
    'alone, with the credential of the provider, and have at most 3 attempts and 25 seconds in all. An item whose digest',
    'is not the accepted one keeps what was accepted, and shows what was found as `drift`.',
  ].join(' '),
  params: { provider_id: LookupIdSchema.describe("The provider's id.") },
  callsOut: true,
  output: InventorySyncSchema,
  errors: ['provider_not_found', 'provider_not_syncable', 'sync_running', 'sync_failed', 'rate_limited'],
});
