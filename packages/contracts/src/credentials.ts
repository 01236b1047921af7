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

/** A credential that ends within this many days is `expiring`. */
export const EXPIRING_DAYS = 14;

export const CredentialKindSchema = z
  .enum(['api_key', 'provider_secret', 'signing_key'])
  .meta({ id: 'CredentialKind' });

export const CredentialStatusSchema = z.enum(['active', 'expiring', 'expired', 'revoked']).meta({
  id: 'CredentialStatus',
  description: `A credential is \`expiring\` when it works now and ends within ${EXPIRING_DAYS} days.`,
});

/** The fields of a credential's record; the answer of a key's creation adds the key itself. */
export const credentialFields = {
  id: z.string(),
  tenantId: TenantIdSchema.nullable().describe("The tenant that it belongs to; null for the platform's own."),
  subTenantId: SubTenantIdSchema,
  kind: CredentialKindSchema,
  name: z.string().nullable(),
  ownerType: z.enum(['service_account', 'provider', 'platform']),
  ownerId: z.string().nullable().describe("The service account or provider; null for the platform's own."),
  prefix: z.string().nullable().describe('The start of an API key, to recognise it by; never enough to use it.'),
  scopes: z.array(ScopeSchema).describe('What an API key may do. Empty for other kinds.'),
  status: CredentialStatusSchema,
  expiresAt: TimestampSchema.nullable(),
  lastUsedAt: TimestampSchema.nullable().describe('To the minute.'),
  createdBy: z
    .string()
    .nullable()
    .describe('`user:<id>` or `service_account:<tenant>/<id>`; null where the service made it.'),
  revokedAt: TimestampSchema.nullable(),
  rotationCount: z.int().describe('How many keys this one followed.'),
  slot: z
    .enum(['current', 'standby', 'former'])
    .nullable()
    .describe("Of a provider's secret: in use, waiting to be, or in use before. null for other kinds."),
  header: z.string().nullable().describe("The request header that a provider's secret goes in. null for other kinds."),
  ...timeFields,
};

export const CredentialSchema = z
  .strictObject(credentialFields)
  .meta({ id: 'Credential', description: 'A key or secret, as metadata. The secret itself never leaves.' });
export type Credential = z.infer<typeof CredentialSchema>;

/** `status` follows from the other times and the clock; `key` is in one answer alone. */
export const credentialRecord = { untagged: ['key', 'status', 'lastUsedAt'] };

export const SearchCredentialsInputSchema = z
  .strictObject({
    ...tenancySearchFields,
    ids: z.array(z.string().max(128)).max(100).nullish().describe('Only credentials with one of these ids.'),
    name: z.string().max(200).nullish().describe('Only credentials of exactly this name.'),
    query: z
      .string()
      .max(200)
      .nullish()
      .describe('Only credentials that have this text, in any case, in id, name or prefix.'),
    kind: CredentialKindSchema.nullish().describe('Only credentials of this kind.'),
    status: CredentialStatusSchema.nullish().describe('Only credentials with this status.'),
    ownerId: z.string().max(128).nullish().describe('Only credentials of this service account or provider.'),
    providerId: z.string().max(128).nullish().describe('Only secrets of this provider.'),
    expiresBefore: TimestampInputSchema.nullish().describe('Only credentials that end before this time.'),
    unusedSince: TimestampInputSchema.nullish().describe('Only credentials made before this time and not used since.'),
    createdAfter: TimestampInputSchema.nullish().describe('Only credentials made after this time.'),
    createdBefore: TimestampInputSchema.nullish().describe('Only credentials made before this time.'),
    ...pageFields,
  })
  .meta({ id: 'SearchCredentialsInput' });
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
    "API keys, provider secrets and, for platform administrators, the service's signing keys: metadata only.",
  body: SearchCredentialsInputSchema,
  bodyOptional: true,
  readOnly: true,
  output: page('CredentialPage', CredentialSchema),
});
