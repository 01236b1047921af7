import type { IncomingMessage } from 'node:http';
import { ApiError } from '../platform/errors.ts';
import { callerRequestIdOf } from '../platform/request-id.ts';
import { principalOfApiKey } from './api-key.ts';
import { principalOfSession } from './console-sessions.ts';
import type { Principal } from './principal.ts';
import type { AuthServices } from './trusted-issuer.ts';
import { principalOfToken } from './users.ts';

/**
 * The principal of a request, from its headers; null if it has no credential. Credentials in the query string are never read.
 * The session cookie of the web console is used only without an Authorization or X-API-Key header.
 *
 * @throws 400 for more than one credential; 401 for an invalid one; 403 for the token of an unknown or disabled user, and for
 *   a write with the cookie that another site may have caused; 503 if the identity provider cannot be reached
 */
export async function authenticate(
  services: AuthServices,
  req: IncomingMessage,
  requestId: string,
): Promise<Principal | null> {
  const authorizations = valuesOf(req, 'authorization');
  const keys = valuesOf(req, 'x-api-key');
  if (authorizations.length + keys.length > 1) {
    throw new ApiError('credentials_ambiguous', 'Send exactly one credential: either Authorization or X-API-Key.');
  }
  const [authorization] = authorizations;
  if (authorization !== undefined) {
    const request = { requestId, callerRequestId: callerRequestIdOf(req) };
    return principalOfToken(services, bearerOf(authorization), request);
  }
  const [key] = keys;
  // A browser sends the cookie with every request, even if the page sends another credential.
  return key === undefined ? principalOfSession(services, req) : principalOfApiKey(services, key);
}

/** All values of a header. Node's `headers` drops or joins repeated ones. @param name in lower case */
function valuesOf({ rawHeaders }: IncomingMessage, name: string): string[] {
  const values: string[] = [];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const [given = '', value = ''] = [rawHeaders[at], rawHeaders[at + 1]];
    if (given.length === name.length && given.toLowerCase() === name) values.push(value);
  }
  return values;
}

/** The token of a bearer Authorization (RFC 6750, section 2.1). The scheme is case-insensitive (RFC 9110, section 11.1). */
function bearerOf(authorization: string): string {
  const token = /^bearer +([A-Za-z0-9._~+/-]+=*)$/i.exec(authorization)?.[1];
  if (token !== undefined) return token;
  throw new ApiError('credentials_invalid', 'The Authorization header has no bearer token.', {
    headers: { 'WWW-Authenticate': 'Bearer error="invalid_token", error_description="no bearer token"' },
  });
}
