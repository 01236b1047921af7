import type { Request, RequestHandler, Response } from 'express';
import type { Principal } from '../access/principal.ts';
import { ApiError } from '../errors.ts';
import { hasBody, readText } from '../http/body.ts';
import { keyFailure } from '../idempotency/key-header.ts';
import type { Identify } from '../rate-limits/identify.ts';
import { operationOf } from './note-refusal.ts';
import type { CountPublic } from './public-paths.ts';

/** Who calls a procedure, or why the call is refused. */
type TrpcCaller = { principal: Principal | null; refused?: unknown };

/** What an input over tRPC has beside its body: its path, and the names of both. */
const ENVELOPE_BYTES = 4 * 1024;

/** For procedures that take no body, and those that do not exist. */
const SMALL_BODY_BYTES = 16 * 1024;

/** Refuses what is no call of a procedure, and counts it as a public path: nobody was identified. */
export function refuseNoCalls(count: CountPublic): RequestHandler {
  return async (req, res, next) => {
    const refusal = refusalOf(req);
    if (refusal !== null) {
      await count(req, res);
      throw refusal;
    }
    next();
  };
}

function refusalOf(req: Request): Error | null {
  // tRPC would answer HEAD with 204, to anyone.
  if (req.method !== 'GET' && req.method !== 'POST') {
    return new ApiError('method_not_allowed', 'tRPC takes GET and POST.', { headers: { Allow: 'GET, POST' } });
  }
  // tRPC would refuse a batch in plain text, without the request's id.
  if (req.path.includes(',') || /[?&]batch=/.test(req.url)) {
    return new ApiError('request_malformed', 'A request over tRPC is one call: use httpLink instead of httpBatchLink.');
  }
  // What looks protected must be.
  return req.headers['idempotency-key'] === undefined ? null : keyFailure('keys are for REST: tRPC takes none');
}

/**
 * Identifies the caller of a procedure, then reads the body within the limits of its operation, as over REST. tRPC has one
 * limit for all procedures, and would parse whatever is below it.
 */
export function trpcCaller(identify: Identify, requestIdOf: (res: Response) => string): RequestHandler {
  return async (req, res, next) => {
    res.locals['caller'] = await callerOf(req, res, { identify, requestId: requestIdOf(res) });
    next();
  };
}

export function trpcCallerOf(res: Response): TrpcCaller {
  return res.locals['caller'] as TrpcCaller;
}

async function callerOf(
  req: Request,
  res: Response,
  { identify, requestId }: { identify: Identify; requestId: string },
): Promise<TrpcCaller> {
  let principal: Principal | null = null;
  try {
    const operation = operationOf(procedureOf(req));
    principal = await identify(req, res, { operation, requestId });
    if (req.method !== 'POST' || !hasBody(req)) return { principal };
    const limit = operation?.body ? operation.bodyMaxBytes : SMALL_BODY_BYTES;
    req.body = await readText(req, limit + ENVELOPE_BYTES);
    return { principal };
  } catch (refused) {
    // Thrown here, it would be answered without the form that tRPC's clients read. What is left of the body stays unread.
    req.body = '';
    return { principal, refused };
  }
}

function procedureOf({ path }: Request): string {
  try {
    return decodeURIComponent(path.slice(1));
  } catch {
    return '';
  }
}
