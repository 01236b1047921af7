import { z } from 'zod';
import {
  SubTenantIdSchema,
  TenantIdSchema,
  TimestampInputSchema,
  TimestampSchema,
  tenancyQueryFields,
} from './fields.ts';
import { operation } from './operation.ts';
import { page, pageFields } from './pages.ts';

export const AuditEventSchema = z
  .strictObject({
    id: z.string(),
    tenantId: TenantIdSchema.nullable().describe("The tenant that it happened in; null for the platform's own."),
    subTenantId: SubTenantIdSchema,
    actor: z
      .strictObject({
        type: z.enum(['service_account', 'user', 'anonymous', 'system']),
        id: z.string().nullable(),
        tenantId: TenantIdSchema.nullable().describe("A service account's own tenant: its id is unique there only."),
      })
      .describe('Who did it. `anonymous` registers; `system` is the service itself.'),
    scheme: z.enum(['api_key', 'bearer']).nullable().describe('How the actor proved who they are.'),
    keyId: z.string().nullable().describe("The API key's id, where one was used."),
    operation: z.string().describe('The operationId.'),
    target: z.strictObject({ type: z.string(), id: z.string() }).nullable(),
    outcome: z.enum(['success', 'failure', 'denied']),
    reason: z.string().nullable().describe('The `code` of a refusal.'),
    changedFields: z.array(z.string()).describe('The names of the fields that changed; never their values.'),
    count: z.int().describe('1; for refusals how many of one actor, operation and reason there were in that minute.'),
    requestId: z.string(),
    createdAt: TimestampSchema,
    updatedAt: TimestampSchema.describe('The same: events do not change.'),
  })
  .meta({ id: 'AuditEvent', description: 'Who did what, when, and how it ended.' });
export type AuditEvent = z.infer<typeof AuditEventSchema>;

export const listAuditEvents = operation({
  method: 'GET',
  path: '/v1/audit-events',
  operationId: 'list_audit_events',
  scope: 'audit_events:read',
  tag: 'Audit',
  summary: 'List audit events',
  query: {
    ...tenancyQueryFields,
    actor_id: z.string().max(128).nullish().describe('Only what this service account or user did.'),
    operation: z.string().max(128).nullish().describe('Only events of this operationId.'),
    target_id: z.string().max(256).nullish().describe('Only what was done to this record.'),
    outcome: z.string().max(64).nullish().describe('Only events of this outcome.'),
    created_after: TimestampInputSchema.nullish().describe('Only events after this time.'),
    created_before: TimestampInputSchema.nullish().describe('Only events before this time.'),
    ...pageFields,
  },
  output: page('AuditEventPage', AuditEventSchema),
});
