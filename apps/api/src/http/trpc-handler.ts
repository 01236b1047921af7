import { createExpressMiddleware } from '@trpc/server/adapters/express';
import type { AnyTRPCRouter } from '@trpc/server';
import type { Request, RequestHandler, Response } from 'express';
import { ApiError } from '../platform/errors.ts';
import type { Endpoint } from './endpoint.ts';
import { type Answer, answerOf } from './errors/problems.ts';
import { keyFailure } from './idempotency/key-header.ts';
import { type Pipeline, type PipelineRequest, type Progress, type RawInput, runPipeline } from './pipeline.ts';
import { callerRequestIdOf, requestIdOf } from './request-id.ts';
import { readText } from './rest/body.ts';
import type { Refused } from './rest/rest.ts';
import type { Procedures, TrpcContext } from './trpc.ts';
import { shownId } from './context.ts';

/** Bytes for the parts of a tRPC input besides its body: the path, the query, and the names of the three parts. */
const ENVELOPE_BYTES = 4 * 1024;

/** The limit of an input, in bytes, if the operation has no body. */
const SMALL_BODY_BYTES = 16 * 1024;

type TrpcOptions = {
  router: AnyTRPCRouter;
  procedures: Procedures;
  pipeline: Pipeline;
  /** Called for every refusal: expected errors and bugs. */
  onRefused: (error: unknown, answer: Answer, info: Refused) => void;
};

/**
 * Serves the procedures to typed clients. tRPC finds the procedure and writes the answer. In between, the resolver passes the
 * request through the pipeline. tRPC gets an empty input, because the pipeline reads the body itself, after it has authenticated
 * the caller, and only up to the operation's limit.
 */
export function trpcHandler({ router, procedures, pipeline, onRefused }: TrpcOptions): RequestHandler {
  const handle = createExpressMiddleware({
    router,
    // One call for each request, because a batch would circumvent rate limits and the audit.
    allowBatching: false,
    createContext: async ({ req, res }): Promise<TrpcContext> => ({
      requestId: requestIdOf(res),
      callerRequestId: callerRequestIdOf(req),
      run: (endpoint) => runPipeline(pipeline, requestOf(req, res, endpoint), progressOf(res)),
    }),
    responseMeta: ({ errors: [error], ctx }) => (error ? { headers: answerOf(error, shownId(ctx)).headers } : {}),
    onError: ({ error, req, ctx }) => {
      const ids = { requestId: ctx?.requestId ?? '', callerRequestId: ctx?.callerRequestId ?? null };
      const progress = req.res ? progressOf(req.res) : { operation: null, principal: null };
      onRefused(error, answerOf(error, shownId(ctx)), { ...progress, ...ids });
    },
  });

  return async (req, res, next) => {
    const refusal = refusalOf(req);
    if (refusal !== null || !isCall(req, procedures)) await pipeline.countUnmatched(req, res);
    if (refusal !== null) throw refusal;
    req.body = '{}';
    // As over REST: answers are private.
    res.set('Cache-Control', 'no-store');
    handle(req, res, next);
  };
}

function progressOf({ locals }: Response): Progress {
  return (locals['progress'] ??= { operation: null, principal: null }) as Progress;
}

function requestOf(req: Request, res: Response, endpoint: Endpoint): PipelineRequest {
  return {
    req,
    res,
    match: () => ({ endpoint, inputBeforeBody: req.method === 'GET' ? parsed(inputText(req)) : null }),
    readInput: async ({ body, bodyMaxBytes }, input) => {
      if (input !== null) return input;
      if (!isJson(req)) throw new ApiError('media_type_unsupported', 'Send the body as application/json.');
      return parsed(await readText(req, (body ? bodyMaxBytes : SMALL_BODY_BYTES) + ENVELOPE_BYTES));
    },
  };
}

/** Whether tRPC will call a procedure. If not, tRPC itself answers 404, 405 or 415. */
function isCall(req: Request, procedures: Procedures): boolean {
  const path = procedurePath(req);
  const type = Object.hasOwn(procedures, path) ? procedures[path]?._def.type : undefined;
  if (req.method === 'GET') return type === 'query';
  return type === 'mutation' && isJson(req);
}

/** Whether tRPC reads the request as JSON. It also accepts forms and bytes, but no procedure here does. */
function isJson({ headers }: Request): boolean {
  return headers['content-type']?.startsWith('application/json') === true;
}

function procedurePath({ path }: Request): string {
  try {
    return decodeURIComponent(path.slice(1));
  } catch {
    return '';
  }
}

function inputText({ url }: Request): string {
  const mark = url.indexOf('?');
  return (mark < 0 ? null : new URLSearchParams(url.slice(mark + 1)).get('input')) ?? '';
}

function parsed(text: string): RawInput {
  if (text === '') return {};
  let input: unknown;
  try {
    input = JSON.parse(text);
  } catch {
    throw new ApiError('request_malformed', 'The request could not be read.');
  }
  return typeof input === 'object' && input !== null ? input : {};
}

/** Why a request is refused before tRPC sees it. Null if it is not refused. */
function refusalOf(req: Request): Error | null {
  // tRPC would answer HEAD with 204, without authentication.
  if (req.method !== 'GET' && req.method !== 'POST') {
    return new ApiError('method_not_allowed', 'tRPC supports only GET and POST.', { headers: { Allow: 'GET, POST' } });
  }
  // tRPC would refuse a batch in plain text, without the request's id.
  if (req.path.includes(',') || /[?&]batch=/.test(req.url)) {
    return new ApiError(
      'request_malformed',
      'Batches are not supported. Send one call in each request: use httpLink instead of httpBatchLink.',
    );
  }
  // A caller who sends a key expects protection from repetition, and tRPC gives none.
  return req.headers['idempotency-key'] === undefined
    ? null
    : keyFailure('key is only supported over REST, not over tRPC');
}
