import { z } from 'zod';
import { AUDIT_OPERATIONS } from './audit-operations.ts';
import {
  SubTenantIdSchema,
  TenantFilterSchema,
  TenantIdSchema,
  TimestampInputSchema,
  TimestampSchema,
  tenancyQueryFields,
} from './fields.ts';
import { operation } from './operation.ts';
import { TaskOutcomeSchema } from './operator-tasks.ts';
import { cursorField, page, pageFields } from './pages.ts';

export const AuditOutcomeSchema = z.enum(['success', 'failure', 'denied']).meta({
  id: 'AuditOutcome',
  description:
    'How the operation ended. `denied`: the actor lacked rights, or the record does not exist in the reach of the actor.',
});

const AuditOperationSchema = z
  .enum(AUDIT_OPERATIONS)
  .meta({ id: 'AuditOperation', description: 'An operationId, or the name of an action of the service itself.' });

const AuditDecisionSchema = z.enum([...TaskOutcomeSchema.options, 'withdrawn', 'resolved']);

const AuditActorSchema = z
  .strictObject({
    type: z.enum(['service_account', 'user', 'anonymous', 'system']),
    id: z.string().nullable(),
    tenantId: TenantIdSchema.nullable().describe(
      'The tenant of a service account, because its id is unique only there. Null for other actors.',
    ),
  })
  .meta({
    id: 'AuditActor',
    description:
      'Who did it. `anonymous`: a caller without credentials, such as at a registration. `system`: the service itself.',
  });

const AuditTargetSchema = z
  .strictObject({
    type: z.string(),
    id: z.string(),
    name: z
      .string()
      .nullable()
      .describe(
        'The name that the record has now; of a gateway session that of its gateway, and of a provider credential that of its provider. Null if it no longer exists, or if you may not read it. Users have no name here: see `list_users`.',
      ),
    parentId: z
      .string()
      .nullable()
      .describe(
        'The provider of an inventory item, observation or recommendation, the gateway of a session, or the owner of a credential, if you may read the record. Null for others.',
      ),
    deleted: z.boolean().describe('Whether the record was deleted, and only its name is left.'),
  })
  .meta({ id: 'AuditTarget', description: 'The record that the operation read or changed.' });

const AuditValueSchema = z
  .union([z.string(), z.number(), z.boolean(), z.array(z.string())])
  .nullable()
  .meta({
    id: 'AuditValue',
    description: 'A value of a field. Null: the field was not set, or the record did not exist.',
  });

const AuditFieldChangeSchema = z
  .strictObject({
    field: z.string().describe('The name of the field. A dot leads to a member: `settings.spanRetentionDays`.'),
    before: AuditValueSchema,
    after: AuditValueSchema.describe('Of `baseUrl` and `url`, `before` and `after` are only the origin.'),
  })
  .meta({ id: 'AuditFieldChange', description: 'A field of a record, before and after a change.' });

export const AuditEventSchema = z
  .strictObject({
    id: z.string(),
    tenantId: TenantIdSchema.nullable().describe(
      'The tenant that the event belongs to. Null for events of the platform.',
    ),
    subTenantId: SubTenantIdSchema,
    actor: AuditActorSchema,
    scheme: z
      .enum(['api_key', 'bearer', 'session'])
      .nullable()
      .describe(
        'How the actor authenticated. `session`: the cookie of the web console. Null also for the token of a gateway session.',
      ),
    keyId: z.string().nullable().describe('The id of the API key. Null if none was used.'),
    operation: z
      .string()
      .describe(
        'The operationId, or the name of an action of the service itself. After 1,000 different refusals or reads of a tenant in one minute, the others are counted as `further_refusals` and `further_reads`.',
      ),
    target: AuditTargetSchema.nullable(),
    outcome: AuditOutcomeSchema,
    reason: z.string().nullable().describe('The error code of a refusal. Null for other events.'),
    decision: AuditDecisionSchema.nullable().describe(
      'What was decided: in the review of an observation, or on completing a task. `withdrawn`: the former decision was taken back. `resolved`: the observation was marked as dealt with elsewhere. Null for other events.',
    ),
    changedFields: z.array(z.string()).describe('The names of all fields that changed.'),
    changes: z
      .array(AuditFieldChangeSchema)
      .describe(
        'The values before and after, of the changed fields that can hold neither a secret nor free text: roles, scopes, limits, retention, states, times and ids. Other fields, and values longer than 1,024 bytes, are only in `changedFields`.',
      ),
    count: z
      .int()
      .describe(
        'How many times it happened. Refusals with the same actor, operation and reason in one minute are one event, and so are reads with the same actor, operation and target. For other events: 1.',
      ),
    requestId: z
      .string()
      .describe('The id that the service gave to the request. Empty for actions of the service itself.'),
    callerRequestId: z
      .string()
      .nullable()
      .describe(
        'The id that the caller sent in `X-Request-Id`. Null if none was sent. Several requests may have the same id.',
      ),
    createdAt: TimestampSchema,
    updatedAt: TimestampSchema.describe('The same as `createdAt`, because events do not change.'),
  })
  .meta({ id: 'AuditEvent', description: 'Who did what, when, and how it ended.' });
export type ListedAuditEvent = z.infer<typeof AuditEventSchema>;

/** An event as it is stored and sealed. The names of targets are looked up when it is read. */
export type AuditEvent = Omit<ListedAuditEvent, 'target'> & {
  target: Pick<NonNullable<ListedAuditEvent['target']>, 'type' | 'id'> | null;
};

export const listAuditEvents = operation({
  method: 'GET',
  path: '/v1/audit-events',
  operationId: 'list_audit_events',
  scope: 'audit_events:read',
  tag: 'Audit',
  summary: 'List audit events',
  description:
    'Lists who did what, newest first, for example to find out who changed a record or why a call was refused. Refusals with the same actor, operation and reason in one minute are one event; `count` is their number.',
  query: {
    ...tenancyQueryFields,
    actor_id: z.string().max(128).nullish().describe('Only events of the service account or user with this id.'),
    operation: AuditOperationSchema.nullish().describe(
      'Only events of this operation, or of this action of the service itself.',
    ),
    target_id: z.string().max(256).nullish().describe('Only events about the record with this id.'),
    outcome: AuditOutcomeSchema.nullish().describe('Only events with this outcome.'),
    decision: AuditDecisionSchema.nullish().describe('Only events in which this was decided.'),
    created_after: TimestampInputSchema.nullish().describe('Only events after this time.'),
    created_before: TimestampInputSchema.nullish().describe('Only events before this time.'),
    ...pageFields,
  },
  output: page('AuditEventPage', AuditEventSchema),
});

/** The maximum number of faults in one answer of a verification. */
const MAX_FAULTS = 2000;

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
          '`changed`: the event was changed after it was sealed.',
          '`removed`: the event, or its link in the chain, is missing.',
          '`inserted`: the event is in no chain and does not wait to be sealed, or the chain has an extra link.',
          '`forged`: the event is in no chain, and its MAC is missing or wrong, so the service did not write it like this.',
          '`swapped`: two events were exchanged. Each of them is one fault.',
          '`tail_removed`: the chain ends before a head that was signed or that this server has seen.',
          '`recomputed`: the hash of the chain differs from one that was signed or that this server has seen.',
          '`link_changed`: the hash of a link does not follow from the previous link.',
          '`unsigned`: no head signs some links, or the whole chain.',
          '`head_forged`: a head was not signed by this service, or belongs to another chain.',
          '`head_unverifiable`: the key that signed the newest head cannot be decrypted with `QM_SECRET_KEY`.',
        ].join('\n'),
      ),
    position: z
      .int()
      .nullable()
      .describe('The position in the chain, starting at 1. Null if the fault has no position.'),
    eventId: z.string().nullable().describe('The id of the audit event. Null if it is not known.'),
    detail: z.string().describe('A description of the fault, for people.'),
  })
  .meta({ id: 'AuditFault', description: 'A fault in the audit events of a tenant, or in their hash chain.' });
export type AuditFault = z.infer<typeof AuditFaultSchema>;

export const AuditVerificationSchema = z
  .strictObject({
    tenantId: TenantIdSchema.nullable().describe(
      'The tenant whose chain was checked. Null for the chain of the platform.',
    ),
    status: z
      .enum(['intact', 'broken'])
      .describe(
        'The result for everything that was checked since the first call. It is final when `nextCursor` is null.',
      ),
    size: z.int().describe('How many events the newest head covers.'),
    head: z
      .string()
      .nullable()
      .describe(
        'The newest signed head of the chain (a JWS). Store it elsewhere, and send it with a later verification. Null before the first event.',
      ),
    sealedAt: TimestampSchema.nullable().describe(
      'When the head was signed, in whole seconds (its `iat`). Null if there is no head, or if the stored value is not a valid head.',
    ),
    unsealed: z
      .int()
      .describe('How many events wait to be sealed, counted up to 10,000. Events usually wait for less than a second.'),
    checked: z.int().describe('How many events of the chain were checked since the first call.'),
    unverifiableHeads: z
      .int()
      .describe(
        'How many older heads cannot be verified because their key was lost with a former `QM_SECRET_KEY`. Newer heads cover the same events.',
      ),
    faults: z.array(AuditFaultSchema).max(MAX_FAULTS).describe('The faults that this call found, at most 2,000.'),
    nextCursor: z.string().nullable().describe('Send it as `cursor` to continue. Null when everything was checked.'),
  })
  .meta({
    id: 'AuditVerification',
    description: 'Whether the audit events of a tenant are unchanged since they were sealed.',
  });
export type AuditVerification = z.infer<typeof AuditVerificationSchema>;

export const verifyAuditEvents = operation({
  method: 'GET',
  path: '/v1/audit-events/verify',
  operationId: 'verify_audit_events',
  scope: 'audit_events:read',
  tag: 'Audit',
  summary: 'Verify audit events',
  description:
    'Computes the hash chain of a whole tenant again, and compares it with the stored events and the signed heads. The answer is 200 for a broken chain, too: see `status`. 403 for a credential that is limited to a sub-tenant.',
  query: {
    tenant_id: TenantFilterSchema.describe(
      "The tenant whose chain is checked. If it is left out or empty: the caller's tenant, or the chain of the platform for platform administrators.",
    ),
    head: z
      .string()
      .max(4096)
      .nullish()
      .describe(
        'A head that was stored elsewhere. The chain must contain it. So a verification finds out if the end of the chain was removed together with its heads.',
      ),
    limit: z
      .int()
      .min(1)
      .max(100_000)
      .default(10_000)
      .describe('The maximum number of events that this call checks: 1 to 100,000.'),
    cursor: cursorField,
  },
  output: AuditVerificationSchema,
  errors: ['tenant_not_found'],
});
