import type { Attributes } from '../otlp/span.ts';
import { asText } from '../reading/as-text.ts';
import type { Dialect } from '../reading/dialect.ts';
import type { Facts } from '../reading/facts.ts';
import { FUNCTION_NAMES } from '../reading/function-names.ts';
import { readInside } from '../reading/inside.ts';

/**
 * Gemini CLI (geminicli.com/docs/cli/telemetry; packages/core/src/telemetry). It sends spans and log records. The record of a
 * request identifies the span of the call. The record of the answer identifies no call, but only it has all tokens.
 */
export const geminiCli: Dialect = {
  name: 'gemini-cli',
  scopes: ['gemini-cli'],
  attributes: {
    vendor: ['auth_type'],
    // The called agent is in the arguments of the call. The usual attribute names the caller.
    agent: ['gen_ai.input.messages#agent_name', 'gen_ai.agent.name'],
    callId: ['gen_ai.tool.call_id'],
    conversationId: ['session.id'],
  },
  // The prompt's name is the id of the session. Spans have tokens only with detailed traces, and without thinking tokens.
  ignores: [
    'gen_ai.prompt.name',
    'gen_ai.usage.input_tokens',
    'gen_ai.usage.output_tokens',
    'gen_ai.usage.prompt_tokens',
    'gen_ai.usage.completion_tokens',
  ],
  operations: {
    llm_call: 'chat',
    tool_call: 'execute_tool',
    agent_call: 'invoke_agent',
    schedule_tool_calls: 'plan',
    user_prompt: 'plan',
    system_prompt: 'plan',
  },
  names: FUNCTION_NAMES,
  vendors: {
    'gemini-api-key': 'gcp.gemini',
    'oauth-personal': 'gcp.gemini',
    'cloud-shell': 'gcp.gemini',
    'compute-default-credentials': 'gcp.gemini',
    'vertex-ai': 'gcp.vertex_ai',
    gateway: null,
  },
  content: [
    'gen_ai.input.messages',
    'prompt',
    'request_text',
    'response_text',
    'function_args',
    'error',
    'reasoning',
    'reason',
    'metadata',
    'gen_ai.agent.description',
    'gen_ai.tool.description',
  ],
  safe: ['installation.id', 'prompt_id', 'event.timestamp', 'approval_mode', 'active_approval_mode', 'tool_type'],
  uncounted: { outputTokens: ['thoughts_token_count'] },
  alsoReads: ['success', 'status_code', 'error.type', 'error_type'],
  refine({ name, attributes }, facts) {
    if (name === 'agent_call' && facts.agent === attributes['gen_ai.agent.name']) facts.agent = null;
    if (facts.tool !== null) readToolName(facts.tool, attributes, facts);
    if (attributes['success'] === false || name === 'gemini_cli.api_error') {
      const type = attributes['error.type'] ?? attributes['error_type'];
      facts.errorType = typeof type === 'string' && type !== '' ? type : 'error';
    }
    facts.vendor ??= facts.operation === 'chat' ? 'gcp.gemini' : null;
  },
  logs: {
    'gemini_cli.api_request': { operation: 'chat', attributes: { model: ['model'] } },
    'gemini_cli.api_response': {
      operation: 'chat',
      attributes: { model: ['model'], inputTokens: ['input_token_count'], outputTokens: ['output_token_count'] },
      tokensOnly: () => true,
    },
    // Each attempt has a request of its own. An answer that breaks off has its error outside of the span, and only the span counts it.
    'gemini_cli.api_error': { operation: 'chat', attributes: { model: ['model'] }, isFailure: true },
    'gemini_cli.tool_call': {
      operation: 'execute_tool',
      attributes: { tool: ['function_name'], toolServer: ['mcp_server_name'] },
      counts: ({ attributes }) => attributes['decision'] !== 'reject',
    },
    'gemini_cli.agent.start': {
      operation: 'invoke_agent',
      attributes: { agent: ['agent_name'], agentId: ['agent_id'] },
    },
  },
};

/** The tool of an MCP server as the user sees it, `echo (everything MCP Server)`. It is in the span if content is sent. */
function displayedTool(attributes: Attributes): { server: string; tool: string } | null {
  const name = readInside(attributes['gen_ai.input.messages'], ['display', 'name']);
  const [, tool = '', server = ''] = /^(\S+) \((.+) MCP Server\)$/.exec(asText(name)) ?? [];
  return FUNCTION_NAMES.tool.test(tool) && FUNCTION_NAMES.toolServer.test(server) ? { server, tool } : null;
}

/**
 * Splits `mcp_everything_echo` into the server `everything` and the tool `echo`. If there are several ways to split a name, the tool
 * keeps the whole name, and belongs to the known server that fits best.
 */
function readToolName(written: string, attributes: Attributes, facts: Facts): void {
  const displayed = displayedTool(attributes);
  const known = facts.toolServer ?? displayed?.server;
  const server = known ?? /^mcp_([^_]+)_./.exec(written)?.[1];
  if (server === undefined) {
    facts.toolRunsAt = 'agent';
    return;
  }
  facts.toolServer = server;
  if (known === undefined && AMBIGUOUS.test(written)) return;
  const prefix = `mcp_${server.replaceAll(/[^\w.:-]/g, '_')}_`;
  facts.tool = displayed?.tool ?? (written.startsWith(prefix) ? written.slice(prefix.length) : written);
}

/** A name with several ways to split it: `mcp_weather_get_city` has the server `weather` or `weather_get`. */
const AMBIGUOUS = /^mcp_[^_]+_[^_]+_/;
