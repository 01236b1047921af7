import {
  type TelemetryProblemReason,
  TelemetryProblemReasonSchema,
} from '@quartermaster/contracts/telemetry-health.ts';
import { DatabaseUnavailableError } from '@quartermaster/db/errors.ts';
import { findApiKey } from '@quartermaster/db/repositories/api-keys.ts';
import { TRPCError } from '@trpc/server';
import { EndedKeyError, WrongKeyError } from '../auth/api-key.ts';
import { detailOf } from '../telemetry/ingest/receiver.ts';
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
  services: Pick<Services, 'db' | 'log' | 'metrics' | 'audit' | 'telemetry'>,
  { error, answer, info }: { error: unknown; answer: Answer; info: Refused },
): void {
  const { operation, principal, requestId, callerRequestId } = info;
  const operationId = operation?.operationId ?? null;
  const caller = callerRequestId === null ? {} : { callerRequestId };
  logFailure(services, { error, answer, ids: { requestId, ...caller, operationId } });
  if (operation?.transport === 'otlp') noteRefusedTelemetry(services, { error, answer, principal });
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

/** Counts refused telemetry for the API key that it was sent with. A key that is unknown belongs to nobody. */
function noteRefusedTelemetry(
  services: Pick<Services, 'db' | 'log' | 'telemetry'>,
  { error, answer, principal }: { error: unknown; answer: Answer; principal: Refused['principal'] },
): void {
  const { accounts } = services.telemetry;
  const problem = { reason: reasonOf(error, answer), requests: 1, records: 0, detail: detailOf(answer.body) };
  const [place] = principal?.grants ?? [];
  if (principal !== null && place !== undefined) accounts.noteProblem(principal, place, problem);
  if (error instanceof WrongKeyError && error.keyId !== null) void noteWrongKey(services, error.keyId, problem);
  if (!(error instanceof EndedKeyError)) return;
  const { keyId, account } = error.owner;
  accounts.noteProblem({ kind: 'service_account', id: account.id, keyId }, account, problem);
}

/**
 * Counts telemetry that names the id of a key and has a wrong secret, so that the owner learns that a key was cut off or mistyped. An id
 * is not secret: anybody who knows it can add to this count, as often as the limit of their address lets them try keys. The key
 * is looked up after the answer, because the time of an answer must not tell whether an id exists. A failure is only logged.
 */
async function noteWrongKey(
  { db, log, telemetry }: Pick<Services, 'db' | 'log' | 'telemetry'>,
  keyId: string,
  problem: Parameters<Services['telemetry']['accounts']['noteProblem']>[2],
): Promise<void> {
  try {
    const account = (await findApiKey(db, keyId))?.account;
    if (account === undefined) return;
    const wrong = { ...problem, reason: 'key_secret_wrong' as const };
    telemetry.accounts.noteProblem({ kind: 'service_account', id: account.id, keyId }, account, wrong);
  } catch (error) {
    log.warn({ err: error, keyId }, 'a refused API key was not counted');
  }
}

function reasonOf(error: unknown, { status }: Answer): TelemetryProblemReason {
  if (status >= 500) return 'server_failed';
  const known = TelemetryProblemReasonSchema.safeParse(error instanceof ApiError ? error.reason : null);
  return known.success ? known.data : 'other';
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
