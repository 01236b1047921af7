import { z } from 'zod';
import { CredentialSchema, credentialRecord } from './credentials.ts';
import { LookupIdSchema, NameInputSchema, TimestampInputSchema } from './fields.ts';
import { operation } from './operation.ts';

/** The characters of a token (RFC 9110, section 5.6.2), which header names and schemes are. */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/**
 * Headers that say how a request travels and is read: a secret there would break it, or show up elsewhere. `__proto__` is
 * lost where headers are kept in objects, as HTTP clients do: it would never be sent.
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
        error: 'secret should have printable ASCII characters alone, and no spaces around it',
      })
      .describe('Encrypted at rest, sent to the provider by syncs alone, and never answered.'),
    name: NameInputSchema.nullish(),
    header: z
      .string()
      .min(1)
      .max(128)
      .refine((text) => TOKEN.test(text) && !RESERVED_HEADER.test(text), {
        error: 'header should be the name of a header that is free for credentials',
      })
      .nullish()
      .describe('The request header that it goes in. Where left out: `Authorization`.'),
    scheme: z
      .string()
      .min(1)
      .max(32)
      .regex(TOKEN)
      .nullish()
      .describe('The word before it. Where left out: `Bearer` in `Authorization`, none elsewhere. null: none.'),
    expiresAt: TimestampInputSchema.nullish().describe('When it ends, in the future; it is not sent from then on.'),
    standby: z
      .boolean()
      .default(false)
      .describe('Keeps it beside the one in use, until a `rotate_credential` recommendation is applied.'),
  })
  .meta({ id: 'PutProviderCredentialInput' });
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
    'The one that it replaces is revoked, and its secret erased. The credential is bound to the base URL that the provider has now: it is sent to this origin and below this path alone. A change of the base URL to an address outside of it revokes the credential.',
  params,
  body: PutProviderCredentialInputSchema,
  confidentialBody: true,
  record: credentialRecord,
  ifMatch: credentialRecord,
  output: CredentialSchema,
  errors: ['provider_not_found'],
});

export const deleteProviderCredential = operation({
  method: 'DELETE',
  path: '/v1/providers/{provider_id}/credential',
  operationId: 'delete_provider_credential',
  scope: 'credentials:write',
  tag,
  summary: 'Delete the credential of a provider',
  description: 'Revokes it and the one on standby, and erases their secrets. Answers the final record.',
  params,
  record: credentialRecord,
  ifMatch: credentialRecord,
  output: CredentialSchema,
  errors: ['provider_not_found', 'provider_credential_not_found'],
});
