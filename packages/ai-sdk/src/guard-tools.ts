import {
  AccessDenied,
  type Checker,
  createChecker,
  type GuardedSession,
  type ProviderOf,
} from '@quartermaster/gateway';
import type {
  GenerateTextOnStepEndCallback,
  LanguageModel,
  PrepareStepFunction,
  ToolApprovalConfiguration,
  ToolSet,
} from 'ai';

export type { Named, ProviderOf } from '@quartermaster/gateway';

export type GuardToolsOptions = {
  session: GuardedSession;
  /** Says which provider a tool or model belongs to. Null: it is not governed. Undefined: it is denied. */
  providerOf: ProviderOf;
  /**
   * What happens to a tool that is not permitted. `deny`: the model does not see it. `ask`: the model sees it, and a call waits for the
   * approval of the user; the service decides again before the tool runs. `deny` by default.
   */
  onUnknown?: 'deny' | 'ask';
};

/** Settings for `generateText`, `streamText` and `ToolLoopAgent`. */
export type GuardedTools<Tools extends ToolSet> = {
  tools: Tools;
  prepareStep: PrepareStepFunction<Tools>;
  onStepEnd: GenerateTextOnStepEndCallback<Tools>;
  toolApproval?: ToolApprovalConfiguration<Tools, unknown>;
};

/**
 * Lets a model use only the tools that a gateway session permits, and only if it permits the model. Spread the result into the settings:
 * `generateText({ model, prompt, ...guardTools(tools, options) })`.
 */
export function guardTools<Tools extends ToolSet>(
  tools: Tools,
  { session, providerOf, onUnknown = 'deny' }: GuardToolsOptions,
): GuardedTools<Tools> {
  const checker = createChecker(session, providerOf);
  const names = Object.keys(tools);
  return {
    tools: Object.fromEntries(
      Object.entries(tools).map(([name, tool]) => [name, guarded(name, tool, checker)]),
    ) as Tools,
    prepareStep: async ({ model }) => {
      await session.refresh();
      const denial = await checker.check({ kind: 'model', ...modelNameOf(model) });
      if (denial !== null) throw new AccessDenied(denial);
      const activeTools = names.filter((name) => {
        // The model's provider runs its own tools before anybody could be asked, so hiding them is the only way to deny them.
        const isShown = onUnknown === 'ask' && tools[name]?.isProviderExecuted !== true;
        return isShown || !checker.hides({ kind: 'tool', name });
      });
      return { activeTools };
    },
    // The SDK refuses a call of a hidden tool before anybody else sees it. The service decides it, so that it is counted.
    onStepEnd: async ({ toolCalls }) => {
      const refused = toolCalls.filter(({ invalid }) => invalid === true);
      await Promise.all(refused.map(({ toolName }) => checker.checkTool(toolName)));
    },
    ...(onUnknown === 'ask' && { toolApproval: approvalOf(checker) }),
  };
}

/** The tool decides again each time it runs: an approval in the message history is only the word of the client. */
function guarded<Guarded extends ToolSet[string]>(name: string, tool: Guarded, checker: Checker): Guarded {
  const execute = tool.execute as ((...call: unknown[]) => unknown) | undefined;
  if (execute === undefined) return tool;
  const requirePermission = async () => {
    const denial = await checker.checkTool(name);
    if (denial !== null) throw new AccessDenied(denial);
  };
  // The SDK shows the first outputs of a generator before the last one.
  if (Object.prototype.toString.call(execute) === '[object AsyncGeneratorFunction]') {
    return {
      ...tool,
      async *execute(...call: unknown[]) {
        await requirePermission();
        yield* execute.apply(tool, call) as AsyncIterable<unknown>;
      },
    };
  }
  return {
    ...tool,
    async execute(...call: unknown[]) {
      await requirePermission();
      const output: unknown = execute.apply(tool, call);
      return isAsyncIterable(output) ? lastOf(output) : output;
    },
  };
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}

async function lastOf(outputs: AsyncIterable<unknown>): Promise<unknown> {
  let last: unknown;
  for await (const output of outputs) last = output;
  return last;
}

/** Asks the user about tools that are not permitted, and about those that ask for approval themselves. */
function approvalOf<Tools extends ToolSet>(checker: Checker): ToolApprovalConfiguration<Tools, unknown> {
  return async ({ toolCall, tools, toolsContext, messages }) => {
    const { toolName, toolCallId, input } = toolCall;
    const denial = await checker.checkTool(toolName);
    if (denial !== null) return { type: 'user-approval', reason: denial.message };
    // The SDK does not ask the tool itself if there is a function like this one.
    const needsApproval = tools?.[toolName]?.needsApproval;
    const context = (toolsContext as Record<string, unknown> | undefined)?.[toolName];
    const isNeeded =
      typeof needsApproval === 'function'
        ? await needsApproval(input, { toolCallId, messages, context })
        : needsApproval;
    return isNeeded ? 'user-approval' : undefined;
  };
}

function modelNameOf(model: LanguageModel): { name: string; vendor?: string } {
  return typeof model === 'string' ? { name: model } : { name: model.modelId, vendor: model.provider };
}
