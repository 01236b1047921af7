import { isOperation, type Operation } from '@quartermaster/contracts/operation.ts';
import { type AnyTRPCProcedure, type AnyTRPCRouter, initTRPC } from '@trpc/server';
import type { OpenApiMeta } from 'trpc-to-openapi';
import { z } from 'zod';
import { type CallerContext, type Context, shownId } from '../auth/context.ts';
import type { Endpoint } from './endpoint.ts';
import { errorShape } from './errors/problems.ts';
import type { CurrentRecord } from './preconditions/require-match.ts';

export type TrpcContext = {
  requestId: string;
  callerRequestId: string | null;
  /** Passes the request through the pipeline, and returns the output of its handler. */
  run: (endpoint: Endpoint) => Promise<unknown>;
};

const t = initTRPC
  .context<TrpcContext>()
  .meta<OpenApiMeta<{ endpoint: Endpoint }>>()
  .create({
    errorFormatter: ({ shape, error, ctx }) => errorShape(shape, error, shownId(ctx)),
    isDev: false,
  });

export const router = t.router;

type Handler<Ctx, O, R> = (call: { ctx: Ctx; input: O }) => R | Promise<R>;

/**
 * Connects an operation with its handler. The handler runs after all checks of `http/pipeline.ts`: its input is valid, and
 * `ctx.reach` contains the places where the caller holds the operation's scope.
 */
export function endpoint<I, O, R>(operation: Operation<I, O, R>) {
  return declare<CallerContext, I, O, R>(operation, null);
}

/**
 * {@link endpoint} for a write that supports If-Match.
 *
 * @param current reads the record whose tag is compared with the header
 */
export function conditionalEndpoint<I, O, R>(operation: Operation<I, O, R>, current: CurrentRecord<O>) {
  return declare<CallerContext, I, O, R>(operation, current);
}

/** {@link endpoint} for a public operation. It needs no credentials, and ignores those that are sent. */
export function publicEndpoint<I, O, R>(operation: Operation<I, O, R>) {
  return declare<Context & { operation: Operation }, I, O, R>(operation, null);
}

function declare<Ctx, I, O, R>(operation: Operation<I, O, R>, current: CurrentRecord<O> | null) {
  const procedureOf = (run: Handler<Ctx, O, R>) => {
    const endpoint = { operation, run, current } as unknown as Endpoint;
    const { method, path, operationId, summary, tag, params, output } = operation;
    const typed = t.procedure
      .meta({
        openapi: { method, path: path as `/${string}`, operationId, summary, tags: [tag] },
        endpoint,
      })
      .input(declared(z.looseObject(params?.shape ?? {})) as Typed<I, unknown>)
      .output(declared(output) as Typed<R, R>);
    const resolve = ({ ctx }: { ctx: TrpcContext }) => ctx.run(endpoint) as Promise<never>;
    return { typed, resolve };
  };
  return {
    query: (run: Handler<Ctx, O, R>) => {
      const { typed, resolve } = procedureOf(run);
      return typed.query(resolve);
    },
    mutation: (run: Handler<Ctx, O, R>) => {
      const { typed, resolve } = procedureOf(run);
      return typed.mutation(resolve);
    },
  };
}

/** The types that a schema has for clients. */
type Typed<I, O> = { _input: I; _output: O; parse: (value: unknown) => O };

/**
 * A schema that is declared but not applied. Clients take their types from it, and trpc-to-openapi takes the parameters of the
 * path. It lets values pass as they are, because the pipeline parses the input. The pipeline checks outputs in tests only,
 * because that takes as long as making them.
 */
function declared(schema: object): unknown {
  return Object.create(schema, { parse: { value: (value: unknown) => value } });
}

/** A router's procedures by their dotted paths. tRPC's types say that they are nested, but its record is flat. */
export function proceduresOf(router: AnyTRPCRouter): Record<string, AnyTRPCProcedure> {
  return router._def.procedures;
}

/** The operations of a router's procedures, in their order. */
export function operationsOf(router: AnyTRPCRouter): Operation[] {
  return Object.values(proceduresOf(router)).map(operationOf);
}

/** A procedure's operation. Meta is the one member of `_def` that tRPC documents for this. */
export function operationOf(procedure: AnyTRPCProcedure): Operation {
  const { endpoint: found } = (procedure._def.meta ?? {}) as { endpoint?: Endpoint };
  if (found === undefined || !isOperation(found.operation)) throw new Error('A procedure was not made by endpoint()');
  return found.operation;
}
