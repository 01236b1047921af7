import { DatabaseUnavailableError } from '@quartermaster/db/errors.ts';
import { TRPCError } from '@trpc/server';
import { noteRefused } from '../platform/audit/refusals.ts';
import { ApiError, ValidationFailure } from '../platform/errors.ts';
import type { Answer } from '../http/messages/send.ts';
import type { Refused } from '../http/pipeline.ts';
import type { Services } from '../platform/services.ts';
import { causeOf } from './failures.ts';

/** Refusals of authenticated callers that belong in the audit, by their status. */
const AUDITED: Record<number, 'denied' | 'failure'> = { 403: 'denied', 404: 'denied', 409: 'failure' };

/** Logs, counts and audits a refusal, over REST, tRPC or OTLP. */
export function noteRefusal(
  services: Pick<Services, 'log' | 'metrics' | 'audit'>,
  { error, answer, info }: { error: unknown; answer: Answer; info: Refused },
): void {
  const { operation, principal, requestId, callerRequestId } = info;
  const operationId = operation?.operationId ?? null;
  const caller = callerRequestId === null ? {} : { callerRequestId };
  logFailure(services, { error, answer, ids: { requestId, ...caller, operationId } });
  const missing = error instanceof ValidationFailure ? error.missing : null;
  const reason = error instanceof ApiError ? error.reason : missing;
  if (reason === null) return;
  if (answer.status === 401) services.metrics.refusedCredentials.inc({ reason });
  if (principal === null) {
    if (answer.status === 403) services.log.warn({ requestId, ...caller, operationId, reason }, 'caller refused');
    return;
  }
  const outcome = missing === null ? AUDITED[answer.status] : 'denied';
  if (operation === null || outcome === undefined) return;
  const refusal = { principal, operationId: operation.operationId, reason, outcome, requestId, ...caller };
  noteRefused(services.audit.refusals, refusal);
}

/** Logs a bug with its error, and a request that the database refused with the cause. */
export function logFailure(
  { log }: Pick<Services, 'log'>,
  { error, answer, ids }: { error: unknown; answer: Answer; ids: Record<string, string | null> },
): void {
  const thrown = error instanceof TRPCError && error.cause ? error.cause : error;
  if (answer.unexpected) log.error({ err: thrown, ...ids }, 'request failed');
  if (thrown instanceof DatabaseUnavailableError) log.warn({ ...ids, cause: causeOf(thrown) }, 'database unavailable');
}
