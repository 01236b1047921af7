import {
  AccessDenied,
  type Checker,
  createChecker,
  type Denial,
  type Guard,
  type GuardedSession,
  type ProviderOf,
} from '@quartermaster/gateway';
import { type AgentMiddleware, createMiddleware, ToolMessage } from 'langchain';
import { modelNameOf } from './model-name.ts';

export type { Named, ProviderOf } from '@quartermaster/gateway';

/** What the middleware reads of LangChain's runtime. */
export type RunContext = { context?: unknown; configurable?: Record<string, unknown> };

/**
 * Whose session decides: one session, or one for each run.
 *
 * With `guard` each run brings its token, as `quartermasterToken` in its `context` or in `configurable`.
 */
export type SessionSource =
  | { session: GuardedSession | ((runtime: RunContext) => GuardedSession | Promise<GuardedSession>) }
  | { guard: Guard };

export type QuartermasterOptions = SessionSource & {
  /** Says which provider a tool or model belongs to. Null: it is not governed. Undefined: it is denied. */
  providerOf: ProviderOf;
  /**
   * What happens to a tool that is not permitted. `deny`: the model does not see it, and a call is answered with an error that the model
   * can read. `interrupt`: the model sees it, and a call pauses the run until it is resumed, and is then decided again. It needs a
   * checkpointer. `deny` by default.
   */
  onUnknown?: 'deny' | 'interrupt';
};

/** The value of the interrupt that `onUnknown: 'interrupt'` raises. */
export type ReviewRequest = {
  type: 'quartermaster.review';
  tool: string;
  message: string;
  reason: string | null;
  observationId: string | null;
  reviewUrl: string | null;
};

/** An approval counts everywhere after this time: the service reads what it decides by again after 2 s. */
const APPROVAL_DELAY_MS = 2100;

/** Middleware that lets an agent use only the tools and models that its gateway session permits. */
export function quartermaster(options: QuartermasterOptions): AgentMiddleware {
  const { providerOf, onUnknown = 'deny' } = options;

  async function checkerOf(runtime: RunContext): Promise<Checker> {
    return createChecker(await sessionOf(options, runtime), providerOf);
  }

  return createMiddleware({
    name: 'Quartermaster',

    wrapModelCall: async (request, handler) => {
      const runtime: RunContext = request.runtime;
      const session = await sessionOf(options, runtime);
      await session.refresh();
      const checker = createChecker(session, providerOf);
      const denial = await checker.check({
        kind: 'model',
        ...(await modelNameOf(request.model, runtime.configurable)),
      });
      if (denial !== null) throw new AccessDenied(denial);
      const tools = request.tools.filter((tool) => {
        // The model's provider runs the tools that this process cannot invoke, so hiding them is the only way to deny them.
        const isShown = onUnknown === 'interrupt' && 'invoke' in tool;
        return isShown || !checker.hides({ kind: 'tool', name: toolNameOf(tool) });
      });
      return handler({ ...request, tools });
    },

    wrapToolCall: async (request, handler) => {
      const { toolCall, runtime } = request;
      const checker = await checkerOf(runtime);
      let denial = await checker.checkTool(toolCall.name);
      if (denial?.decision && onUnknown === 'interrupt') {
        // The first time this throws, which pauses the run. In the resumed run it returns a value that anybody may have sent, so
        // the service decides again.
        runtime.interrupt?.(reviewRequestOf(denial));
        await new Promise((resolve) => setTimeout(resolve, APPROVAL_DELAY_MS));
        denial = await checker.checkTool(toolCall.name);
      }
      if (denial === null) return handler(request);
      return new ToolMessage({
        tool_call_id: toolCall.id ?? '',
        name: toolCall.name,
        status: 'error',
        content: denial.message,
      });
    },
  });
}

async function sessionOf(source: SessionSource, runtime: RunContext): Promise<GuardedSession> {
  if ('session' in source) return typeof source.session === 'function' ? source.session(runtime) : source.session;
  const { quartermasterToken = runtime.configurable?.['quartermasterToken'] } = (runtime.context ?? {}) as {
    quartermasterToken?: unknown;
  };
  if (typeof quartermasterToken !== 'string')
    throw new TypeError('the run has no session token: pass quartermasterToken in its context');
  return source.guard.session(quartermasterToken);
}

/** Tools that the model's provider runs are described by plain objects, often with a `type` alone. */
function toolNameOf(tool: object): string {
  const { name, type } = tool as { name?: unknown; type?: unknown };
  return [name, type].find((text) => typeof text === 'string') ?? '';
}

function reviewRequestOf({ message, named, decision }: Denial): ReviewRequest {
  const { reason = null, observationId = null, reviewUrl = null } = decision ?? {};
  return { type: 'quartermaster.review', tool: named.name, message, reason, observationId, reviewUrl };
}
