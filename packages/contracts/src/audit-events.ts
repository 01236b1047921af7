import { z } from 'zod';
import {
  SubTenantIdSchema,
  TenantFilterSchema,
  TenantIdSchema,
  TimestampInputSchema,
  TimestampSchema,
  tenancyQueryFields,
} from './fields.ts';
import { operation } from './operation.ts';
import { cursorField, page, pageFields } from './pages.ts';

export const AuditOutcomeSchema = z.enum(['success', 'failure', 'denied']).meta({
  id: 'AuditOutcome',
  description:
    'How the operation ended. `denied`: for lack of rights, or because the record does not exist in the reach of the actor.',
});

const AuditActorSchema = z
  .strictObject({
    type: z.enum(['service_account', 'user', 'anonymous', 'system']),
    id: z.string().nullable(),
    tenantId: TenantIdSchema.nullable().describe("A service account's own tenant: its id is unique there only."),
  })
  .meta({ id: 'AuditActor', description: 'Who did it. `anonymous` registers; `system` is the service itself.' });

const AuditTargetSchema = z
  .strictObject({ type: z.string(), id: z.string() })
  .meta({ id: 'AuditTarget', description: 'The record that it was done to.' });

export const AuditEventSchema = z
  .strictObject({
    id: z.string(),
    tenantId: TenantIdSchema.nullable().describe("The tenant that it happened in; null for the platform's own."),
    subTenantId: SubTenantIdSchema,
    actor: AuditActorSchema,
    scheme: z.enum(['api_key', 'bearer']).nullable().describe('How the actor proved who they are.'),
    keyId: z.string().nullable().describe("The API key's id, where one was used."),
    operation: z
      .string()
      .describe(
        'The operationId, or what the service itself did. `further_refusals` and `further_reads` count the refusals and reads of a tenant beyond 1,000 different ones in a minute.',
      ),
    target: AuditTargetSchema.nullable(),
    outcome: AuditOutcomeSchema,
    reason: z.string().nullable().describe('The `code` of a refusal.'),
    changedFields: z.array(z.string()).describe('The names of the fields that changed; never their values.'),
    count: z
      .int()
      .describe(
        '1; for refusals how many of one actor, operation and reason there were in that minute, for reads how many of one actor, operation and target.',
      ),
    requestId: z.string().describe("The service's own id of the request; empty where the service acted by itself."),
    callerRequestId: z
      .string()
      .nullable()
      .describe(
        'The id that the caller sent in X-Request-Id, null where they sent none. Several requests may have the same.',
      ),
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
  description:
    'Lists who did what, newest first. Use it to find out who changed a record, or why a call was refused. Refusals with the same actor, operation and reason are one event for each minute: `count` says how many there were.',
  query: {
    ...tenancyQueryFields,
    actor_id: z.string().max(128).nullish().describe('Only what this service account or user did.'),
    operation: z.string().max(128).nullish().describe('Only events of this operationId.'),
    target_id: z.string().max(256).nullish().describe('Only what was done to this record.'),
    outcome: AuditOutcomeSchema.nullish().describe('Only events with this outcome.'),
    created_after: TimestampInputSchema.nullish().describe('Only events after this time.'),
    created_before: TimestampInputSchema.nullish().describe('Only events before this time.'),
    ...pageFields,
  },
  output: page('AuditEventPage', AuditEventSchema),
});

/** Faults that one answer of a verification holds at the most. */
const MOST_FAULTS = 2000;

export const AuditFaultSchema = z
  .strictObject({
    kind: z
      .enum([
        'changed',
        'removed',
        'inserted',
        'forged',
        'swapped',
        'tail_removed',
        'recomputed',
        'link_changed',
        'unsigned',
        'head_forged',
        'head_unverifiable',
      ])
      .describe(
        [
          '`changed`: the event is not as it was sealed.',
          '`removed`: the event, or its link, is gone.',
          '`inserted`: the event is in no chain, and does not wait to be sealed; or a link stands where the chain has none.',
          '`forged`: the event is in no chain, and the service did not write it as it is: its MAC is missing or wrong.',
          "`swapped`: two rows stand in each other's place; each of them is named.",
          '`tail_removed`: the chain ends before a head that was signed, or that this server has seen.',
          '`recomputed`: the chain has another hash than the one that was signed, or that this server has seen.',
          '`link_changed`: a link does not follow from the one before it.',
          '`unsigned`: links, or a whole chain, that no head signs.',
          '`head_forged`: a head that was not signed by this service, or not for this place.',
          '`head_unverifiable`: the newest head was signed by a key that QM_SECRET_KEY does not open.',
        ].join('\n'),
      ),
    position: z.int().nullable().describe('Where in the chain, from 1 on; null where the fault is in no place of it.'),
    eventId: z.string().nullable().describe('The audit event, where it is known.'),
    detail: z.string().describe('What was found, for people.'),
  })
  .meta({ id: 'AuditFault', description: 'What is wrong with the audit events of a tenant, or with their chain.' });
export type AuditFault = z.infer<typeof AuditFaultSchema>;

export const AuditVerificationSchema = z
  .strictObject({
    tenantId: TenantIdSchema.nullable().describe("Whose chain it is; null: the platform's own."),
    status: z
      .enum(['intact', 'broken'])
      .describe('Of all that was checked since the first call. It is the verdict once `nextCursor` is null.'),
    size: z.int().describe('How many events the newest head signs.'),
    head: z
      .string()
      .nullable()
      .describe('The newest signed head (JWS): keep it elsewhere, and hand it in later. Null before the first event.'),
    sealedAt: TimestampSchema.nullable().describe(
      'When that head was signed, in whole seconds, as it says itself (`iat`). Null where there is none, or what stands there is no head.',
    ),
    unsealed: z.int().describe('Events that wait to be sealed, usually for less than a second; counted up to 10,000.'),
    checked: z.int().describe('Events of the chain that were checked since the first call.'),
    unverifiableHeads: z
      .int()
      .describe('Older heads whose key was lost with a former QM_SECRET_KEY: the newer ones stand for them.'),
    faults: z.array(AuditFaultSchema).max(MOST_FAULTS).describe('What was found by this call.'),
    nextCursor: z.string().nullable().describe('Hand it in as `cursor` to go on; null once all is checked.'),
  })
  .meta({ id: 'AuditVerification', description: 'Whether the audit events of a tenant are as they were sealed.' });
export type AuditVerification = z.infer<typeof AuditVerificationSchema>;

export const verifyAuditEvents = operation({
  method: 'GET',
  path: '/v1/audit-events/verify',
  operationId: 'verify_audit_events',
  scope: 'audit_events:read',
  tag: 'Audit',
  summary: 'Verify audit events',
  description:
    'Computes the chain of hashes of a whole tenant again, and compares it with the events and with the signed heads. A broken chain is answered 200 as well: the question was answered. A credential of a sub-tenant cannot ask it (403).',
  query: {
    tenant_id: TenantFilterSchema.describe(
      "Whose events. Left out or empty: the caller's one tenant; for platform administrators the platform's own chain.",
    ),
    head: z
      .string()
      .max(4096)
      .nullish()
      .describe('A head that was kept elsewhere. The chain has to hold it: so a removed end is found with its heads.'),
    limit: z
      .int()
      .min(1)
      .max(100_000)
      .default(10_000)
      .describe('How many events are checked by this call, at the most: 1 to 100,000.'),
    cursor: cursorField,
  },
  output: AuditVerificationSchema,
  errors: ['tenant_not_found'],
});
