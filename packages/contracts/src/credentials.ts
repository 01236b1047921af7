import { z } from 'zod';
import {
  SubTenantIdSchema,
  TenantIdSchema,
  TimestampInputSchema,
  TimestampSchema,
  tenancySearchFields,
  timeFields,
} from './fields.ts';
import { operation } from './operation.ts';
import { page, pageFields } from './pages.ts';
import { ScopeSchema } from './scopes.ts';

/** A credential is `expiring` if it expires within this many days. */
export const EXPIRING_DAYS = 14;

export const CredentialKindSchema = z.enum(['api_key', 'provider_secret', 'signing_key']).meta({
  id: 'CredentialKind',
  description:
    '`api_key`: of a service account. `provider_secret`: the credential of a provider. `signing_key`: signs session tokens and the heads of audit chains.',
});

export const CredentialStatusSchema = z.enum(['active', 'expiring', 'expired', 'revoked']).meta({
  id: 'CredentialStatus',
  description: `\`expiring\`: the credential works now, and expires within ${EXPIRING_DAYS} days.`,
});

/** The fields of a credential. The answer to the creation of an API key adds the key itself. */
export const credentialFields = {
  id: z.string(),
  tenantId: TenantIdSchema.nullable().describe(
    'The tenant that the credential belongs to. Null for credentials of the platform.',
  ),
  subTenantId: SubTenantIdSchema,
  kind: CredentialKindSchema,
  name: z.string().nullable(),
  ownerType: z.enum(['service_account', 'provider', 'platform']),
  ownerId: z
    .string()
    .nullable()
    .describe('The id of the service account or provider. Null for credentials of the platform.'),
  prefix: z
    .string()
    .nullable()
    .describe('The first characters of an API key, so that people can recognise it. They are not enough to use it.'),
  scopes: z.array(ScopeSchema).describe('The scopes of an API key. Empty for other kinds.'),
  status: CredentialStatusSchema,
  expiresAt: TimestampSchema.nullable().describe('When the credential stops working. Null: never.'),
  lastUsedAt: TimestampSchema.nullable().describe(
    'When the credential was last used, accurate to the minute. Null: never.',
  ),
  createdBy: z
    .string()
    .nullable()
    .describe('Who created it: `user:<id>` or `service_account:<tenant>/<id>`. Null if the service created it.'),
  createdByKey: z
    .string()
    .nullable()
    .describe('The id of the API key that created this one. Null if a user or the service created it.'),
  revokedAt: TimestampSchema.nullable(),
  rotationCount: z
    .int()
    .describe('How many earlier keys or secrets this one replaced, one after the other. 0 for the first.'),
  slot: z
    .enum(['current', 'standby', 'header', 'former'])
    .nullable()
    .describe(
      'For the secret of a provider. `current`: syncs use it. `standby`: it waits to replace the current one. `header`: syncs send it in a header of its own. `former`: it was replaced. Null for other kinds.',
    ),
  header: z
    .string()
    .nullable()
    .describe("The request header in which a provider's secret is sent. Null for other kinds."),
  ...timeFields,
};

export const CredentialSchema = z
  .strictObject(credentialFields)
  .meta({ id: 'Credential', description: 'The metadata of a key or secret. The secret itself is never returned.' });
export type Credential = z.infer<typeof CredentialSchema>;

/** `status` depends on the clock, and only one answer has `key`. */
export const credentialRecord = { tagExcludes: ['key', 'status', 'lastUsedAt'] };

export const SearchCredentialsInputSchema = z
  .strictObject({
    ...tenancySearchFields,
    ids: z.array(z.string().max(128)).max(100).nullish().describe('Only credentials with one of these ids.'),
    name: z.string().max(200).nullish().describe('Only credentials with exactly this name.'),
    query: z
      .string()
      .max(200)
      .nullish()
      .describe('Only credentials whose id, name or prefix contains this text, compared case-insensitively.'),
    kind: CredentialKindSchema.nullish().describe('Only credentials of this kind.'),
    status: CredentialStatusSchema.nullish().describe('Only credentials with this status.'),
    ownerId: z.string().max(128).nullish().describe('Only credentials of this service account or provider.'),
    providerId: z.string().max(128).nullish().describe('Only secrets of this provider.'),
    expiresBefore: TimestampInputSchema.nullish().describe('Only credentials that expire before this time.'),
    unusedSince: TimestampInputSchema.nullish().describe(
      'Only credentials that were created before this time and have not been used since.',
    ),
    createdAfter: TimestampInputSchema.nullish().describe('Only credentials that were created after this time.'),
    createdBefore: TimestampInputSchema.nullish().describe('Only credentials that were created before this time.'),
    sort: z
      .enum(['created_at', 'expires_at'])
      .nullish()
      .describe(
        '`created_at`: newest first, which is also the order without this field. `expires_at`: only credentials that work now and expire at some time, those that expire next first. This order is 422 if there are more than 20,000 of them in reach: name a tenant, or send `expiresBefore`.',
      ),
    ...pageFields,
  })
  .meta({
    id: 'SearchCredentialsInput',
    description: 'The conditions of a search. A credential must meet all of them.',
    examples: [{ kind: 'api_key', status: 'active', expiresBefore: '2026-12-31T00:00:00Z' }],
  });
export type SearchCredentialsInput = z.infer<typeof SearchCredentialsInputSchema>;

export const searchCredentials = operation({
  method: 'POST',
  path: '/v1/credentials/search',
  operationId: 'search_credentials',
  ignoresUnknownQuery: true,
  scope: 'credentials:read',
  tag: 'Credentials',
  summary: 'Search credentials',
  description:
    'Searches API keys, provider secrets and, for platform administrators, the signing keys of the service, newest first or by their expiry. Returns only metadata.',
  body: SearchCredentialsInputSchema,
  bodyOptional: true,
  readOnly: true,
  output: page('CredentialPage', CredentialSchema),
});
