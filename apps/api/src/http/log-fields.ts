import { type Principal, principalName } from '../auth/principal.ts';

/** Shorter waits are not logged, in milliseconds. Every request waits for a moment. */
const MIN_WAIT_MS = 5;

/** Who sent a request, for its log line. */
export function callerFields(principal: Principal | null): { caller?: string; keyId?: string } {
  if (principal === null) return {};
  return { caller: principalName(principal), ...(principal.keyId !== null && { keyId: principal.keyId }) };
}

/** How long a request took, and how much of that it waited because its tenant was slowed down, for its log line. In milliseconds. */
export function timeFields({ durationMs, waitedMs }: { durationMs: number; waitedMs: number }) {
  const waitMs = waitedMs < MIN_WAIT_MS ? {} : { waitMs: Math.round(waitedMs) };
  return { durationMs: Math.round(durationMs * 100) / 100, ...waitMs };
}
