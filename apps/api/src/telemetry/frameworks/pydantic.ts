import { asText } from '../reading/as-text.ts';
import type { Dialect } from '../reading/dialect.ts';

const OUTPUT_FUNCTION = /^running output function/;

/**
 * Pydantic AI (github.com/pydantic/pydantic-ai, pydantic_ai_slim/pydantic_ai/capabilities/instrumentation.py). Up to version 2 of its
 * instrumentation, the spans of agents and tools are recognised only by their names.
 */
export const pydanticAi: Dialect = {
  name: 'pydantic-ai',
  scopes: ['pydantic-ai'],
  signature: ['pydantic_ai.*', 'model_request_parameters', 'gen_ai.agent.call.id'],
  attributes: { agent: ['gen_ai.agent.name', 'agent_name'] },
  spanNames: [
    { pattern: /^agent run$/, operation: 'invoke_agent' },
    { pattern: /^running tool$/, operation: 'execute_tool' },
  ],
  content: [
    'pydantic_ai.all_messages',
    'all_messages_events',
    'events',
    'final_result',
    'model_request_parameters',
    'tool_arguments',
    'tool_response',
    'gen_ai.agent.description',
    'gen_ai.tool.description',
    'logfire.msg',
  ],
  safe: ['agent_name', 'model_name', 'gen_ai.agent.call.id', 'logfire.span_type'],
  ignored: {
    // An output function only converts the answer into the result. It is not a tool, although the model calls it like one.
    name: OUTPUT_FUNCTION,
    attributes: {
      'logfire.msg': OUTPUT_FUNCTION,
      // The tool did not run: its arguments were invalid, or the call waits for an approval.
      'pydantic_ai.tool.failure_stage': /^validation$/,
      'pydantic_ai.tool.deferral.name': /^ApprovalRequired$/,
    },
  },
};

/**
 * Logfire's instrumentations of OpenAI, Anthropic, OpenAI Agents and MCP (github.com/pydantic/logfire,
 * logfire/_internal/integrations). The name of a span is a template, such as `Agent run: {name!r}`, and `name` is an
 * attribute.
 */
export const logfire: Dialect = {
  name: 'logfire',
  scopes: [/^logfire(\.|$)/],
  attributes: {
    model: ['gen_ai.request.model', 'request_data#model'],
    toolServer: ['mcp_data#server'],
    // Of one message of the Claude Agent SDK, whose sum only the agent's span has.
    inputTokens: ['gen_ai.usage.input_tokens', 'gen_ai.usage.partial.input_tokens'],
    outputTokens: ['gen_ai.usage.output_tokens', 'gen_ai.usage.partial.output_tokens'],
  },
  spanNames: [
    { pattern: /^Agent run: /, operation: 'invoke_agent' },
    { pattern: /^Function: /, operation: 'execute_tool' },
    { pattern: /^Handoff: /, operation: 'handoff' },
  ],
  content: [
    'events',
    'input',
    'output',
    'raw_input',
    'response',
    'response_data',
    'request',
    'request_data',
    'mcp_data',
    'logfire.msg',
  ],
  safe: ['agent_name', 'logfire.msg_template', 'logfire.span_type', 'rpc.system', 'rpc.method', 'rpc.jsonrpc.version'],
  alsoReads: ['name', 'rpc.system', 'rpc.method', 'request', 'logfire.level_num'],
  refine({ name, attributes }, facts) {
    const subject = typeof attributes['name'] === 'string' ? attributes['name'] : null;
    if (name.startsWith('Agent run: ')) facts.agent ??= subject;
    if (name.startsWith('Function: ')) facts.tool ??= subject;
    // A failed call of OpenAI Agents has the level of an error, and no status.
    if (Number(asText(attributes['logfire.level_num'])) >= LEVEL_OF_ERRORS) facts.errorType ??= '_OTHER';
    const method = attributes['rpc.method'];
    if (attributes['rpc.system'] !== 'jsonrpc' || typeof method !== 'string') return;
    facts.mcpMethod ??= method;
    facts.tool ??= toolIn(attributes['request']);
  },
  // The server's side of an MCP call does not count.
  ignored: { name: /^MCP server handle request/ },
};

/** The lowest severity number of an error in OpenTelemetry. */
const LEVEL_OF_ERRORS = 17;

function toolIn(request: unknown): string | null {
  const params =
    typeof request === 'string' ? /"params":\s*\{[^{}]*?"name":\s*"([\w.:/-]{1,128})"/.exec(request) : null;
  return params?.[1] ?? null;
}
