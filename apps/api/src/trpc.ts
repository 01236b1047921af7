import type { Operation } from '@quartermaster/contracts/operation.ts';
import { parsedJson } from '@quartermaster/db/stored-json.ts';
import type { TenantScope } from '@quartermaster/db/tenancy.ts';
import { runForTenant } from '@quartermaster/db/tenant-context.ts';
import { initTRPC } from '@trpc/server';
import { authorise, refuseForeignTenants } from './access/authorise.ts';
import { type Principal, tenantOfCaller } from './access/principal.ts';
import { errorShape } from './http/problems.ts';
import { explained } from './http/validation.ts';
import { checkValues } from './http/values.ts';
import {
  type CurrentRecord,
  type Preconditions,
  performIfMatch,
  refuseUnusable,
} from './preconditions/require-match.ts';
import { inFairTurn } from './rate-limits/fair-turns.ts';
import type { Services } from './services.ts';

/** What every call has at hand, whichever way it came in. */
export type Context = Preconditions & {
  services: Services;
  /** The service's own id of the request. */
  requestId: string;
  /** The id that the caller gave it. */
  callerRequestId: string | null;
  /** The caller's address, behind trusted proxies the client's. */
  address: string;
  /** Null where no credential was sent. */
  principal: Principal | null;
  /** Why the call is refused whatever it asks: its credential, or a limit that was reached. */
  refused?: unknown;
  /** Whether the procedure has to wait for its turn. A call over REST has waited before. */
  waitsForTurn?: boolean | undefined;
};

/** The same, behind an operation that asks for credentials. */
export type CallerContext = Context & {
  principal: Principal;
  operation: Operation;
  /** Where the caller may do this: what the repositories get as their scope. */
  reach: TenantScope;
};

/** The id of a request that its answer shows. */
export function shownId(ctx: Pick<Context, 'requestId' | 'callerRequestId'> | undefined): string {
  return ctx?.callerRequestId ?? ctx?.requestId ?? '';
}

type Meta = { operation: Operation };

/** Callers without credentials have their turns at the database together. */
export const STRANGERS = 'strangers';

const t = initTRPC
  .context<Context>()
  .meta<Meta>()
  .create({
    errorFormatter: ({ shape, error, ctx }) => errorShape(shape, error, shownId(ctx)),
    isDev: false,
  });

export const router = t.router;

/**
 * The beginning of every procedure: credentials, scope and named tenants are checked before the input is looked at,
 * then values and output are checked against the contract.
 */
export function endpoint<I, O, R>(operation: Operation<I, O, R>) {
  return t.procedure
    .meta({ operation: operation })
    .use(async ({ ctx, getRawInput, next }) => {
      if (ctx.refused !== undefined) throw ctx.refused;
      const raw = await getRawInput();
      const { principal, reach, own } = authorise(operation, ctx.principal, raw);
      if (!own) refuseForeignTenants(reach, raw);
      refuseUnusable(operation, ctx);
      checkValues(raw);
      const run = () =>
        runForTenant(tenantOfCaller(principal), () =>
          next({ ctx: { ...ctx, principal, reach, operation: operation } }),
        );
      const result = await (ctx.waitsForTurn === true ? inFairTurn(ctx, operation, run) : run());
      if (!result.ok) throw explained(result.error, operation, raw);
      return result;
    })
    .input(operation.input)
    .output(answerOf(operation));
}

/**
 * The same for a write that takes If-Match.
 *
 * @param current reads the record that the header speaks of
 */
export function conditionalEndpoint<I, O, R>(operation: Operation<I, O, R>, current: CurrentRecord<O>) {
  return endpoint(operation).use(async ({ ctx, input, next }) => {
    const header = ctx.ifMatch;
    if (header === undefined) return next();
    return performIfMatch({ ctx, input, header }, current, async ({ services }) => {
      const result = await next({ ctx: { services } });
      if (!result.ok) throw result.error;
      return result;
    });
  });
}

/** The same for an operation that asks for no credentials, and looks at none. */
export function publicEndpoint<I, O, R>(operation: Operation<I, O, R>) {
  return t.procedure
    .meta({ operation: operation })
    .use(async ({ ctx, getRawInput, next }) => {
      if (ctx.refused !== undefined) throw ctx.refused;
      const raw = await getRawInput();
      checkValues(raw);
      const result = await runForTenant(STRANGERS, () => next({ ctx: { ...ctx, operation: operation } }));
      if (!result.ok) throw explained(result.error, operation, raw);
      return result;
    })
    .input(operation.input)
    .output(answerOf(operation));
}

/** What typed callers get: the answer as REST has it, checked. */
function answerOf<I, O, R>(operation: Operation<I, O, R>): (answer: unknown) => R {
  return (answer) => operation.output.parse(parsedJson(answer));
}
