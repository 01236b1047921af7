import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Operation } from '@quartermaster/contracts/operation.ts';
import { ingestTraces } from '@quartermaster/contracts/traces.ts';
import { stringifyWithStoredJson } from '@quartermaster/db/stored-json.ts';
import type { AnyTRPCRouter, TRPCError } from '@trpc/server';
import type { RequestHandler } from 'express';
import { createOpenApiNodeHttpHandler, type OpenApiRouter } from 'trpc-to-openapi';
import { answerOf } from '../errors/problems.ts';
import { type Pipeline, type PipelineRequest, type Progress, type Refused, runPipeline } from '../pipeline.ts';
import { callerRequestIdOf, requestIdOf, shownRequestIdOf } from '../../platform/request-id.ts';
import { defOf } from '../messages/schemas.ts';
import { operationsOf } from '../trpc.ts';
import { holdAnswer } from '../unread-answers.ts';
import { readBody } from '../messages/body.ts';
import { allowOrigin, isPreflight, sendPreflight } from './cors.ts';
import { LibraryRequest, type RestContext } from './library-request.ts';
import { LibraryResponse } from './library-response.ts';
import { QUERY_TEXT, type QueryReader, queryReader } from '../messages/query.ts';
import { pathParametersOf, requireDistinctRoutes, unmatchedError } from './routes.ts';
import { type Answer, sendAnswer } from '../messages/send.ts';

export type RestOptions = {
  /** Its procedures are served, each at the path of its operation. */
  router: AnyTRPCRouter;
  pipeline: Pipeline;
  /** Headers of every answer. */
  headers?: readonly [string, string][];
  /** Answers operations with transport `otlp`, including their errors. */
  otlp: (req: IncomingMessage, res: ServerResponse, operation: Operation) => Promise<void>;
  /** Called for every refusal: expected errors and bugs. */
  onRefused: (error: unknown, answer: Answer, info: Refused) => void;
  /** The origins whose pages may send traces. Default: none. */
  tracesOrigins?: readonly string[];
  /** The largest body, in bytes. Default: the limit of each operation. */
  bodyLimit?: number;
};

/** Serves every procedure at its operation's REST path, below /v1. Other paths go to the next handler. */
export function restHandler(options: RestOptions): RequestHandler {
  const { router, pipeline, headers = [], onRefused, tracesOrigins = [] } = options;
  const operations = operationsOf(router);
  requireDistinctRoutes(operations);
  const otlpOperations = new Map(
    operations.filter(({ transport }) => transport === 'otlp').map((one) => [`${one.method} ${one.path}`, one]),
  );
  const queryReaders = new Map<Operation, QueryReader>(operations.map((one) => [one, queryReader(one)]));
  const callProcedure = procedureCallerOf(router);

  return async (req, res, next) => {
    const { pathname, search } = targetOf(req);
    if (pathname !== '/v1' && !pathname.startsWith('/v1/')) {
      next();
      return;
    }
    res.setHeader('Cache-Control', 'no-store');
    for (const [name, value] of headers) res.setHeader(name, value);
    if (pathname === ingestTraces.path && allowOrigin(req, res, tracesOrigins) && isPreflight(req)) {
      await answerPreflight(pipeline, req, res);
      return;
    }
    const otlpOperation = otlpOperations.get(`${req.method} ${pathname}`);
    if (otlpOperation) {
      pipeline.onMatched(res, otlpOperation);
      await options.otlp(req, res, otlpOperation);
      return;
    }
    const progress: Progress = { operation: null, principal: null };
    const ids = { requestId: requestIdOf(res), callerRequestId: callerRequestIdOf(req) };
    const context: RestContext = {
      ...ids,
      notModified: false,
      run: async (endpoint) => {
        const match = () => {
          const path = pathParametersOf(endpoint.operation, pathname);
          const { query, text } = (queryReaders.get(endpoint.operation) as QueryReader)(search);
          return { endpoint, inputBeforeBody: { path, query, [QUERY_TEXT]: text } };
        };
        const request = { req, res, match, readInput: inputReader(req, options.bodyLimit) };
        const { output, notModified } = await runPipeline(pipeline, request, progress);
        context.notModified = notModified;
        return notModified ? null : output;
      },
    };
    const refuseUnmatched = async () => {
      await pipeline.countUnmatched(req, res);
      throw unmatchedError(operations, pathname);
    };
    const hold = (bytes: number) => holdAnswer(pipeline, progress, { req, res, bytes });
    try {
      await callProcedure(
        new LibraryRequest(req, pathname, context),
        new LibraryResponse({ req, res, hold }),
        refuseUnmatched,
      );
    } catch (error) {
      const answer = answerOf(error, shownRequestIdOf(res));
      onRefused(error, answer, { ...progress, ...ids });
      sendAnswer(req, res, answer);
    }
  };
}

/** A preflight has no credentials. It is counted by its address. */
async function answerPreflight(pipeline: Pipeline, req: IncomingMessage, res: ServerResponse): Promise<void> {
  try {
    await pipeline.countUnmatched(req, res);
    sendPreflight(res);
  } catch (error) {
    sendAnswer(req, res, answerOf(error, shownRequestIdOf(res)));
  }
}

type ProcedureCaller = (req: LibraryRequest, res: LibraryResponse, next: () => Promise<never>) => Promise<void>;

/**
 * One caller for each router, shared by all servers of a process. Unless NODE_ENV is `production`, the library generates an
 * OpenAPI document for each new one, which is slow.
 */
const procedureCallers = new WeakMap<AnyTRPCRouter, ProcedureCaller>();

function procedureCallerOf(router: AnyTRPCRouter): ProcedureCaller {
  const caller = procedureCallers.get(router) ?? createProcedureCaller(router);
  procedureCallers.set(router, caller);
  return caller;
}

/**
 * trpc-to-openapi: finds the procedure of a request, calls it with tRPC's own caller, and writes what it returns as JSON.
 * `onError` throws the error, because the library would answer it in a format of its own.
 */
function createProcedureCaller(router: AnyTRPCRouter): ProcedureCaller {
  return createOpenApiNodeHttpHandler({
    router: router as OpenApiRouter,
    createContext: async ({ req }) => (req as unknown as LibraryRequest).context,
    responseMeta: ({ ctx }) => ((ctx as RestContext | undefined)?.notModified ? { status: 304 } : {}),
    serialize: stringifyWithStoredJson,
    onError: ({ error }: { error: TRPCError }) => {
      // The library wraps errors whose name is not `TRPCError`, such as ApiError (3.3.0,
      // `dist/esm/adapters/node-http/errors.mjs:72`).
      throw error.code === 'INTERNAL_SERVER_ERROR' ? (error.cause ?? error) : error;
    },
  }) as unknown as ProcedureCaller;
}

function inputReader(req: IncomingMessage, bodyLimit: number | undefined): PipelineRequest['readInput'] {
  return async (operation, inputBeforeBody) => {
    const { body, form, bodyOptional, bodyMaxBytes } = operation;
    if (!body) return { ...inputBeforeBody, body: undefined };
    const formFields = form ? Object.keys(defOf(body).shape ?? {}) : null;
    const limit = bodyLimit ?? bodyMaxBytes;
    return { ...inputBeforeBody, body: await readBody(req, { optional: bodyOptional, form: formFields, limit }) };
  };
}

/** The request's target as sent, without the origin of an absolute form (RFC 9112, section 3.2.2). */
export function targetOf(req: IncomingMessage): { pathname: string; search: string } {
  const url = req.url ?? '';
  const target = url.startsWith('/') ? url : url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '');
  const mark = target.indexOf('?');
  return mark < 0
    ? { pathname: target, search: '' }
    : { pathname: target.slice(0, mark), search: target.slice(mark + 1) };
}
