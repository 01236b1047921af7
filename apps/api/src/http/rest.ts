import type { IncomingMessage, ServerResponse } from 'node:http';
import { isOperation, type Operation } from '@quartermaster/contracts/operation.ts';
import { jsonOf } from '@quartermaster/db/stored-json.ts';
import { type AnyTRPCProcedure, initTRPC } from '@trpc/server';
import { createOpenApiNodeHttpHandler, type OpenApiMeta } from 'trpc-to-openapi';
import { z } from 'zod';
import { authorise, refuseForeignTenants } from '../access/authorise.ts';
import type { Principal } from '../access/principal.ts';
import { idempotencyKeyOf } from '../idempotency/key-header.ts';
import { performOnce } from '../idempotency/once.ts';
import { refuseUnusable } from '../preconditions/require-match.ts';
import { tagAnswer } from '../preconditions/tag-answer.ts';
import type { Identify } from '../rate-limits/identify.ts';
import type { Context } from '../trpc.ts';
import { readBody } from './body.ts';
import { type Answer, answerOf } from './problems.ts';
import { QUERY_TEXT, type QueryReader, queryReader } from './query.ts';
import { routeTable } from './routes.ts';
import { procedureRunner } from './run-procedure.ts';
import { defOf } from './schemas.ts';
import { sendAnswer, sendText } from './send.ts';

export type Procedures = Record<string, AnyTRPCProcedure>;

export type RestOptions = {
  /** A router's `_def.procedures`: those with `meta.operation` are served at their operation's path. */
  procedures: Procedures;
  /** Operations without a procedure: those of the OTLP receiver. */
  operations?: readonly Operation[];
  /**
   * Who is calling; null where no credential was sent, or the operation asks for none. May refuse: ApiError 400, 401, 403,
   * 429, 503.
   */
  identify: Identify;
  createContext: (
    req: IncomingMessage,
    res: ServerResponse,
    principal: Principal | null,
    requestId: string,
  ) => Context | Promise<Context>;
  /** The id that the answer already carries in X-Request-Id. */
  requestId: (res: ServerResponse) => string;
  /** Hears which operation a request is of. */
  onMatched?: (res: ServerResponse, operation: Operation) => void;
  /** Answers operations with transport `otlp`, credentials, errors and all. */
  otlp?: (req: IncomingMessage, res: ServerResponse, operation: Operation) => Promise<void>;
  /** Hears of every refusal, foreseen or not. */
  onRefused?: (error: unknown, answer: Answer, info: Refused) => void;
  /** In bytes; 1 MiB where left out. */
  bodyLimit?: number;
  /** Whether every answer is held against its contract: see {@link procedureRunner}. For tests. */
  checkAnswers?: boolean;
};

/** Who was refused what. */
export type Refused = { operation: Operation | null; principal: Principal | null; requestId: string };

/** One call of a procedure on its way through trpc-to-openapi. */
type Call = {
  req: IncomingMessage;
  res: ServerResponse;
  context: Context;
  /** And the query's text. */
  raw: { path: unknown; query: unknown; body: unknown };
  refuse: (error: unknown) => Answer;
  /** Set where the call failed. */
  refused: Answer | null;
  /** The answer's JSON, where it did not. */
  json: string;
  /** Whether the caller has the record already, as it is. */
  notModified: boolean;
};

type Served = { readQuery: QueryReader; run: (call: Call) => Promise<void> };

/**
 * Serves every procedure that has an operation at the operation's REST path, below /v1; other paths go to the next
 * handler. The order of checks is part of the interface: route, credentials, scope and named tenants, then body and
 * values, so that a stranger learns nothing from how a body is refused.
 */
export function restHandler(
  options: RestOptions,
): (req: IncomingMessage, res: ServerResponse, next: () => void) => Promise<void> {
  const served = new Map<Operation, Served>();
  for (const [operation, procedure] of proceduresByOperation(options.procedures)) {
    const { operationId: path } = operation;
    const call = procedureRunner(procedure, { path, checkAnswers: options.checkAnswers ?? false });
    served.set(operation, { readQuery: queryReader(operation), run: bridge(operation, call) });
  }
  const route = routeTable([...served.keys(), ...(options.operations ?? [])]);

  return async (req, res, next) => {
    const { pathname, search } = targetOf(req);
    if (pathname !== '/v1' && !pathname.startsWith('/v1/')) {
      next();
      return;
    }
    const requestId = options.requestId(res);
    const info: Refused = { operation: null, principal: null, requestId };
    const refuse = (error: unknown) => {
      const answer = answerOf(error, requestId);
      options.onRefused?.(error, answer, info);
      return answer;
    };
    res.setHeader('Cache-Control', 'no-store');
    try {
      const match = route(req.method ?? '', pathname);
      const { operation } = match;
      info.operation = operation;
      options.onMatched?.(res, operation);
      const target = served.get(operation);
      if (operation.transport === 'otlp' || !target) {
        if (!options.otlp) throw new Error(`Nothing serves ${operation.operationId}`);
        await options.otlp(req, res, operation);
        return;
      }
      const { query, text } = target.readQuery(search);
      const principal = await options.identify(req, res, { operation, requestId });
      info.principal = principal;
      if (operation.scope !== 'public') admit(operation, principal, { path: match.path, query });
      const body = operation.body && (await readBody(req, bodyOptions(operation, options)));
      const raw = { path: match.path, query, body, [QUERY_TEXT]: text };
      const context = await options.createContext(req, res, principal, requestId);
      refuseUnusable(operation, context);
      await target.run({ req, res, context, raw, refuse, refused: null, json: '', notModified: false });
    } catch (error) {
      sendAnswer(req, res, refuse(error));
    }
  };
}

/** The procedures that have an operation, in the order of their router. */
export function proceduresByOperation(procedures: Procedures): [Operation, AnyTRPCProcedure][] {
  return Object.values(procedures).flatMap((procedure): [Operation, AnyTRPCProcedure][] => {
    const { operation } = (procedure._def.meta ?? {}) as { operation?: unknown };
    return isOperation(operation) ? [[operation, procedure]] : [];
  });
}

/** Whether the caller may, as far as it shows before values are checked; a body that is not read yet is left out. */
function admit(
  operation: Operation,
  principal: Principal | null,
  raw: { path: unknown; query: unknown; body?: unknown },
): void {
  const { reach, own } = authorise(operation, principal, raw);
  if (!own) refuseForeignTenants(reach, raw);
}

function bodyOptions({ bodyOptional, form, body }: Operation, { bodyLimit }: RestOptions) {
  const parameters = form && body ? Object.keys(defOf(body).shape ?? {}) : null;
  return { optional: bodyOptional, form: parameters, ...(bodyLimit !== undefined && { limit: bodyLimit }) };
}

/** The request's target as it was written; absolute form (RFC 9112, section 3.2.2) without its origin. */
function targetOf(req: IncomingMessage): { pathname: string; search: string } {
  const url = req.url ?? '';
  const target = url.startsWith('/') ? url : url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '');
  const mark = target.indexOf('?');
  return mark < 0
    ? { pathname: target, search: '' }
    : { pathname: target.slice(0, mark), search: target.slice(mark + 1) };
}

/**
 * trpc-to-openapi's way from a REST call to a procedure, kept clear of what it does to inputs: it coerces the schemas
 * it sees, merges path, query and body, and decodes nothing. So it sees a stand-in procedure with the path's parameters
 * alone, and a request that says the same at every call. Its caller is ours: it calls the real procedure with the
 * nested input, turns errors into answers, so that the library never words one, and writes the JSON.
 */
function bridge(operation: Operation, procedure: Procedure): (call: Call) => Promise<void> {
  let handle: Handler | undefined;
  const request = lightRequest(operation);
  return async (call) => {
    // Made at its first call: outside production the library makes a document of each, which is most of a start.
    handle ??= handlerOf(operation, procedure);
    await handle(request as never, new LightResponse(call) as never, undefined);
  };
}

type Procedure = ReturnType<typeof procedureRunner>;
type Handler = ReturnType<typeof handlerOf>;

function handlerOf(operation: Operation, procedure: Procedure) {
  const t = initTRPC.context<Call>().meta<OpenApiMeta>().create();
  const names = Object.keys(operation.params?.shape ?? {});
  const standIn = t.procedure
    .meta({ openapi: { method: operation.method, path: operation.path as `/${string}` } })
    .input(z.object(Object.fromEntries(names.map((name) => [name, z.string()]))))
    .output(z.unknown());
  const router = t.router({ standIn: standIn.mutation(() => null) });
  const createCaller = (call: Call) => ({ standIn: () => invoke(operation, procedure, call) });

  return createOpenApiNodeHttpHandler({
    router: { ...router, createCaller } as unknown as typeof router,
    createContext: async ({ res }) => (res as unknown as LightResponse).call,
  });
}

async function invoke(operation: Operation, procedure: Procedure, call: Call): Promise<void> {
  try {
    const output = await perform(operation, procedure, call);
    call.notModified = tagAnswer({ operation, req: call.req, res: call.res }, output);
    call.json = jsonOf(output);
  } catch (error) {
    call.refused = call.refuse(error);
  }
}

/** Calls the procedure; for a write with an Idempotency-Key once, in a transaction that also keeps the answer. */
async function perform(operation: Operation, procedure: Procedure, call: Call): Promise<unknown> {
  const { req, res, context, raw } = call;
  const key = operation.idempotency === 'none' ? undefined : idempotencyKeyOf(req);
  if (key === undefined) return procedure({ ctx: context, raw });
  const { services, principal } = context;
  // The procedure asks it again, but a repeat never gets there.
  if (operation.scope !== 'public') admit(operation, principal, raw);
  const { output, replayed } = await performOnce({ services, operation, principal, key, raw }, (inside) =>
    procedure({ ctx: { ...context, services: inside }, raw }),
  );
  if (replayed) res.setHeader('Idempotency-Replayed', 'true');
  return output;
}

/**
 * What trpc-to-openapi reads of a request. It builds a fetch Request of anything that is not one, hence the prototype.
 * It matches the path's template against itself: the route table has found the operation already.
 */
function lightRequest(operation: Operation): Request {
  const members = {
    method: operation.method,
    url: operation.path,
    headers: new Headers({ 'content-type': 'application/json' }),
    query: {},
    body: {},
    signal: new AbortController().signal,
  };
  return Object.create(Request.prototype, Object.getOwnPropertyDescriptors(members));
}

/** What trpc-to-openapi writes to a response. */
class LightResponse {
  readonly call: Call;
  statusCode = 200;

  constructor(call: Call) {
    this.call = call;
  }

  setHeader(name: string, value: string): void {
    this.call.res.setHeader(name, value);
  }

  end(): void {
    const { req, res, refused, json, notModified } = this.call;
    if (refused) sendAnswer(req, res, refused);
    else if (notModified) {
      res.removeHeader('Content-Type');
      res.statusCode = 304;
      res.end();
    } else {
      res.statusCode = this.statusCode;
      sendText(req, res, json);
    }
  }
}
