import type { RequestHandler } from 'express';
import { jwks, type KeyServices } from './service.ts';

/**
 * Answers `/.well-known/jwks.json`. A verifier may keep it for five minutes; it asks again, as RFC 7517 clients do, when a
 * token names a key that it does not know.
 */
export function jwksHandler(services: KeyServices): RequestHandler {
  return async (_req, res) => {
    const keys = await jwks(services);
    res.set('Cache-Control', 'public, max-age=300').json(keys);
  };
}
