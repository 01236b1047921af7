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
      .describe(
        'The API key: `qm_<key id>_<secret><checksum>`. Only this answer has it; the service stores only a digest.',
      ),
  })
  .meta({ id: 'CreatedKey', description: 'A new API key. Only this answer has the key itself.' });
export type CreatedKey = z.infer<typeof CreatedKeySchema>;

export const CreateKeyInputSchema = z
  .strictObject({
    name: NameInputSchema.nullish(),
    scopes: z
      .array(ScopeSchema)
      .min(1)
      .max(64)
      .describe('The scopes of the key. The caller must hold each of them (403).'),
    expiresAt: TimestampInputSchema.nullish().describe(
      'When the key stops working: a time in the future. If it is left out: when the API key of the caller ends, or never. A later end than that of the API key of the caller is 403 `grant_exceeds_own`.',
    ),
  })
  .meta({
    id: 'CreateKeyInput',
    description: 'A new API key.',
    examples: [{ name: 'exporter', scopes: ['traces:write'], expiresAt: '2027-01-31T00:00:00Z' }],
  });
export type CreateKeyInput = z.infer<typeof CreateKeyInputSchema>;

export const RotateKeyInputSchema = z
  .strictObject({
    overlapSeconds: z
      .int()
      .min(0)
      .max(7 * 24 * 3600)
      .default(3600)
      .describe('How long the old key keeps working, in seconds: 0 to 604,800. 0: it ends at once.'),
    expiresAt: TimestampInputSchema.nullish().describe(
      'When the new key stops working: a time in the future. If it is left out, the new key gets the lifetime that the old key had from its creation to its end, but it ends with the API key of the caller at the latest. A later end than that of the API key of the caller is 403 `grant_exceeds_own`.',
    ),
  })
  .meta({
    id: 'RotateKeyInput',
    description: 'When the old key and the new key end.',
    examples: [{ overlapSeconds: 3600 }],
  });
export type RotateKeyInput = z.infer<typeof RotateKeyInputSchema>;

const tag = 'Service accounts';
const account = { service_account_id: LookupIdSchema.describe('The id of the service account.') };
const key = { ...account, key_id: LookupIdSchema.describe('The id of the API key.') };
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
    'Creates an API key for the account. Only this answer has the key, so store it at once. The key can have no scope that the caller does not hold (403), and the account must be active (409).',
  params: account,
  query,
  body: CreateKeyInputSchema,
  record: credentialRecord,
  output: CreatedKeySchema,
  errors: [
    'tenant_limit_reached',
    ...notFound,
    'grant_exceeds_own',
    'platform_administrator_required',
    'service_account_not_active',
  ],
});

export const listServiceAccountKeys = operation({
  method: 'GET',
  path: '/v1/service-accounts/{service_account_id}/keys',
  operationId: 'list_service_account_keys',
  scope: 'credentials:read',
  tag,
  summary: 'List the API keys of an account',
  description:
    'Lists the API keys of one account, newest first, including expired and revoked ones. Returns only metadata: a key itself is shown once, when it is created.',
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
  description:
    'Creates a new key with the same name and scopes. The old key works until the overlap ends. The gateway sessions and pending invitations that it created end with it.',
  params: key,
  query,
  body: RotateKeyInputSchema,
  bodyOptional: true,
  record: credentialRecord,
  ifMatch: credentialRecord,
  output: CreatedKeySchema,
  errors: [
    'tenant_limit_reached',
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
  description:
    'Ends the key at once, with the gateway sessions and pending invitations that it created. API keys that it created keep working; `POST /v1/derived-access/revoke` revokes them. The record stays, as `revoked`. 404 if the key is already revoked.',
  params: key,
  query,
  record: credentialRecord,
  ifMatch: credentialRecord,
  output: CredentialSchema,
  errors: [...notFound, 'key_not_found', 'platform_administrator_required'],
});
