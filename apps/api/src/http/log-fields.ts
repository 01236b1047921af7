import type { IncomingMessage } from 'node:http';
import { type Principal, principalName } from '../auth/principal.ts';
import { callerRequestIdOf } from '../platform/request-id.ts';

/** Answers to callers that may be unknown: their address is logged. */
const WITH_ADDRESS: ReadonlySet<number> = new Set([401, 429]);

/** Shorter waits are not logged, in milliseconds. Every request waits for a moment. */
const MIN_WAIT_MS = 5;

/** The caller's own id of the request, for its log line, if there is one. */
export function callerIdFields(req: IncomingMessage): { callerRequestId?: string } {
  const callerRequestId = callerRequestIdOf(req);
  return callerRequestId === null ? {} : { callerRequestId };
}

/** The status of an answer, for its log line, and the client's address if the credential was refused or a limit is exceeded. */
export function statusFields(status: number, address: string): { address?: string; status: number } {
  return { ...(WITH_ADDRESS.has(status) && { address }), status };
}

/** Who sent a request, for its log line. */
export function callerFields(principal: Principal | null): { caller?: string; keyId?: string } {
  if (principal === null) return {};
  return { caller: principalName(principal), ...(principal.keyId !== null && { keyId: principal.keyId }) };
}

/**
 * How long a request took, and how much of that it waited because its tenant was slowed down, for its log line. In
 * milliseconds.
 */
export function timeFields({ durationMs, waitedMs }: { durationMs: number; waitedMs: number }) {
  const waitMs = waitedMs < MIN_WAIT_MS ? {} : { waitMs: Math.round(waitedMs) };
  return { durationMs: Math.round(durationMs * 100) / 100, ...waitMs };
}
