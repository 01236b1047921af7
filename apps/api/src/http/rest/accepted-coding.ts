import type { Request } from 'express';

/**
 * The content coding that the client prefers by our order; `identity` if it accepts none of them (RFC 9110, section 12.5.3).
 *
 * @param codings the smallest result first
 */
export function acceptedCoding<Coding extends string>(req: Request, codings: readonly Coding[]): Coding | 'identity' {
  return codings.find((coding) => req.acceptsEncodings(coding) === coding) ?? 'identity';
}
