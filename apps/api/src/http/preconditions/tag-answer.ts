import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Operation } from '@quartermaster/contracts/operation.ts';
import { entityTagOf, entityTagsIn, matchesWeakly } from './entity-tags.ts';

type Answering = { operation: Operation; req: IncomingMessage; res: ServerResponse };

/**
 * Sets the ETag of an answer that is one record.
 *
 * @returns whether the caller already has this state, so that the answer is 304 (RFC 9110, section 13.1.2)
 * @throws ValidationFailure if If-None-Match is malformed
 */
export function tagAnswer({ operation, req, res }: Answering, output: unknown): boolean {
  if (operation.record === undefined || typeof output !== 'object' || output === null) return false;
  const tag = entityTagOf(output, operation.record);
  const known = operation.method === 'GET' ? req.headers['if-none-match'] : undefined;
  const isKnown = known !== undefined && matchesWeakly(entityTagsIn('If-None-Match', known), tag);
  res.setHeader('ETag', tag);
  return isKnown;
}
