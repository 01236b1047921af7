import { z } from 'zod';
import {
  LookupIdSchema,
  MetadataInputSchema,
  MetadataSchema,
  TimestampSchema,
  tenancyFields,
  timeFields,
} from './fields.ts';
import { SESSION_TTL_MAX_SECONDS } from './gateways.ts';
import { InventoryKindSchema } from './inventory.ts';
import { operation } from './operation.ts';
import { page, pageFields } from './pages.ts';
import { ProviderStatusSchema } from './providers.ts';

export const SubjectSchema = z
  .string()
  .max(300)
  .regex(
    /^(user:[A-Za-z0-9][A-Za-z0-9._:-]*|service_account:[A-Za-z0-9][A-Za-z0-9._:-]*\/[A-Za-z0-9][A-Za-z0-9._:-]*)$/,
  )
  .describe('A user or service account: `user:<id>` or `service_account:<tenant>/<id>`.');

export const GrantedItemSchema = z
  .strictObject({ kind: InventoryKindSchema, name: z.string() })
  .meta({ id: 'GrantedItem', description: 'An item that the session may use.' });

export const GrantSchema = z
  .strictObject({
    providerId: z.string(),
    providerName: z.string(),
    items: z.array(GrantedItemSchema),
  })
  .meta({
    id: 'Grant',
    description:
      "The items of one provider that a session may use: its inventory without blocked and retired items, limited to what the gateway's manifest allows.",
  });
export type Grant = z.infer<typeof GrantSchema>;

export const GatewaySessionStatusSchema = z.enum(['active', 'expired', 'revoked']).meta({ id: 'GatewaySessionStatus' });

const sessionFields = {
  id: z.string(),
  gatewayId: z.string(),
  ...tenancyFields,
  subject: SubjectSchema.describe('The user or service account that the session is for.'),
  actor: z
    .string()
    .nullable()
    .describe('The user or service account that opened the session, if it is not the subject. Otherwise null.'),
  status: GatewaySessionStatusSchema,
  issuedAt: TimestampSchema,
  expiresAt: TimestampSchema.describe(
    'When the session ends, never later than the API key that opened it. If that key was rotated, this can be earlier than the `exp` of the token; introspection takes it into account.',
  ),
  revokedAt: TimestampSchema.nullable(),
  revokedReason: z
    .enum(['revoked', 'gateway_ended', 'principal_ended', 'key_ended', 'item_blocked'])
    .nullable()
    .describe(
      'Why the session was revoked. `revoked`: a caller revoked this session. `gateway_ended`: the gateway was disabled or deleted. `principal_ended`: the subject, or the account that opened the session, lost access. `key_ended`: the API key that opened it was revoked, or rotated without an overlap. `item_blocked`: an item that the session grants was blocked. Null if the session is not revoked.',
    ),
  gatewayUrl: z.string().nullable(),
  grantsDigest: z
    .string()
    .describe(
      '`sha256:` and the SHA-256, in hex, of the RFC 8785 form of `grants`. A token with long grants has the same value as `grants_digest`.',
    ),
  grantedItems: z.int().describe('How many items the session grants.'),
  providerIds: z
    .array(z.string())
    .nullable()
    .describe(
      'The providers that the session was limited to when it was opened. Null: all providers that the gateway lists, also those that it lists later. A token is a snapshot; a decision is live.',
    ),
  decisions: z
    .strictObject({
      allowed: z.int(),
      denied: z.int().describe('Those that would have been denied in the mode `enforce` too.'),
      lastAt: TimestampSchema.nullable(),
    })
    .meta({ id: 'SessionDecisions' })
    .describe('The decisions that were asked for with its token. They are counted with a delay of some seconds.'),
  metadata: MetadataSchema,
  ...timeFields,
};
const grantsField = { grants: z.array(GrantSchema) };

export const GatewaySessionSummarySchema = z.strictObject(sessionFields).meta({
  id: 'GatewaySessionSummary',
  description: 'A gateway session without its grants. `GET .../sessions/{session_id}/grants` lists them.',
});
export type GatewaySessionSummary = z.infer<typeof GatewaySessionSummarySchema>;

export const GatewaySessionSchema = z
  .strictObject({ ...sessionFields, ...grantsField })
  .meta({ id: 'GatewaySession', description: 'A time-limited permission of a subject to use a gateway.' });
export type GatewaySession = z.infer<typeof GatewaySessionSchema>;

export const CreatedGatewaySessionSchema = z
  .strictObject({
    ...sessionFields,
    ...grantsField,
    token: z
      .string()
      .describe(
        'A JWT that gateways verify offline: `alg` ES256, `typ` `qm-session+jwt`, `aud` the id of the gateway. Only this answer has it.',
      ),
    tokenType: z.literal('Bearer'),
  })
  .meta({ id: 'CreatedGatewaySession', description: 'A new session, with its token.' });
export type CreatedGatewaySession = z.infer<typeof CreatedGatewaySessionSchema>;

export const CreateGatewaySessionInputSchema = z
  .strictObject({
    subject: SubjectSchema.nullish().describe(
      'The user or service account that the session is for. If it is left out: the caller. For another subject, the caller needs the scope `gateway_sessions:impersonate` in every place where the subject belongs. So a caller in a sub-tenant cannot open a session for an account or user of the whole tenant.',
    ),
    ttlSeconds: z
      .int()
      .min(60)
      .max(SESSION_TTL_MAX_SECONDS)
      .nullish()
      .describe(
        "The lifetime in seconds: 60 to 86,400, and not more than the gateway's `sessionTtlSeconds`. If it is left out: the gateway's.",
      ),
    providerIds: z
      .array(z.string().max(128))
      .max(100)
      .nullish()
      .describe(
        'Only these providers of the gateway. If it is left out: all of them. A session grants at most 10,000 items, and at most 1 MiB of grants as JSON (422).',
      ),
    metadata: MetadataInputSchema.nullish(),
  })
  .meta({
    id: 'CreateGatewaySessionInput',
    description: 'Who the session is for, how long it lasts, and what it grants.',
    examples: [{ subject: 'service_account:acme/billing-agent', ttlSeconds: 600, metadata: { run: '42' } }],
  });
export type CreateGatewaySessionInput = z.infer<typeof CreateGatewaySessionInputSchema>;

export const IntrospectGatewaySessionInputSchema = z
  .strictObject({
    token: z.string().min(1).describe('The token of a session.'),
    token_type_hint: z.string().max(256).nullish().describe('The hint of RFC 7662. It is ignored.'),
  })
  .meta({
    id: 'IntrospectGatewaySessionInput',
    description: 'An introspection request (RFC 7662).',
    examples: [{ token: 'eyJhbGciOiJFZERTQSJ9.eyJqdGkiOiJzZXNfMSJ9.c2lnbmF0dXJl' }],
  });

const TokenActorSchema = z
  .strictObject({ sub: SubjectSchema })
  .meta({ id: 'TokenActor', description: 'The actor claim of RFC 8693.' });

/** The names of the members are those of RFC 7662 and of the claims in the token. */
export const GatewaySessionIntrospectionSchema = z
  .union([
    z.strictObject({ active: z.literal(false) }).meta({
      id: 'InactiveGatewaySession',
      description: 'The token does not belong to an active session of this gateway.',
    }),
    z
      .strictObject({
        active: z.literal(true),
        iss: z.string().describe('The public URL of this service.'),
        sub: SubjectSchema.describe('The user or service account that the session is for.'),
        aud: z.string().describe('The id of the gateway.'),
        jti: z.string().describe('The id of the session.'),
        iat: z.int().describe('When the session was opened, in seconds since 1970-01-01 UTC.'),
        exp: z.int().describe('When the session ends, in seconds since 1970-01-01 UTC.'),
        token_type: z.literal('Bearer'),
        client_id: SubjectSchema.describe('The user or service account that opened the session.'),
        tenant_id: z.string(),
        sub_tenant_id: z.string().optional(),
        act: TokenActorSchema.optional().describe(
          'The account that opened the session, if it is not the subject (RFC 8693).',
        ),
        gateway_id: z.string(),
        session_id: z.string(),
        grants: z
          .array(GrantSchema)
          .describe('What the session grants and is still allowed at this moment, never more than its token says.'),
        metadata: MetadataSchema,
      })
      .meta({ id: 'ActiveGatewaySession', description: 'The active session that the token belongs to.' }),
  ])
  .meta({ id: 'GatewaySessionIntrospection', description: 'An introspection response (RFC 7662).' });
export type GatewaySessionIntrospection = z.infer<typeof GatewaySessionIntrospectionSchema>;

export const SessionGrantSchema = z
  .strictObject({
    providerId: z.string(),
    providerName: z.string(),
    providerStatus: ProviderStatusSchema.describe(
      'The status of the provider now. Introspection grants nothing of a provider that is not `active`. A gateway that verifies tokens offline accepts its items until the session expires.',
    ),
    kind: InventoryKindSchema,
    name: z.string(),
  })
  .meta({ id: 'SessionGrant', description: 'One item that a session grants.' });
export type SessionGrant = z.infer<typeof SessionGrantSchema>;

/** `status` depends on the clock, decisions are counted, only one answer has the token, and `grantsDigest` changes with the grants, which may be long. */
const sessionRecord = { tagExcludes: ['status', 'decisions', 'token', 'tokenType', 'grants'] };

const tag = 'Gateways';
const gateway = { gateway_id: LookupIdSchema.describe("The gateway's id.") };
const session = { ...gateway, session_id: LookupIdSchema.describe("The session's id.") };

export const createGatewaySession = operation({
  method: 'POST',
  path: '/v1/gateways/{gateway_id}/sessions',
  operationId: 'create_gateway_session',
  ignoresUnknownQuery: true,
  scope: 'gateway_sessions:write',
  tag,
  summary: 'Open a gateway session',
  description:
    "Opens a session and returns its token. Gateways verify the token with the keys of `/.well-known/jwks.json`. The token holds the grants, or only their digest if the grants exceed 4 KiB. A session grants the items in the inventories of the gateway's providers, without blocked and retired ones, limited to what the gateway's manifest allows: its `allow` list, or the `declares` list of an agent's manifest. A subject can have at most 1,000 open sessions at a gateway (`QM_MAX_OPEN_SESSIONS`); then the answer is 409 `session_limit_reached` until one ends.",
  params: gateway,
  body: CreateGatewaySessionInputSchema,
  bodyOptional: true,
  record: sessionRecord,
  output: CreatedGatewaySessionSchema,
  errors: ['tenant_limit_reached', 'gateway_not_found', 'gateway_not_active', 'session_limit_reached'],
});

export const listGatewaySessions = operation({
  method: 'GET',
  path: '/v1/gateways/{gateway_id}/sessions',
  operationId: 'list_gateway_sessions',
  scope: 'gateway_sessions:read',
  tag,
  summary: 'List the sessions of a gateway',
  description:
    'Lists the sessions of one gateway, newest first: active, expired and revoked ones, without their grants. Sessions with the same `grantsDigest` grant the same items.',
  params: gateway,
  query: {
    status: GatewaySessionStatusSchema.nullish().describe('Only sessions with this status.'),
    subject: z.string().max(300).nullish().describe('Only sessions of this subject.'),
    ...pageFields,
  },
  output: page('GatewaySessionPage', GatewaySessionSummarySchema),
  errors: ['gateway_not_found'],
});

export const introspectGatewaySession = operation({
  method: 'POST',
  path: '/v1/gateways/{gateway_id}/sessions/introspect',
  operationId: 'introspect_gateway_session',
  scope: 'gateway_sessions:introspect',
  tag,
  summary: 'Introspect a session token',
  description:
    'Returns what a token permits at this moment (RFC 7662), for gateways that must learn of a revocation or a block at once. If the token does not belong to an active session of this gateway, the answer is `{"active": false}` without a reason. Other parameters of a form body are ignored.',
  params: gateway,
  body: IntrospectGatewaySessionInputSchema,
  form: true,
  confidentialBody: true,
  readOnly: true,
  output: GatewaySessionIntrospectionSchema,
  errors: ['gateway_not_found'],
});

export const getGatewaySession = operation({
  method: 'GET',
  path: '/v1/gateways/{gateway_id}/sessions/{session_id}',
  operationId: 'get_gateway_session',
  scope: 'gateway_sessions:read',
  tag,
  summary: 'Get a gateway session',
  description:
    'Returns one session, active or ended, with its grants. Only the answer of `create_gateway_session` has the token.',
  params: session,
  record: sessionRecord,
  output: GatewaySessionSchema,
  errors: ['gateway_not_found', 'gateway_session_not_found'],
});

export const listGatewaySessionGrants = operation({
  method: 'GET',
  path: '/v1/gateways/{gateway_id}/sessions/{session_id}/grants',
  operationId: 'list_gateway_session_grants',
  scope: 'gateway_sessions:read',
  tag,
  summary: 'List what a gateway session grants',
  description:
    "Lists the items that a session grants, by provider in the gateway's order, then by kind and name. The grants of a session never change.",
  params: session,
  query: pageFields,
  output: page('SessionGrantPage', SessionGrantSchema),
  errors: ['gateway_not_found', 'gateway_session_not_found'],
});

export const revokeGatewaySession = operation({
  method: 'DELETE',
  path: '/v1/gateways/{gateway_id}/sessions/{session_id}',
  operationId: 'revoke_gateway_session',
  scope: 'gateway_sessions:write',
  tag,
  summary: 'Revoke a gateway session',
  description:
    'Ends the session at once. The record stays, as `revoked`. An expired session can be revoked too. 404 if the session is already revoked.',
  params: session,
  record: sessionRecord,
  ifMatch: sessionRecord,
  output: GatewaySessionSchema,
  errors: ['gateway_not_found', 'gateway_session_not_found'],
});
