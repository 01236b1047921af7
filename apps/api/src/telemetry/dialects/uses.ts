import type { ReadSource } from './dialect.ts';
import type { Facts, Use } from './facts.ts';

/**
 * What a span counts as a use of. Both ends of an MCP call make a span; the client's counts, the server's does not. An
 * agent's name counts where the span is the agent's own, not on every call that is made in its name. A workflow is an agent.
 * The span of work inside this process (of an agent, a chain) may repeat the model that is called in it: that call has a
 * span of its own. Only the span of a remote agent, which is a client's, counts its model, since no other span does.
 */
export function usesOf(span: Pick<ReadSource, 'kind'>, facts: Facts, isWrapper: boolean): Use[] {
  const { operation, tool, prompt, mcpMethod, mcpResource } = facts;
  if (mcpMethod !== null) {
    if (span.kind === 'server') return [];
    if (mcpMethod === 'tools/call') return named('tool', tool);
    if (mcpMethod === 'prompts/get') return named('prompt', prompt);
    if (RESOURCE_METHODS.has(mcpMethod)) return named('resource', mcpResource);
    return [];
  }
  if (operation === 'execute_tool') return named('tool', tool);
  if (operation === 'handoff') return [];
  const isEnclosing = isWrapper || (ENCLOSING_OPERATIONS.has(operation ?? '') && span.kind !== 'client');
  const model = isEnclosing ? null : facts.model;
  if (operation === 'invoke_agent' || operation === 'create_agent') {
    return [...named('agent', facts.agent ?? facts.agentId), ...named('model', model), ...named('prompt', prompt)];
  }
  if (operation === 'invoke_workflow') return [...named('agent', facts.workflow), ...named('prompt', prompt)];
  // Instrumentations from before `gen_ai.operation.name` are known by what they name.
  const unnamedTool = operation === null && model === null ? named('tool', tool) : [];
  return [...named('model', model), ...unnamedTool, ...named('prompt', prompt)];
}

const ENCLOSING_OPERATIONS = new Set(['invoke_agent', 'create_agent', 'invoke_workflow', 'plan']);

const RESOURCE_METHODS = new Set(['resources/read', 'resources/subscribe']);

function named(kind: Use['kind'], name: string | null): Use[] {
  return name === null ? [] : [{ kind, name }];
}
