import type { IncomingMessage } from 'node:http';
import { ApiError } from '../errors.ts';
import { callerRequestIdOf } from '../http/request-id.ts';
import type { Services } from '../services.ts';
import { principalOfApiKey } from './api-key.ts';
import type { Principal } from './principal.ts';
import { principalOfToken } from './users.ts';

/**
 * Who is calling, by the headers alone: a credential in the query string is never read. Null where none was sent.
 *
 * @throws 400 for more than one credential; 401 for one that is not valid; 403 for a token of somebody unknown or
 * disabled; 503 while the identity provider is away
 */
export async function authenticate(
  services: Services,
  req: IncomingMessage,
  requestId: string,
): Promise<Principal | null> {
  const authorizations = valuesOf(req, 'authorization');
  const keys = valuesOf(req, 'x-api-key');
  if (authorizations.length + keys.length > 1) {
    throw new ApiError('credentials_ambiguous', 'Send one credential: Authorization or X-API-Key, once.');
  }
  const [authorization] = authorizations;
  if (authorization !== undefined) {
    const request = { requestId, callerRequestId: callerRequestIdOf(req) };
    return principalOfToken(services, bearerOf(authorization), request);
  }
  const [key] = keys;
  return key === undefined ? null : principalOfApiKey(services, key);
}

/** Every header of a name (in lower case) as it was sent: Node drops repeated ones from `headers`, or joins them. */
function valuesOf({ rawHeaders }: IncomingMessage, name: string): string[] {
  const values: string[] = [];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const [given = '', value = ''] = [rawHeaders[at], rawHeaders[at + 1]];
    if (given.length === name.length && given.toLowerCase() === name) values.push(value);
  }
  return values;
}

/** RFC 6750, section 2.1; the scheme's case does not count (RFC 9110, section 11.1). */
function bearerOf(authorization: string): string {
  const token = /^bearer +([A-Za-z0-9._~+/-]+=*)$/i.exec(authorization)?.[1];
  if (token !== undefined) return token;
  throw new ApiError('credentials_invalid', 'The Authorization header carries no bearer token.', {
    headers: { 'WWW-Authenticate': 'Bearer error="invalid_token", error_description="no bearer token"' },
  });
}
