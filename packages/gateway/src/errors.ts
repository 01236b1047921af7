import type { Decision, Use } from './access.ts';
import type { Denial, Named } from './checker.ts';

/**
 * `token_invalid`: the token is malformed, expired, of another issuer or gateway, or its signature is wrong.
 * `ended`: the session was revoked or has expired.
 * `unavailable`: the service did not answer, and what the guard knows is too old to decide by.
 * `open_refused`: the service refused to open a session.
 */
export type GuardErrorCode = 'token_invalid' | 'ended' | 'unavailable' | 'open_refused';

/** Nothing could be decided, so nothing is allowed. */
export class GuardError extends Error {
  override readonly name = 'GuardError';
  readonly code: GuardErrorCode;
  /** More about the code: why the session was revoked, `expired`, or the code of the service's problem document. */
  readonly reason: string | null;

  constructor(
    code: GuardErrorCode,
    message: string,
    { reason = null, cause }: { reason?: string | null; cause?: unknown } = {},
  ) {
    super(message, { cause });
    this.code = code;
    this.reason = reason;
  }
}

/** Thrown in a framework when a use is denied. The message is for a model or a person to read. */
export class AccessDenied extends Error {
  override readonly name = 'AccessDenied';
  readonly named: Named;
  /** What the service decided. Null if it could not be asked. */
  readonly decision: Decision | null;

  constructor({ message, named, decision }: Denial) {
    super(message);
    this.named = named;
    this.decision = decision;
  }
}

/** Says in one sentence each what was denied, why, and where to ask for it. */
export function describeDenial({ provider, kind, name }: Use, { reason, reviewUrl }: Decision): string {
  const why = reason === null ? '' : ` (${reason})`;
  const where = reviewUrl === null ? '' : ` An operator can approve it: ${reviewUrl}.`;
  return `Not permitted: this session may not use the ${kind} ${JSON.stringify(name)} of ${JSON.stringify(provider)}${why}.${where} Trying again does not help.`;
}
