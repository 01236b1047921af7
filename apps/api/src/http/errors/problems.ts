import type { ErrorCode, Problem, ValidationError } from '@quartermaster/contracts/errors.ts';
import { CommitOutcomeUnknownError, DatabaseUnavailableError } from '@quartermaster/db/errors.ts';
import { type TRPC_ERROR_CODE_KEY, type TRPC_ERROR_CODE_NUMBER, TRPCError } from '@trpc/server';
import { z } from 'zod';
import { ApiError, ValidationFailure } from '../../platform/errors.ts';
import type { Answer } from '../messages/send.ts';
import { safeInput } from './safe-input.ts';
import { toDetails } from './validation.ts';

/** The body of a 422. */
type HTTPValidationError = { detail: ValidationError[] };

/** The body of an error, the same over REST and tRPC. */
function problemShape(error: unknown, requestId: string): Problem | HTTPValidationError {
  const refused = refusalOf(error);
  if (refused instanceof ApiError) return refused.problem(requestId);
  return { detail: refused.details.map(shown) };
}

/** Turns anything that was thrown into an error response. An unexpected error reveals nothing about the inside. */
export function answerOf(error: unknown, requestId: string): Answer {
  const refused = refusalOf(error);
  const body = problemShape(refused, requestId);
  if (refused instanceof ValidationFailure) {
    return { status: 422, headers: {}, contentType: 'application/json', body, unexpected: false };
  }
  return {
    status: refused.status,
    headers: { ...DEFAULT_HEADERS[refused.status], ...refused.headers },
    contentType: 'application/problem+json',
    body,
    unexpected: refused.reason === 'internal_error',
  };
}

/**
 * An error in tRPC's form: `data` is the body that REST answers, and `code` the JSON-RPC code with the same HTTP status.
 * `message` says no more than the body, because tRPC's own message would repeat what was thrown.
 */
export function errorShape<Shape extends { code: TRPC_ERROR_CODE_NUMBER; message: string }>(
  shape: Shape,
  error: TRPCError,
  requestId: string,
) {
  const data = problemShape(error, requestId);
  if ('code' in data) return { ...shape, message: data.detail, data };
  return { ...shape, code: UNPROCESSABLE_CONTENT, message: data.detail[0]?.msg ?? 'Validation failed', data };
}

/** tRPC's JSON-RPC code for 422. */
const UNPROCESSABLE_CONTENT = -32022 satisfies TRPC_ERROR_CODE_NUMBER;

/** RFC 9110 requires a challenge with 401. Clients that back off need the time to wait, in seconds. */
const DEFAULT_HEADERS: Record<number, Record<string, string>> = {
  401: { 'WWW-Authenticate': 'Bearer' },
  429: { 'Retry-After': '1' },
  503: { 'Retry-After': '1' },
};

/** Errors of tRPC itself, before it calls a procedure. Its own messages may quote input, so they are replaced. */
const TRPC_ERRORS: { [Code in TRPC_ERROR_CODE_KEY]?: [ErrorCode, string] } = {
  PARSE_ERROR: ['request_malformed', 'The request could not be read.'],
  BAD_REQUEST: ['request_malformed', 'The request could not be read.'],
  CLIENT_CLOSED_REQUEST: ['request_malformed', 'The connection was closed before the request was answered.'],
  UNAUTHORIZED: ['credentials_missing', 'Credentials are required.'],
  NOT_FOUND: ['route_not_found', 'This procedure does not exist.'],
  METHOD_NOT_SUPPORTED: ['method_not_allowed', 'The procedure requires another method.'],
  PAYLOAD_TOO_LARGE: ['body_too_large', 'The body is too large.'],
  UNSUPPORTED_MEDIA_TYPE: ['media_type_unsupported', 'Send the body as application/json.'],
  TOO_MANY_REQUESTS: ['rate_limited', 'Too many requests.'],
  SERVICE_UNAVAILABLE: ['database_unavailable', 'Try again in a moment.'],
};

const OUTCOME_UNKNOWN =
  'The connection to the database was lost during the commit, so the change may or may not have been made. ' +
  'Read the record before you repeat the request. A request with an Idempotency-Key can be repeated with the same key.';

function refusalOf(error: unknown): ApiError | ValidationFailure {
  if (error instanceof ApiError || error instanceof ValidationFailure) return error;
  // tRPC wraps errors that are not its own.
  const thrown = error instanceof TRPCError ? error.cause : error;
  if (thrown instanceof CommitOutcomeUnknownError) return new ApiError('outcome_unknown', OUTCOME_UNKNOWN);
  if (thrown instanceof DatabaseUnavailableError) {
    return new ApiError('database_unavailable', 'The database is busy or cannot be reached. Nothing was changed.');
  }
  if (error instanceof TRPCError) {
    // An output that breaks its contract is an INTERNAL_SERVER_ERROR: a bug.
    if (error.code === 'BAD_REQUEST' && error.cause instanceof z.ZodError) {
      return new ValidationFailure(toDetails(error.cause, {}));
    }
    const known = TRPC_ERRORS[error.code];
    if (known) return new ApiError(...known);
  }
  return new ApiError('internal_error', 'An internal error occurred. The log has it under the request id.');
}

/** Services put values into validation errors, too. This removes what an answer must not repeat. */
function shown({ input, ...detail }: ValidationError): ValidationError {
  return input === undefined ? detail : { ...detail, ...safeInput(detail.loc, input) };
}
