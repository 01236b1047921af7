import type { ErrorCode } from '@quartermaster/contracts/errors.ts';
import { isOperation, type Operation } from '@quartermaster/contracts/operation.ts';
import { TRPCError } from '@trpc/server';
import { ApiError } from '../errors.ts';
import type { Answer } from '../http/problems.ts';
import type { Refused } from '../http/rest.ts';
import { procedures } from '../router.ts';
import type { Services } from '../services.ts';

/** Statuses whose refusals of authenticated callers belong in the audit. */
const AUDITED = [403, 409];

/** What follows from a refusal, whichever way the request came in: log, counters, audit. */
export function noteRefusal(
  services: Services,
  { error, answer, info }: { error: unknown; answer: Answer; info: Refused },
): void {
  const { operation, principal, requestId } = info;
  const operationId = operation?.operationId ?? null;
  if (answer.unexpected) {
    const thrown = error instanceof TRPCError && error.cause ? error.cause : error;
    services.log.error({ err: thrown, requestId, operationId }, 'request failed');
  }
  const reason = error instanceof ApiError ? error.reason : null;
  if (reason === null) return;
  if (answer.status === 401) services.metrics.refusedCredentials.inc({ reason });
  if (principal === null) {
    if (answer.status === 403) services.log.warn({ requestId, operationId, reason }, 'caller refused');
    return;
  }
  if (operation === null || !AUDITED.includes(answer.status)) return;
  const { status } = answer;
  services.refusals.note({
    principal,
    operationId: operation.operationId,
    reason: reason satisfies ErrorCode,
    status,
    requestId,
  });
}

/** The operation behind a tRPC path. */
export function operationOf(path: string | undefined): Operation | null {
  const meta: unknown = path !== undefined && Object.hasOwn(procedures, path) ? procedures[path]?._def.meta : undefined;
  const operation = typeof meta === 'object' && meta !== null && 'operation' in meta ? meta.operation : null;
  return isOperation(operation) ? operation : null;
}
