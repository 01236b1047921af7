import { z } from 'zod';
import { CredentialSchema, CredentialStatusSchema, credentialFields, credentialRecord } from './credentials.ts';
import { accountPlaceFields, LookupIdSchema, NameInputSchema, TimestampInputSchema } from './fields.ts';
import { operation } from './operation.ts';
import { page, pageFields } from './pages.ts';
import { ScopeSchema } from './scopes.ts';

export const CreatedKeySchema = z
  .strictObject({
    ...credentialFields,
    key: z
      .string()
      .describe('The API key: `qm_<key id>_<secret><checksum>`. Shown this once; only its digest is kept.'),
  })
  .meta({ id: 'CreatedKey', description: 'A new API key. The key itself is in this answer alone.' });
export type CreatedKey = z.infer<typeof CreatedKeySchema>;

export const CreateKeyInputSchema = z
  .strictObject({
    name: NameInputSchema.nullish(),
    scopes: z.array(ScopeSchema).min(1).max(64).describe('What the key may do: nothing that its maker may not.'),
    expiresAt: TimestampInputSchema.nullish().describe('When it stops working, in the future; never where left out.'),
  })
  .meta({ id: 'CreateKeyInput' });
export type CreateKeyInput = z.infer<typeof CreateKeyInputSchema>;

export const RotateKeyInputSchema = z
  .strictObject({
    overlapSeconds: z
      .int()
      .min(0)
      .max(7 * 24 * 3600)
      .default(3600)
      .describe('How long the old key works beside the new one: 0 to 604,800. With 0 it ends at once.'),
    expiresAt: TimestampInputSchema.nullish().describe(
      "When the new key stops working; where left out, after the old one's whole lifetime.",
    ),
  })
  .meta({ id: 'RotateKeyInput' });
export type RotateKeyInput = z.infer<typeof RotateKeyInputSchema>;

const tag = 'Service accounts';
const account = { service_account_id: LookupIdSchema.describe("The account's id.") };
const key = { ...account, key_id: LookupIdSchema.describe("The key's id.") };
const query = accountPlaceFields;
const notFound = ['service_account_not_found', 'ambiguous_id'] as const;

export const createServiceAccountKey = operation({
  method: 'POST',
  path: '/v1/service-accounts/{service_account_id}/keys',
  operationId: 'create_service_account_key',
  scope: 'credentials:write',
  tag,
  summary: 'Create an API key',
  description:
    'Creates an API key for the account. Only this answer holds the key: store it at once. The key can hold no scope that the caller does not hold (403), and the account must be active (409).',
  params: account,
  query,
  body: CreateKeyInputSchema,
  record: credentialRecord,
  output: CreatedKeySchema,
  errors: [...notFound, 'grant_exceeds_own', 'platform_administrator_required', 'service_account_not_active'],
});

export const listServiceAccountKeys = operation({
  method: 'GET',
  path: '/v1/service-accounts/{service_account_id}/keys',
  operationId: 'list_service_account_keys',
  scope: 'credentials:read',
  tag,
  summary: 'List the API keys of an account',
  description:
    'Lists the keys of one account, newest first, also expired and revoked ones. It answers metadata only: a key itself is shown once, when it is created.',
  params: account,
  query: {
    ...query,
    status: CredentialStatusSchema.nullish().describe('Only keys with this status.'),
    ...pageFields,
  },
  output: page('ServiceAccountKeyPage', CredentialSchema),
  errors: notFound,
});

export const rotateServiceAccountKey = operation({
  method: 'POST',
  path: '/v1/service-accounts/{service_account_id}/keys/{key_id}/rotate',
  operationId: 'rotate_service_account_key',
  scope: 'credentials:write',
  tag,
  summary: 'Rotate an API key',
  description: 'Makes a new key with the same name and scopes. The old one works until the overlap ends.',
  params: key,
  query,
  body: RotateKeyInputSchema,
  bodyOptional: true,
  record: credentialRecord,
  ifMatch: credentialRecord,
  output: CreatedKeySchema,
  errors: [
    ...notFound,
    'key_not_found',
    'key_not_active',
    'grant_exceeds_own',
    'platform_administrator_required',
    'service_account_not_active',
  ],
});

export const revokeServiceAccountKey = operation({
  method: 'DELETE',
  path: '/v1/service-accounts/{service_account_id}/keys/{key_id}',
  operationId: 'revoke_service_account_key',
  scope: 'credentials:write',
  tag,
  summary: 'Revoke an API key',
  description: 'It stops working at once. The record stays, as revoked; revoking it again is 404.',
  params: key,
  query,
  record: credentialRecord,
  ifMatch: credentialRecord,
  output: CredentialSchema,
  errors: [...notFound, 'key_not_found', 'platform_administrator_required'],
});
