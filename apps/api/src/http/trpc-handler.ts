import { fetchRequestHandler } from '@trpc/server/adapters/fetch';
import type { AnyTRPCProcedure, AnyTRPCRouter } from '@trpc/server';
import type { Request, RequestHandler, Response } from 'express';
import { ApiError } from '../platform/errors.ts';
import type { Endpoint } from './endpoint.ts';
import { answerOf } from './errors/problems.ts';
import { keyFailure } from './idempotency/key-header.ts';
import { type Pipeline, type PipelineRequest, type Progress, type Refused, runPipeline } from './pipeline.ts';
import { callerRequestIdOf, requestIdOf } from '../platform/request-id.ts';
import { readText } from './messages/body.ts';
import type { RawInput } from './messages/query.ts';
import { type Answer, sendText } from './messages/send.ts';
import { proceduresOf, type TrpcContext } from './trpc.ts';
import { shownId } from '../auth/context.ts';
import { holdAnswer } from './unread-answers.ts';

/** Bytes for the parts of a tRPC input besides its body: the path, the query, and the names of the three parts. */
const ENVELOPE_BYTES = 4 * 1024;

/** The limit of an input, in bytes, if the operation has no body. */
const SMALL_BODY_BYTES = 16 * 1024;

type TrpcOptions = {
  router: AnyTRPCRouter;
  pipeline: Pipeline;
  /** Called for every refusal: expected errors and bugs. */
  onRefused: (error: unknown, answer: Answer, info: Refused) => void;
};

/**
 * Serves the procedures to typed clients. tRPC finds the procedure and makes the answer. In between, the resolver passes the
 * request through the pipeline.
 *
 * tRPC gets a request that is built here. Of the caller's request it has only the method, the name of the procedure and the media
 * type. So nothing else of it, such as the Host header, can make tRPC fail or refuse before the pipeline has authenticated the
 * caller and counted the request. The pipeline reads the input itself, and only up to the operation's limit.
 */
export function trpcHandler({ router, pipeline, onRefused }: TrpcOptions): RequestHandler {
  const procedures = proceduresOf(router);
  return async (req, res) => {
    const refusal = refusalOf(req);
    if (refusal !== null || !isCall(req, procedures)) await pipeline.countUnmatched(req, res);
    if (refusal !== null) throw refusal;
    // As over REST: answers are private.
    res.set('Cache-Control', 'no-store');
    const ids = { requestId: requestIdOf(res), callerRequestId: callerRequestIdOf(req) };
    const answer = await fetchRequestHandler({
      endpoint: '',
      req: requestForTrpc(req),
      router,
      // One call for each request, because a batch would circumvent rate limits and the audit.
      allowBatching: false,
      createContext: async (): Promise<TrpcContext> => ({
        ...ids,
        run: async (endpoint) => (await runPipeline(pipeline, requestOf(req, res, endpoint), progressOf(res))).output,
      }),
      // Sets the status too, because tRPC answers 500 for each error that it does not know, such as an unavailable database.
      responseMeta({ errors: [error] }) {
        if (!error) return {};
        const { status, headers } = answerOf(error, shownId(ids));
        return { status, headers };
      },
      onError: ({ error }) => onRefused(error, answerOf(error, shownId(ids)), { ...progressOf(res), ...ids }),
    });
    const body = Buffer.from(await answer.arrayBuffer());
    holdAnswer(pipeline, progressOf(res), { req, res, bytes: body.length });
    res.status(answer.status).setHeaders(answer.headers);
    sendText(req, res, body);
  };
}

/** The request that tRPC gets, without an input. */
function requestForTrpc(req: Request): globalThis.Request {
  const type = req.headers['content-type'];
  return new globalThis.Request(`http://localhost/${encodeURIComponent(procedurePath(req))}`, {
    method: req.method,
    ...(type !== undefined && { headers: { 'content-type': type } }),
    ...(req.method === 'POST' && { body: '{}' }),
  });
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
function isCall(req: Request, procedures: Record<string, AnyTRPCProcedure>): boolean {
  const path = procedurePath(req);
  const type = Object.hasOwn(procedures, path) ? procedures[path]?._def.type : undefined;
  if (req.method === 'GET') return type === 'query';
  return type === 'mutation' && isJson(req);
}

/** Whether tRPC reads the request as JSON. It also accepts forms and bytes, but no procedure here does. */
function isJson({ headers }: Request): boolean {
  return headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase() === 'application/json';
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
  try {
    // The JSON may be anything. Validation refuses everything but objects.
    return (JSON.parse(text) ?? {}) as RawInput;
  } catch {
    throw new ApiError('request_malformed', 'The request could not be read.');
  }
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
