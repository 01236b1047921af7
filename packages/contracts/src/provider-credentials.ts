import { z } from 'zod';
import { CredentialSchema, credentialRecord } from './credentials.ts';
import { LookupIdSchema, NameInputSchema, TimestampInputSchema } from './fields.ts';
import { operation } from './operation.ts';

/** A token (RFC 9110, section 5.6.2). Header names and authentication schemes are tokens. */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/**
 * Headers that control how a request is sent and read. A secret there would break the request, or leak into logs and
 * other systems. `__proto__` is refused because HTTP clients that keep headers in objects would never send it.
 */
const RESERVED_HEADER =
  /^(__proto__|accept|accept-.*|access-control-.*|connection|content-.*|cookie2?|date|expect|forwarded|host|keep-alive|last-event-id|mcp-.*|origin|proxy-.*|range|referer|sec-.*|set-cookie2?|te|trailer|transfer-encoding|upgrade|user-agent|via|x-forwarded-.*)$/i;

export const PutProviderCredentialInputSchema = z
  .strictObject({
    secret: z
      .string()
      .min(1)
      .max(4096)
      .refine((text) => /^[\x20-\x7e]*$/.test(text) && text === text.trim(), {
        error: 'secret should have only printable ASCII characters, and should not begin or end with a space',
      })
      .describe(
        'The secret, 1 to 4096 printable ASCII characters. It is encrypted at rest, sent to the provider only by syncs, and never returned.',
      ),
    name: NameInputSchema.nullish(),
    header: z
      .string()
      .min(1)
      .max(128)
      .refine((text) => TOKEN.test(text) && !RESERVED_HEADER.test(text), {
        error: 'header should be a header name that can carry credentials',
      })
      .nullish()
      .describe('The request header in which the secret is sent. If it is left out: `Authorization`.'),
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
