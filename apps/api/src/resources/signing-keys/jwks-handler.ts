import type { RequestHandler } from 'express';
import { jwks, type KeyServices } from './service.ts';

/**
 * Answers `/.well-known/jwks.json`. Verifiers may cache it for five minutes. They fetch it again when a token names a key that
 * they do not know.
 */
export function jwksHandler(services: KeyServices): RequestHandler {
  return async (_req, res) => {
    const keys = await jwks(services);
    res.set('Cache-Control', 'public, max-age=300').json(keys);
  };
}
