import { z } from 'zod';
import { CredentialSchema, credentialRecord } from './credentials.ts';
import { LookupIdSchema, NameInputSchema, TimestampInputSchema } from './fields.ts';
import { isHeaderValue, MAX_SECRET_HEADERS, SecretHeaderNameSchema, TOKEN } from './header-fields.ts';
import { operation } from './operation.ts';

const SecretSchema = z
  .string()
  .min(1)
  .max(4096)
  .refine(isHeaderValue, {
    error: 'secret should have only printable ASCII characters, and should not begin or end with a space',
  })
  .describe(
    'The secret, 1 to 4096 printable ASCII characters. It is encrypted at rest, sent to the provider only by syncs, and never returned.',
  );

export const PutProviderCredentialInputSchema = z
  .strictObject({
    secret: SecretSchema,
    name: NameInputSchema.nullish(),
    header: SecretHeaderNameSchema.nullish().describe(
      'The request header in which the secret is sent. If it is left out: `Authorization`.',
    ),
    scheme: z
      .string()
      .min(1)
      .max(32)
      .regex(TOKEN)
      .nullish()
      .describe(
        'The authentication scheme before the secret. If it is left out: `Bearer` in the header `Authorization`, none in other headers. Null: none.',
      ),
    expiresAt: TimestampInputSchema.nullish().describe(
      'When the credential expires: a time in the future. It is not sent after that.',
    ),
    standby: z
      .boolean()
      .default(false)
      .describe(
        'If true: stores the credential as `standby`. Applying a `rotate_credential` recommendation puts it in use.',
      ),
  })
  .meta({
    id: 'PutProviderCredentialInput',
    description: 'A secret, and how it is sent to the provider.',
    examples: [{ secret: 'the-key-of-the-provider', expiresAt: '2027-01-31T00:00:00Z' }],
  });
export type PutProviderCredentialInput = z.infer<typeof PutProviderCredentialInputSchema>;

const tag = 'Providers';
const params = { provider_id: LookupIdSchema.describe("The provider's id.") };

export const putProviderCredential = operation({
  method: 'PUT',
  path: '/v1/providers/{provider_id}/credential',
  operationId: 'put_provider_credential',
  scope: 'credentials:write',
  tag,
  summary: 'Set the credential of a provider',
  description:
    'Stores a secret that syncs use to ask the provider what it offers. The credential that it replaces is revoked, and its secret erased. The new credential is bound to the current base URL of the provider: it is sent only to this origin, below this path. Changing the base URL to an address outside of that revokes the credential.',
  params,
  body: PutProviderCredentialInputSchema,
  confidentialBody: true,
  record: credentialRecord,
  ifMatch: credentialRecord,
  output: CredentialSchema,
  errors: ['tenant_limit_reached', 'provider_not_found'],
});

export const deleteProviderCredential = operation({
  method: 'DELETE',
  path: '/v1/providers/{provider_id}/credential',
  operationId: 'delete_provider_credential',
  scope: 'credentials:write',
  tag,
  summary: 'Delete the credential of a provider',
  description:
    'Revokes the current credential and the standby one, and erases their secrets. Returns the current credential, as `revoked`.',
  params,
  record: credentialRecord,
  ifMatch: credentialRecord,
  output: CredentialSchema,
  errors: ['provider_not_found', 'provider_credential_not_found'],
});

const secretHeader = {
  ...params,
  header_name: SecretHeaderNameSchema.describe('The name of the header. Upper and lower case are the same.'),
};

export const PutProviderSecretHeaderInputSchema = z.strictObject({ secret: SecretSchema }).meta({
  id: 'PutProviderSecretHeaderInput',
  description: 'The secret value of a header.',
  examples: [{ secret: 'the-organization-of-the-account' }],
});
export type PutProviderSecretHeaderInput = z.infer<typeof PutProviderSecretHeaderInputSchema>;

export const putProviderSecretHeader = operation({
  method: 'PUT',
  path: '/v1/providers/{provider_id}/secret-headers/{header_name}',
  operationId: 'put_provider_secret_header',
  scope: 'credentials:write',
  tag,
  summary: 'Set a secret header of a provider',
  description: `Stores the secret value of a header that syncs send beside the credential. It is kept, bound to the base URL and revoked like the credential, and listed with the slot \`header\`. The value that it replaces is revoked and erased. A provider has at most ${MAX_SECRET_HEADERS} secret headers. If the credential is sent in the same header, only the credential is sent.`,
  params: secretHeader,
  body: PutProviderSecretHeaderInputSchema,
  confidentialBody: true,
  record: credentialRecord,
  ifMatch: credentialRecord,
  output: CredentialSchema,
  errors: ['tenant_limit_reached', 'provider_not_found'],
});

export const deleteProviderSecretHeader = operation({
  method: 'DELETE',
  path: '/v1/providers/{provider_id}/secret-headers/{header_name}',
  operationId: 'delete_provider_secret_header',
  scope: 'credentials:write',
  tag,
  summary: 'Delete a secret header of a provider',
  description: 'Revokes the secret header, and erases its value. Returns its record, as `revoked`.',
  params: secretHeader,
  record: credentialRecord,
  ifMatch: credentialRecord,
  output: CredentialSchema,
  errors: ['provider_not_found', 'provider_credential_not_found'],
});
