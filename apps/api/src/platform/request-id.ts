import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { withoutCredentials } from './credentials-in-text.ts';

/** The form of request ids that callers may choose. */
const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;

const OWN = Symbol('request id');
const SHOWN = Symbol('shown request id');

type Identified = ServerResponse & { [OWN]?: string; [SHOWN]?: string };

/**
 * Gives a request an id of the service's own, for logs and audit events: a caller could send the id of another request. The
 * answer shows the id that the caller sent in X-Request-Id, or else the service's own.
 */
export function setRequestId(req: IncomingMessage, res: ServerResponse): void {
  nameRequest(req, res);
  res.setHeader('X-Request-Id', shownRequestIdOf(res));
}

/** Like {@link setRequestId}, for an answer whose headers are written all at once, which costs less. */
export function nameRequest(req: IncomingMessage, res: ServerResponse): void {
  const id = randomUUID();
  (res as Identified)[OWN] = id;
  (res as Identified)[SHOWN] = callerRequestIdOf(req) ?? id;
}

/** The service's own id of a request. */
export function requestIdOf(res: ServerResponse): string {
  return (res as Identified)[OWN] ?? '';
}

/** The id that the caller chose; null if it is absent, malformed, or a credential. */
export function callerRequestIdOf({ headers }: IncomingMessage): string | null {
  const given = headers['x-request-id'];
  if (typeof given !== 'string' || !REQUEST_ID.test(given)) return null;
  return withoutCredentials(given) === given ? given : null;
}

/** The id that the answer shows. */
export function shownRequestIdOf(res: ServerResponse): string {
  return (res as Identified)[SHOWN] ?? '';
}
