import { isOperation, type Operation } from '@quartermaster/contracts/operation.ts';
import { expandStoredJson } from '@quartermaster/db/stored-json.ts';
import { type AnyTRPCProcedure, initTRPC } from '@trpc/server';
import { type CallerContext, type Context, shownId } from './context.ts';
import type { Endpoint } from './endpoint.ts';
import { errorShape } from './errors/problems.ts';
import type { Outcome } from './pipeline.ts';
import type { CurrentRecord } from './preconditions/require-match.ts';

export type TrpcContext = {
  requestId: string;
  callerRequestId: string | null;
  /** Passes the request through the pipeline. */
  run: (endpoint: Endpoint) => Promise<Outcome>;
};

const t = initTRPC
  .context<TrpcContext>()
  .meta<{ endpoint: Endpoint }>()
  .create({
    errorFormatter: ({ shape, error, ctx }) => errorShape(shape, error, shownId(ctx)),
    isDev: false,
  });

export const router = t.router;

/** A parser that leaves the input as it is: the pipeline validates. It carries the type that clients send. */
type TypedInput<I> = { _input: I; _output: unknown; parse: (raw: unknown) => unknown };
const PASSES_THROUGH = { parse: (raw: unknown) => raw };

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
    const own = { operation, run, current } as unknown as Endpoint;
    const resolve = async ({ ctx }: { ctx: TrpcContext }): Promise<never> => (await ctx.run(own)).output as never;
    // The pipeline reads and validates the input. These two give typed clients their types.
    const typed = t.procedure
      .meta({ endpoint: own })
      .input(PASSES_THROUGH as TypedInput<I>)
      .output((answer: unknown): R => operation.output.parse(expandStoredJson(answer)));
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

export type Procedures = Record<string, AnyTRPCProcedure>;

/** A procedure's endpoint. Meta is the one member of `_def` that tRPC documents for this. */
export function endpointOf(procedure: AnyTRPCProcedure): Endpoint {
  const { endpoint: found } = (procedure._def.meta ?? {}) as { endpoint?: Endpoint };
  if (found === undefined || !isOperation(found.operation)) throw new Error('A procedure was not made by endpoint()');
  return found;
}

/** The endpoints of a router's procedures, in their order. */
export function endpointsOf(procedures: Procedures): Endpoint[] {
  return Object.values(procedures).map(endpointOf);
}
