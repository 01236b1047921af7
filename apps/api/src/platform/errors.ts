import {
  ERRORS,
  type ErrorCode,
  type Problem,
  problemType,
  type ValidationError,
} from '@quartermaster/contracts/errors.ts';
import { DuplicateKeyError } from '@quartermaster/db/errors.ts';
import { type TRPC_ERROR_CODE_KEY, TRPCError } from '@trpc/server';

/** Members that some problem documents have besides the common ones. */
type Members = Pick<Problem, 'scope' | 'reason' | 'observationId' | 'reviewUrl'>;

type Extras = Members & { headers?: Record<string, string>; cause?: unknown };

/** An expected error. Anything else that is thrown is a bug: it answers 500 and is logged. */
export class ApiError extends TRPCError {
  readonly reason: ErrorCode;
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly members: Members;

  constructor(reason: ErrorCode, detail: string, { headers = {}, cause, ...members }: Extras = {}) {
    const { status } = ERRORS[reason];
    super({ code: TRPC_CODES[status] ?? 'INTERNAL_SERVER_ERROR', message: detail, cause });
    this.name = 'ApiError';
    this.reason = reason;
    this.status = status;
    this.headers = headers;
    this.members = members;
  }

  /** The problem document. @param requestId becomes its `instance` */
  problem(requestId: string): Problem {
    return problemOf(this.reason, { detail: this.message, requestId, ...this.members });
  }
}

/** A problem document (RFC 9457). @param requestId becomes its `instance` */
export function problemOf(
  code: ErrorCode,
  { detail, requestId, ...members }: Members & { detail: string; requestId: string },
): Problem {
  const { title, status } = ERRORS[code];
  return { type: problemType(code), title, status, detail, instance: requestId, code, ...members };
}

/** Input that breaks the contract, or a rule that needs the database to check. Answers 422 with a body like FastAPI's. */
export class ValidationFailure extends TRPCError {
  readonly details: ValidationError[];
  /** For the audit: set if the input names a record that does not exist in the caller's reach. */
  readonly missing: ErrorCode | null;

  /** @param missing the code that a path with the same id would answer, such as `provider_not_found` */
  constructor(details: ValidationError[], missing: ErrorCode | null = null) {
    super({ code: 'UNPROCESSABLE_CONTENT', message: details[0]?.msg ?? 'Validation failed' });
    this.name = 'ValidationFailure';
    this.details = details;
    this.missing = missing;
  }
}

/** The same text whether the record does not exist or is out of the caller's reach. */
const NOT_FOUND = {
  agent_not_found: 'There is no agent with this id in your reach.',
  channel_not_found: 'No run of the agent named this channel.',
  console_session_not_found: 'You have no console session with this id.',
  gateway_not_found: 'There is no gateway with this id in your reach.',
  gateway_session_not_found: 'The gateway has no session with this id.',
  manifest_not_found: 'There is no manifest with this id in your reach.',
  membership_not_found: 'There is no such membership in your reach.',
  operator_task_not_found: 'There is no operator task with this id in your reach.',
  price_not_found: 'There is no price with this id in your reach.',
  provider_not_found: 'There is no provider with this id in your reach.',
  recommendation_not_found: 'There is no recommendation with this id in your reach.',
  runtime_observation_not_found: 'There is no runtime observation with this id in your reach.',
  tenant_not_found: 'There is no tenant with this id in your reach.',
  user_not_found: 'There is no user with this id in your reach.',
} as const satisfies Partial<Record<ErrorCode, string>>;

/** The 404 for a record that a path names. */
export function notFound(code: keyof typeof NOT_FOUND): ApiError {
  return new ApiError(code, NOT_FOUND[code]);
}

/** Returns the record. @throws ApiError 404 with the given code if it is undefined */
export function requireFound<T extends object>(record: T | undefined, code: keyof typeof NOT_FOUND): T {
  if (record === undefined) throw notFound(code);
  return record;
}

/** The error for a value that breaks a rule of ours, worded like pydantic: `Value error, <rule>`. */
export function valueError(loc: (string | number)[], rule: string, input?: unknown): ValidationFailure {
  const shown = input === undefined ? {} : { input };
  return new ValidationFailure([
    { loc, msg: `Value error, ${rule}`, type: 'value_error', ...shown, ctx: { error: rule } },
  ]);
}

/** Like {@link valueError}, for a value that names a record out of the caller's reach. The audit counts it as `denied`. */
export function missingValue(missing: ErrorCode, loc: (string | number)[], rule: string, input: unknown) {
  return new ValidationFailure(valueError(loc, rule, input).details, missing);
}

/** For `.catch()` of an insert: turns the violation of a unique key into this ApiError, and rethrows everything else. */
export function duplicateKeyAs(reason: ErrorCode, detail: string): (error: unknown) => never {
  return (error) => {
    throw error instanceof DuplicateKeyError ? new ApiError(reason, detail) : error;
  };
}

const TRPC_CODES: Record<number, TRPC_ERROR_CODE_KEY> = {
  400: 'BAD_REQUEST',
  401: 'UNAUTHORIZED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  405: 'METHOD_NOT_SUPPORTED',
  409: 'CONFLICT',
  412: 'PRECONDITION_FAILED',
  413: 'PAYLOAD_TOO_LARGE',
  415: 'UNSUPPORTED_MEDIA_TYPE',
  429: 'TOO_MANY_REQUESTS',
  502: 'BAD_GATEWAY',
  503: 'SERVICE_UNAVAILABLE',
};
