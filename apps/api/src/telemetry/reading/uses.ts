import type { ReadSource } from './dialect.ts';
import type { Facts, Use } from './facts.ts';
import { isKnownOperation, isModelCall, REJECTION } from './operations.ts';

/**
 * The uses that a span counts as:
 * - Both sides of an MCP call write a span. Only the client's span counts. A server's span has the kind `server`, or names the
 *   client's address and does not have the kind `client`.
 * - An agent counts on its own span, and not on each call that it makes. A workflow counts as an agent.
 * - A span of an agent or chain in this process may repeat the model that is called inside. The model does not count there,
 *   because the model call has its own span. On a client's span of a remote agent the model counts, because no other span reports
 *   it. The creation of an agent calls no model.
 * - A tool counts under any operation except those of models and agents, which may name a tool that was only asked for. A span
 *   that has the tokens of a model's answer is a call of the model.
 * - The rejection of a call names the tool that did not run.
 * - A resource of MCP counts without a method if the span reports nothing else. Docker's gateway writes no methods.
 * - An evaluation or a guardrail may name the model that it is about. The model counts only if it answered.
 * - A span that fetches an earlier answer by its id calls no model. If it has tokens, it counts: some senders report the tokens of
 *   a background answer only there.
 */
export function usesOf(span: Pick<ReadSource, 'kind' | 'attributes'>, facts: Facts, isWrapper: boolean): Use[] {
  const { operation, tool, prompt, mcpMethod, mcpResource } = facts;
  if (operation === REJECTION) return [];
  if (mcpMethod !== null && !isOtherCall(mcpMethod, facts)) {
    if (isOfServer(span)) return [];
    if (mcpMethod === 'tools/call') return named('tool', tool);
    if (mcpMethod === 'prompts/get') return named('prompt', prompt);
    if (RESOURCE_METHODS.has(mcpMethod)) return named('resource', mcpResource);
    return [];
  }
  if (operation === 'execute_tool') return named('tool', tool);
  const hasTokens = facts.inputTokens !== null || facts.outputTokens !== null;
  const isAnswered = facts.responseModel !== null || hasTokens;
  const isModelAnswer = facts.model !== null && isAnswered;
  if (operation !== null && tool !== null && !isKnownOperation(operation) && !isModelAnswer) return named('tool', tool);
  const isEnclosing =
    isWrapper ||
    operation === 'create_agent' ||
    (ENCLOSING_OPERATIONS.has(operation ?? '') && span.kind !== 'client') ||
    (EVALUATIONS.has(operation ?? '') && !isAnswered) ||
    (operation === 'fetch_response' && !hasTokens);
  const model = isEnclosing ? null : facts.model;
  if (operation === 'invoke_agent' || operation === 'create_agent') {
    return [
      ...named('agent', facts.agent ?? idAsName(facts.agentId)),
      ...named('model', model),
      ...named('prompt', prompt),
    ];
  }
  if (operation === 'invoke_workflow') {
    return [...named('agent', facts.workflow), ...named('model', model), ...named('prompt', prompt)];
  }
  // Instrumentations older than `gen_ai.operation.name`: the names in the span decide.
  const unnamedTool = model === null && !isEnclosing ? named('tool', tool) : [];
  const calls = [...named('model', model), ...unnamedTool, ...named('prompt', prompt)];
  return calls.length > 0 || mcpMethod !== null ? calls : named('resource', mcpResource);
}

/** The address of a client. Servers write it. */
export const CLIENT_ADDRESS = 'client.address';

function isOfServer({ kind, attributes }: Pick<ReadSource, 'kind' | 'attributes'>): boolean {
  return kind === 'server' || (kind !== 'client' && attributes[CLIENT_ADDRESS] !== undefined);
}

/** Whether a span with an MCP method that calls nothing, such as `ping`, reports a model or tool call as well. */
function isOtherCall(mcpMethod: string, { operation, model, tool }: Facts): boolean {
  if (CALLING_METHODS.has(mcpMethod)) return false;
  return operation === 'execute_tool' ? tool !== null : isModelCall(operation) && model !== null;
}

const ENCLOSING_OPERATIONS = new Set(['invoke_agent', 'invoke_workflow', 'plan']);

const EVALUATIONS = new Set(['apply_guardrail', 'evaluate', 'evaluation', 'guardrail']);

const RESOURCE_METHODS = new Set(['resources/read', 'resources/subscribe']);
const CALLING_METHODS = new Set(['tools/call', 'prompts/get', ...RESOURCE_METHODS]);

const UUID = /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/i;

/** The id of an agent without a name. A UUID is not one: most often it is the id of a run. */
function idAsName(agentId: string | null): string | null {
  return agentId === null || UUID.test(agentId) ? null : agentId;
}

function named(kind: Use['kind'], name: string | null): Use[] {
  return name === null ? [] : [{ kind, name }];
}
