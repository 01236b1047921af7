import { ERRORS, type ErrorCode, type Problem, type ValidationError } from '@quartermaster/contracts/errors.ts';
import { DuplicateKeyError } from '@quartermaster/db/errors.ts';
import { type TRPC_ERROR_CODE_KEY, TRPCError } from '@trpc/server';

type Extras = { headers?: Record<string, string>; scope?: string; cause?: unknown };

/** A refusal that was foreseen. Whatever else is thrown is a bug: it answers 500 and goes to the log. */
export class ApiError extends TRPCError {
  readonly reason: ErrorCode;
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly scope: string | undefined;

  constructor(reason: ErrorCode, detail: string, extras: Extras = {}) {
    const { status } = ERRORS[reason];
    super({ code: TRPC_CODES[status] ?? 'INTERNAL_SERVER_ERROR', message: detail, cause: extras.cause });
    this.name = 'ApiError';
    this.reason = reason;
    this.status = status;
    this.headers = extras.headers ?? {};
    this.scope = extras.scope;
  }

  /** @param requestId stands as `instance` in the answer. */
  problem(requestId: string): Problem {
    return {
      type: `urn:quartermaster:problem:${this.reason}`,
      title: ERRORS[this.reason].title,
      status: this.status,
      detail: this.message,
      instance: requestId,
      code: this.reason,
      ...(this.scope !== undefined && { scope: this.scope }),
    };
  }
}

/** Values that break the contract, or a rule that needs the database to see: answered 422 with FastAPI's body. */
export class ValidationFailure extends TRPCError {
  readonly details: ValidationError[];
  /** For the audit: what the values name, and the caller does not reach. */
  readonly missing: ErrorCode | null;

  /** @param missing what the caller would be told of a path that names the same: `provider_not_found`, ... */
  constructor(details: ValidationError[], missing: ErrorCode | null = null) {
    super({ code: 'UNPROCESSABLE_CONTENT', message: details[0]?.msg ?? 'Validation failed' });
    this.name = 'ValidationFailure';
    this.details = details;
    this.missing = missing;
  }
}

/** A rule of our own that one value breaks, as pydantic words it: `Value error, <rule>`. */
export function valueError(loc: (string | number)[], rule: string, input?: unknown): ValidationFailure {
  const shown = input === undefined ? {} : { input };
  return new ValidationFailure([
    { loc, msg: `Value error, ${rule}`, type: 'value_error', ...shown, ctx: { error: rule } },
  ]);
}

/** The same of a value that names a record out of the caller's reach: the audit counts it as a denied look-up. */
export function missingValue(missing: ErrorCode, loc: (string | number)[], rule: string, input: unknown) {
  return new ValidationFailure(valueError(loc, rule, input).details, missing);
}

/**
 * For the `catch` of a write: a taken unique key becomes the refusal, whatever else failed stays what it is.
 *
 * @returns a function that never returns
 */
export function whenTaken(reason: ErrorCode, detail: string): (error: unknown) => never {
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
