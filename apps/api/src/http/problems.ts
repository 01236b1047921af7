import type { ErrorCode, Problem, ValidationError } from '@quartermaster/contracts/errors.ts';
import { CommitOutcomeUnknownError, DatabaseUnavailableError } from '@quartermaster/db/errors.ts';
import { type TRPC_ERROR_CODE_KEY, type TRPC_ERROR_CODE_NUMBER, TRPCError } from '@trpc/server';
import { z } from 'zod';
import { ApiError, ValidationFailure } from '../errors.ts';
import { shownInput } from './shown.ts';
import { toDetails } from './validation.ts';

/** The body of a 422. */
type HTTPValidationError = { detail: ValidationError[] };

/** An error as it goes out over REST. */
export type Answer = {
  status: number;
  headers: Record<string, string>;
  contentType: string;
  body: unknown;
  /** A bug, or a failure that nobody foresaw: belongs in the log. */
  unexpected: boolean;
};

/** The body of an error, the same over REST and tRPC. */
function problemShape(error: unknown, requestId: string): Problem | HTTPValidationError {
  const refused = refusalOf(error);
  if (refused instanceof ApiError) return refused.problem(requestId);
  return { detail: refused.details.map(shown) };
}

/** Turns whatever was thrown into an answer. What was not foreseen says nothing of the inside. */
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
 * tRPC's form of an error: `data` is REST's body, `code` the JSON-RPC code that gives the answer REST's status, and
 * `message` no more than the body says. tRPC's own would repeat whatever was thrown.
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

/** JSON-RPC's number for 422, as tRPC has it. */
const UNPROCESSABLE_CONTENT = -32022 satisfies TRPC_ERROR_CODE_NUMBER;

/** RFC 9110 asks for a challenge with 401; clients that back off need to know for how long (seconds). */
const DEFAULT_HEADERS: Record<number, Record<string, string>> = {
  401: { 'WWW-Authenticate': 'Bearer' },
  429: { 'Retry-After': '1' },
  503: { 'Retry-After': '1' },
};

/** What tRPC itself refuses, before a procedure of ours is reached; in words of ours, since its own may quote input. */
const OF_TRPC: { [Code in TRPC_ERROR_CODE_KEY]?: [ErrorCode, string] } = {
  PARSE_ERROR: ['request_malformed', 'The request could not be read.'],
  BAD_REQUEST: ['request_malformed', 'The request could not be read.'],
  CLIENT_CLOSED_REQUEST: ['request_malformed', 'The request was given up before it was answered.'],
  UNAUTHORIZED: ['credentials_missing', 'Credentials are required.'],
  NOT_FOUND: ['route_not_found', 'There is no such procedure.'],
  METHOD_NOT_SUPPORTED: ['method_not_allowed', 'The procedure takes another method.'],
  PAYLOAD_TOO_LARGE: ['body_too_large', 'The body is too large.'],
  UNSUPPORTED_MEDIA_TYPE: ['media_type_unsupported', 'Send the body as application/json.'],
  TOO_MANY_REQUESTS: ['rate_limited', 'Too many requests.'],
  SERVICE_UNAVAILABLE: ['database_unavailable', 'Try again in a moment.'],
};

const OUTCOME_UNKNOWN =
  'The database went away while the change was being made final: it may have been made, or not. ' +
  'Read before it is sent again; a request that had an Idempotency-Key may be sent again with the same one.';

function refusalOf(error: unknown): ApiError | ValidationFailure {
  if (error instanceof ApiError || error instanceof ValidationFailure) return error;
  // tRPC wraps whatever is not its own.
  const thrown = error instanceof TRPCError ? error.cause : error;
  if (thrown instanceof CommitOutcomeUnknownError) return new ApiError('outcome_unknown', OUTCOME_UNKNOWN);
  if (thrown instanceof DatabaseUnavailableError) {
    return new ApiError('database_unavailable', 'The database is busy or away; nothing was changed.');
  }
  if (error instanceof TRPCError) {
    // Of an output that breaks its contract tRPC makes an INTERNAL_SERVER_ERROR: that one is a bug.
    if (error.code === 'BAD_REQUEST' && error.cause instanceof z.ZodError) {
      return new ValidationFailure(toDetails(error.cause, {}));
    }
    const known = OF_TRPC[error.code];
    if (known) return new ApiError(...known);
  }
  return new ApiError('internal_error', 'Something went wrong here. It is logged under the request id.');
}

/** Routers put values into their failures too: what must not be repeated is left out of those here. */
function shown({ input, ...detail }: ValidationError): ValidationError {
  return input === undefined ? detail : { ...detail, ...shownInput(detail.loc, input) };
}
