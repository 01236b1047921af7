import { z } from 'zod';
import { LookupIdSchema, MetadataSchema, TimestampSchema, tenancyFields, timeFields } from './fields.ts';
import { SESSION_TTL_MAX_SECONDS } from './gateways.ts';
import { InventoryKindSchema } from './inventory.ts';
import { operation } from './operation.ts';
import { page, pageFields } from './pages.ts';

export const SubjectSchema = z
  .string()
  .max(300)
  .regex(
    /^(user:[A-Za-z0-9][A-Za-z0-9._:-]*|service_account:[A-Za-z0-9][A-Za-z0-9._:-]*\/[A-Za-z0-9][A-Za-z0-9._:-]*)$/,
  )
  .describe('`user:<id>` or `service_account:<tenant>/<id>`.');

const GrantedItemSchema = z.strictObject({ kind: InventoryKindSchema, name: z.string() }).meta({ id: 'GrantedItem' });

export const GrantSchema = z
  .strictObject({
    providerId: z.string(),
    providerName: z.string(),
    items: z.array(GrantedItemSchema),
  })
  .meta({
    id: 'Grant',
    description:
      "What a session may use of one provider: what its inventory has, but for blocked and retired items, and what the gateway's manifest allows of that.",
  });
export type Grant = z.infer<typeof GrantSchema>;

export const GatewaySessionStatusSchema = z.enum(['active', 'expired', 'revoked']).meta({ id: 'GatewaySessionStatus' });

const sessionFields = {
  id: z.string(),
  gatewayId: z.string(),
  ...tenancyFields,
  subject: SubjectSchema.describe('Whom the session acts for.'),
  actor: z.string().nullable().describe('Who opened it for the subject, where that was somebody else.'),
  status: GatewaySessionStatusSchema,
  issuedAt: TimestampSchema,
  expiresAt: TimestampSchema.describe(
    'Never later than the end of the API key that opened the session. Earlier than in the token where that key was rotated since: introspection tells.',
  ),
  revokedAt: TimestampSchema.nullable(),
  revokedReason: z
    .enum(['revoked', 'gateway_ended', 'principal_ended', 'key_ended', 'item_blocked'])
    .nullable()
    .describe(
      'Why it was revoked. gateway_ended: the gateway was disabled or deleted. principal_ended: its subject, or who opened it, lost access. key_ended: the API key that opened it was revoked, or rotated without an overlap. item_blocked: something that it grants was blocked. Null for a session that is not revoked.',
    ),
  gatewayUrl: z.string().nullable(),
  grantsDigest: z
    .string()
    .describe(
      '`sha256:` and the SHA-256, in hex, of the RFC 8785 form of `grants`: as in a token with `grants_digest`.',
    ),
  grantedItems: z.int().describe('How many items the session grants.'),
  metadata: MetadataSchema,
  ...timeFields,
};
const grantsField = { grants: z.array(GrantSchema) };

export const GatewaySessionSummarySchema = z.strictObject(sessionFields).meta({
  id: 'GatewaySessionSummary',
  description:
    'A gateway session without its grants, which may be long: `GET .../sessions/{session_id}/grants` lists them.',
});
export type GatewaySessionSummary = z.infer<typeof GatewaySessionSummarySchema>;

export const GatewaySessionSchema = z
  .strictObject({ ...sessionFields, ...grantsField })
  .meta({ id: 'GatewaySession', description: 'Leave to pass through a gateway for a while.' });
export type GatewaySession = z.infer<typeof GatewaySessionSchema>;

export const CreatedGatewaySessionSchema = z
  .strictObject({
    ...sessionFields,
    ...grantsField,
    token: z
      .string()
      .describe('A JWT (ES256, typ `qm-session+jwt`, aud the gateway) that gateways verify offline. Shown this once.'),
    tokenType: z.literal('Bearer'),
  })
  .meta({ id: 'CreatedGatewaySession', description: 'A new session, with its token.' });
export type CreatedGatewaySession = z.infer<typeof CreatedGatewaySessionSchema>;

export const CreateGatewaySessionInputSchema = z
  .strictObject({
    subject: SubjectSchema.nullish().describe(
      'Whom the session acts for: the caller, where left out. Another subject needs the scope `gateway_sessions:impersonate` wherever that subject belongs: a sub-tenant cannot act as an account or user of the whole tenant.',
    ),
    ttlSeconds: z
      .int()
      .min(60)
      .max(SESSION_TTL_MAX_SECONDS)
      .nullish()
      .describe("Seconds, 60 to 86,400, and not above the gateway's; the gateway's, where left out."),
    providerIds: z
      .array(z.string().max(128))
      .max(100)
      .nullish()
      .describe(
        "Only these of the gateway's providers; all, where left out. A session grants at most 10,000 items, and 1 MiB of them as JSON: beyond it, 422.",
      ),
    metadata: MetadataSchema.nullish(),
  })
  .meta({ id: 'CreateGatewaySessionInput' });
export type CreateGatewaySessionInput = z.infer<typeof CreateGatewaySessionInputSchema>;

export const IntrospectGatewaySessionInputSchema = z
  .strictObject({
    token: z.string().min(1).describe("A session's token."),
    token_type_hint: z.string().max(256).nullish().describe('As RFC 7662 has it; nothing depends on it.'),
  })
  .meta({ id: 'IntrospectGatewaySessionInput' });

const TokenActorSchema = z.strictObject({ sub: SubjectSchema }).meta({ id: 'TokenActor' });

/** Its members are named as RFC 7662 and the token name them. */
export const GatewaySessionIntrospectionSchema = z
  .union([
    z.strictObject({ active: z.literal(false) }).meta({ id: 'InactiveGatewaySession' }),
    z
      .strictObject({
        active: z.literal(true),
        iss: z.string().describe('The public URL of this service.'),
        sub: SubjectSchema.describe('Whom the session acts for.'),
        aud: z.string().describe("The gateway's id."),
        jti: z.string().describe("The session's id."),
        iat: z.int().describe('Seconds since 1970.'),
        exp: z.int().describe('Seconds since 1970.'),
        token_type: z.literal('Bearer'),
        client_id: SubjectSchema.describe('Who opened the session.'),
        tenant_id: z.string(),
        sub_tenant_id: z.string().optional(),
        act: TokenActorSchema.optional().describe(
          'Who opened the session for the subject, if that was somebody else (RFC 8693).',
        ),
        gateway_id: z.string(),
        session_id: z.string(),
        grants: z
          .array(GrantSchema)
          .describe('What the session was granted and is allowed still: never more than its token says.'),
        metadata: MetadataSchema,
      })
      .meta({ id: 'ActiveGatewaySession' }),
  ])
  .meta({ id: 'GatewaySessionIntrospection', description: 'What RFC 7662 calls an introspection response.' });
export type GatewaySessionIntrospection = z.infer<typeof GatewaySessionIntrospectionSchema>;

export const SessionGrantSchema = z
  .strictObject({
    providerId: z.string(),
    providerName: z.string(),
    kind: InventoryKindSchema,
    name: z.string(),
  })
  .meta({ id: 'SessionGrant', description: 'One item that a session grants.' });
export type SessionGrant = z.infer<typeof SessionGrantSchema>;

/** `status` follows from the times and the clock; the token is in one answer alone. */
const sessionRecord = { untagged: ['status', 'token', 'tokenType'] };

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
    "Answers the one token that gateways verify with the keys of `/.well-known/jwks.json`. It carries the grants; beyond 4 KiB of them, their digest. Granted is what the providers' inventories have, but for blocked and retired items, and what the gateway's manifest allows of that: `allow`, or of an agent's manifest what it `declares`. A subject has at most 1,000 open sessions at a gateway (`QM_MAX_OPEN_SESSIONS`): beyond it, 409 `session_limit_reached` until one ends.",
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
    'Lists the sessions of one gateway, newest first: active, expired and revoked ones, without their grants. `grantsDigest` tells which sessions grant the same.',
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
    'What a token is good for at this moment (RFC 7662), for gateways that must know at once of a revocation or a block. Whatever is no token of an active session of this gateway answers `{"active": false}`, and no reason. In a form, other parameters are ignored.',
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
    'Answers one session, active or ended, without its token: only the answer that opened the session has that.',
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
  description: "By provider, in the gateway's order, then by kind and name. What a session grants never changes.",
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
  description: 'The record stays, as revoked; revoking it again is 404.',
  params: session,
  record: sessionRecord,
  ifMatch: sessionRecord,
  output: GatewaySessionSchema,
  errors: ['gateway_not_found', 'gateway_session_not_found'],
});
