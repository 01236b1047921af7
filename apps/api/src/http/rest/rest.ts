import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Operation } from '@quartermaster/contracts/operation.ts';
import type { Principal } from '../../auth/principal.ts';
import type { Endpoint } from '../endpoint.ts';
import { type Answer, answerOf } from '../errors/problems.ts';
import { type Match, type Pipeline, type PipelineRequest, type Progress, runPipeline } from '../pipeline.ts';
import { callerRequestIdOf, requestIdOf, shownRequestIdOf } from '../request-id.ts';
import { defOf } from '../schemas.ts';
import { readBody } from './body.ts';
import { QUERY_TEXT, type QueryReader, queryReader } from './query.ts';
import { routeTable } from './routes.ts';
import { sendAnswer } from './send.ts';
import { restAnswerer } from './trpc-to-openapi.ts';
import { holdAnswer } from '../unread-answers.ts';

export type RestOptions = {
  /** The endpoints to serve, each at the path of its operation. */
  endpoints: readonly Endpoint[];
  /** Operations without an endpoint: those of OTLP. */
  operations?: readonly Operation[];
  pipeline: Pipeline;
  /** Answers operations with transport `otlp`, including their errors. */
  otlp: (req: IncomingMessage, res: ServerResponse, operation: Operation) => Promise<void>;
  /** Called for every refusal: expected errors and bugs. */
  onRefused: (error: unknown, answer: Answer, info: Refused) => void;
  /** The largest body, in bytes. Default: the limit of each operation. */
  bodyLimit?: number;
};

/** What was refused, and to whom. */
export type Refused = {
  operation: Operation | null;
  principal: Principal | null;
  requestId: string;
  callerRequestId: string | null;
};

type Served = { endpoint: Endpoint; readQuery: QueryReader; answer: ReturnType<typeof restAnswerer> };

/** Serves every endpoint at its operation's REST path, below /v1. Other paths go to the next handler. */
export function restHandler(
  options: RestOptions,
): (req: IncomingMessage, res: ServerResponse, next: () => void) => Promise<void> {
  const { pipeline, onRefused } = options;
  const operations = [...options.endpoints.map(({ operation }) => operation), ...(options.operations ?? [])];
  const route = routeTable(operations);
  const otlpOperations = new Map(
    operations.filter(({ transport }) => transport === 'otlp').map((one) => [`${one.method} ${one.path}`, one]),
  );
  const served = new Map<Operation, Served>();
  for (const endpoint of options.endpoints) {
    const { operation } = endpoint;
    served.set(operation, { endpoint, readQuery: queryReader(operation), answer: restAnswerer(operation) });
  }

  return async (req, res, next) => {
    const { pathname, search } = targetOf(req);
    if (pathname !== '/v1' && !pathname.startsWith('/v1/')) {
      next();
      return;
    }
    res.setHeader('Cache-Control', 'no-store');
    const otlpOperation = otlpOperations.get(`${req.method} ${pathname}`);
    if (otlpOperation) {
      pipeline.onMatched(res, otlpOperation);
      await options.otlp(req, res, otlpOperation);
      return;
    }
    const progress: Progress = { operation: null, principal: null };
    try {
      const match = () => matched(served, route(req.method ?? '', pathname), search);
      const request = { req, res, match, readInput: inputReader(req, options.bodyLimit) };
      const { endpoint, output, notModified } = await runPipeline(pipeline, request, progress);
      const hold = (bytes: number) => holdAnswer(pipeline, progress, { req, res, bytes });
      await served.get(endpoint.operation)?.answer({ req, res, output, notModified, hold });
    } catch (error) {
      const answer = answerOf(error, shownRequestIdOf(res));
      onRefused(error, answer, { ...progress, requestId: requestIdOf(res), callerRequestId: callerRequestIdOf(req) });
      sendAnswer(req, res, answer);
    }
  };
}

function matched(
  served: ReadonlyMap<Operation, Served>,
  { operation, path }: { operation: Operation; path: Record<string, string> },
  search: string,
): Match {
  const found = served.get(operation);
  if (!found) throw new Error(`Nothing serves ${operation.operationId}`);
  const { query, text } = found.readQuery(search);
  return { endpoint: found.endpoint, inputBeforeBody: { path, query, [QUERY_TEXT]: text } };
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
function targetOf(req: IncomingMessage): { pathname: string; search: string } {
  const url = req.url ?? '';
  const target = url.startsWith('/') ? url : url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '');
  const mark = target.indexOf('?');
  return mark < 0
    ? { pathname: target, search: '' }
    : { pathname: target.slice(0, mark), search: target.slice(mark + 1) };
}
