import { z } from 'zod';

/** A token (RFC 9110, section 5.6.2). Header names and authentication schemes are tokens. */
export const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/**
 * Headers that control how a request is sent and read. A secret there would break the request, or leak into logs and
 * other systems. `__proto__` is refused because HTTP clients that keep headers in objects would never send it.
 */
const RESERVED_HEADER =
  /^(__proto__|accept|accept-.*|access-control-.*|connection|content-.*|cookie2?|date|expect|forwarded|host|keep-alive|last-event-id|mcp-.*|origin|proxy-.*|range|referer|sec-.*|set-cookie2?|te|trailer|transfer-encoding|upgrade|user-agent|via|x-forwarded-.*)$/i;

/** Headers that always carry credentials. Their values belong into the vault, not into a field that everybody reads. */
const CREDENTIAL_HEADER = /^(authorization|(x-|x-goog-)?api-key|x-auth-token|x-amz-security-token)$/i;

/** The maximum number of headers in the clear of a provider. */
const MAX_HEADERS = 20;

/** The maximum number of secret headers of a provider. */
export const MAX_SECRET_HEADERS = 10;

/** The maximum size of all names and values together, in bytes. Servers refuse requests with more than 8 to 16 KiB of headers. */
const MAX_HEADER_BYTES = 4096;

/** The name of a header that can carry a secret. */
export const SecretHeaderNameSchema = z
  .string()
  .min(1)
  .max(128)
  .refine((text) => TOKEN.test(text) && !RESERVED_HEADER.test(text), {
    error: 'header should be a header name that can carry credentials',
  });

export const ProviderHeaderSchema = z
  .strictObject({ name: z.string(), value: z.string() })
  .meta({ id: 'ProviderHeader', description: 'A request header that is sent to a provider.' });

const ProviderHeaderInputSchema = z
  .strictObject({
    name: z
      .string()
      .min(1)
      .max(128)
      .refine((text) => TOKEN.test(text) && !RESERVED_HEADER.test(text) && !CREDENTIAL_HEADER.test(text), {
        error: 'header should be a header name that is not reserved, and that does not carry credentials',
      })
      .describe('The name of the header. Headers that control the connection, and those of credentials, are refused.'),
    value: z
      .string()
      .min(1)
      .max(1024)
      .refine(isHeaderValue, {
        error: 'value should have only printable ASCII characters, and should not begin or end with a space',
      })
      .describe('The value, 1 to 1024 printable ASCII characters. Everybody who may read the provider can read it.'),
  })
  .meta({ id: 'ProviderHeaderInput', description: 'A request header that is sent to a provider.' });

export const ProviderHeadersInputSchema = z
  .array(ProviderHeaderInputSchema)
  .max(MAX_HEADERS)
  .refine((headers) => new Set(headers.map(({ name }) => name.toLowerCase())).size === headers.length, {
    error: 'headers should have different names',
  })
  .refine((headers) => bytesOf(headers) <= MAX_HEADER_BYTES, {
    error: `headers should have at most ${MAX_HEADER_BYTES} bytes in all`,
  })
  .describe(
    `Headers that syncs send to the provider, at most ${MAX_HEADERS} with ${MAX_HEADER_BYTES} bytes in all. Secret values have an operation of their own. Setting it replaces all headers.`,
  );

/** Whether a text can be sent as the value of a header, as it is. */
export function isHeaderValue(text: string): boolean {
  return /^[\x20-\x7e]*$/.test(text) && text === text.trim();
}

function bytesOf(headers: readonly { name: string; value: string }[]): number {
  return headers.reduce((sum, { name, value }) => sum + name.length + value.length, 0);
}
