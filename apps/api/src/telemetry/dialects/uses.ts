import type { ReadSource } from './dialect.ts';
import type { Facts, Use } from './facts.ts';
import { isKnownOperation, isModelCall } from './operations.ts';

/**
 * What a span counts as a use of. Both ends of an MCP call make a span; the client's counts, the server's does not. An
 * agent's name counts where the span is the agent's own, not on every call that is made in its name. A workflow is an agent.
 * The span of work inside this process (of an agent, a chain) may repeat the model that is called in it: that call has a
 * span of its own. Only the span of a remote agent, which is a client's, counts its model, since no other span does.
 * A tool counts under any operation but those of models and agents, which may name the tool that they were asked for.
 */
export function usesOf(span: Pick<ReadSource, 'kind'>, facts: Facts, isWrapper: boolean): Use[] {
  const { operation, tool, prompt, mcpMethod, mcpResource } = facts;
  if (mcpMethod !== null && !isOtherCall(mcpMethod, facts)) {
    if (span.kind === 'server') return [];
    if (mcpMethod === 'tools/call') return named('tool', tool);
    if (mcpMethod === 'prompts/get') return named('prompt', prompt);
    if (RESOURCE_METHODS.has(mcpMethod)) return named('resource', mcpResource);
    return [];
  }
  if (operation === 'execute_tool') return named('tool', tool);
  if (operation !== null && tool !== null && !isKnownOperation(operation)) return named('tool', tool);
  const isEnclosing = isWrapper || (ENCLOSING_OPERATIONS.has(operation ?? '') && span.kind !== 'client');
  const model = isEnclosing ? null : facts.model;
  if (operation === 'invoke_agent' || operation === 'create_agent') {
    return [...named('agent', facts.agent ?? facts.agentId), ...named('model', model), ...named('prompt', prompt)];
  }
  if (operation === 'invoke_workflow') {
    return [...named('agent', facts.workflow), ...named('model', model), ...named('prompt', prompt)];
  }
  // Instrumentations from before `gen_ai.operation.name` are known by what they name.
  const unnamedTool = model === null && !isEnclosing ? named('tool', tool) : [];
  return [...named('model', model), ...unnamedTool, ...named('prompt', prompt)];
}

/** Whether a span tells of a call of a model or a tool, and of an MCP method that calls nothing, such as `ping`. */
function isOtherCall(mcpMethod: string, { operation, model, tool }: Facts): boolean {
  if (CALLING_METHODS.has(mcpMethod)) return false;
  return operation === 'execute_tool' ? tool !== null : isModelCall(operation) && model !== null;
}

const ENCLOSING_OPERATIONS = new Set(['invoke_agent', 'create_agent', 'invoke_workflow', 'plan']);

const RESOURCE_METHODS = new Set(['resources/read', 'resources/subscribe']);
const CALLING_METHODS = new Set(['tools/call', 'prompts/get', ...RESOURCE_METHODS]);

function named(kind: Use['kind'], name: string | null): Use[] {
  return name === null ? [] : [{ kind, name }];
}
