import { z } from 'zod';
import { DisplayNameSchema, TimestampSchema, tenancyFields } from './fields.ts';
import { MembershipStatusSchema } from './memberships.ts';
import { operation } from './operation.ts';
import { RoleSchema, ScopeSchema } from './scopes.ts';
import { UserStatusSchema } from './users.ts';

/** The maximum number of places in the answer. A caller with more places still reaches all of them. */
export const MAX_PLACES_LISTED = 1000;

const TenantNameSchema = DisplayNameSchema.nullable().describe('The display name of the tenant. Null if it has none.');

const CallerAuthenticationSchema = z
  .strictObject({
    scheme: z
      .enum(['api_key', 'bearer', 'session'])
      .describe('`session`: the cookie of the web console, which only browsers have.'),
    keyId: z.string().nullable().describe('The id of the API key. Null for users.'),
    sessionId: z.string().nullable().describe('The id of the console session. Null for API keys and bearer tokens.'),
    expiresAt: TimestampSchema.nullable().describe(
      'When the API key or the console session ends at the latest. Null if it never ends, or for a bearer token.',
    ),
  })
  .meta({ id: 'CallerAuthentication', description: 'How the caller authenticated.' });

const CallerPlaceSchema = z
  .strictObject({
    ...tenancyFields,
    tenantDisplayName: TenantNameSchema,
    scopes: z
      .array(ScopeSchema)
      .describe('All scopes that the caller holds here, including those of a role in the whole tenant.'),
  })
  .meta({ id: 'CallerPlace', description: 'A tenant or sub-tenant, and what the caller may do there.' });

const CallerMembershipSchema = z
  .strictObject({
    ...tenancyFields,
    tenantDisplayName: TenantNameSchema,
    role: RoleSchema,
    status: MembershipStatusSchema,
    expiresAt: TimestampSchema.nullable().describe(
      'Until when a pending membership can be accepted. Null after it was accepted.',
    ),
  })
  .meta({ id: 'CallerMembership', description: 'The role of a user in a tenant or sub-tenant, accepted or pending.' });

export const MeSchema = z
  .strictObject({
    kind: z.enum(['user', 'service_account']),
    id: z.string(),
    principal: z
      .string()
      .describe('How records and audit events name the caller: `user:<id>` or `service_account:<tenant>/<id>`.'),
    tenantId: z.string().nullable().describe('The tenant of a service account. Null for a user.'),
    email: z.string().nullable().describe('The email of a user. Null for a service account.'),
    displayName: DisplayNameSchema.nullable(),
    status: UserStatusSchema.nullable().describe('The status of a user. Null for a service account.'),
    locale: z.string().nullable().describe('The language of the user, as a BCP 47 tag.'),
    timeZone: z.string().nullable().describe('The time zone of the user, as a name of the IANA database.'),
    termsAccepted: z
      .boolean()
      .describe('Whether the caller has accepted the terms. Until then, a user may do little else.'),
    platformAdministrator: z.boolean().describe('Whether the caller holds `platformScopes` in every tenant.'),
    platformScopes: z
      .array(ScopeSchema)
      .describe('The scopes that a platform administrator holds in every tenant. Empty for others.'),
    places: z
      .array(CallerPlaceSchema)
      .max(MAX_PLACES_LISTED)
      .describe(
        'The places where the caller holds scopes, sorted by tenant and sub-tenant. Empty until the terms are accepted. Platform administrators reach every tenant, but only the places that they belong to are listed.',
      ),
    memberships: z
      .array(CallerMembershipSchema)
      .describe('The memberships of a user, including the 100 newest pending ones. Empty for a service account.'),
    authentication: CallerAuthenticationSchema,
  })
  .meta({ id: 'Me', description: 'Who is calling, and what the caller may do.' });
export type Me = z.infer<typeof MeSchema>;

export const getMe = operation({
  method: 'GET',
  path: '/v1/me',
  operationId: 'get_me',
  scope: null,
  allowedBeforeTerms: true,
  tag: 'Users',
  summary: 'Get the caller',
  description:
    'Returns who the credential belongs to, where it is valid, and which scopes it holds there. A bearer token belongs to a user, an API key to a service account. No scope is needed, and users who have not accepted the terms may call it, too.',
  output: MeSchema,
});
