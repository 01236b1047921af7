import type { Dialect } from '../reading/dialect.ts';
import { addCacheToInput } from '../reading/cached-tokens.ts';
import { FUNCTION_NAMES } from '../reading/function-names.ts';
import { readInside } from '../reading/inside.ts';

/** The event of the SDK that has the tokens of a call. Its input excludes cached tokens. */
const TOKENS = 'task.tokens';

/**
 * Cline (github.com/cline/cline, src/services/telemetry/TelemetryService.ts), and its SDK, which later versions are built on
 * (sdk/packages/core/src/services/telemetry). It sends log records only. A tool of an MCP server is reported by an event of its own,
 * and as `use_mcp_tool`. The SDK writes it as `<server>__<tool>`, and the tokens of a call in an event of their own.
 */
export const cline: Dialect = {
  name: 'cline',
  scopes: ['cline'],
  vendors: { cline: null, 'openai-compatible': null, 'openai-native': 'openai', 'vscode-lm': null },
  names: FUNCTION_NAMES,
  agentTools: ['*'],
  mcpTools: 'server__tool',
  content: ['errorMessage', 'error_message', 'argumentKeys', 'context'],
  alsoReads: ['success', 'status', 'source', 'operation', 'agentKind'],
  refine({ name, attributes }, facts) {
    const hasFailed = attributes['success'] === false || attributes['status'] === 'error';
    if (hasFailed || name === 'task.provider_api_error') facts.errorType ??= 'error';
    if (name === TOKENS) addCacheToInput(facts);
  },
  logs: {
    'task.conversation_turn': {
      operation: 'chat',
      attributes: { vendor: ['provider'], model: ['model'], inputTokens: ['tokensIn'], outputTokens: ['tokensOut'] },
      counts: ({ attributes }) => attributes['source'] === 'assistant',
    },
    'task.provider_api_error': { operation: 'chat', attributes: { vendor: ['provider'], model: ['model'] } },
    [TOKENS]: {
      operation: 'chat',
      attributes: {
        vendor: ['provider'],
        model: ['model'],
        inputTokens: ['tokensIn'],
        outputTokens: ['tokensOut'],
        cacheReadTokens: ['cacheReadTokens'],
        cacheWriteTokens: ['cacheWriteTokens'],
      },
      // Without the SDK, they are also in the turn.
      counts: ({ attributes }) => attributes['agentKind'] !== undefined,
      tokensOnly: () => true,
    },
    'sdk.error': {
      operation: 'chat',
      attributes: { vendor: ['providerId'], model: ['modelId'], errorType: ['error_type'] },
      isCommonName: true,
      counts: ({ attributes }) => attributes['operation'] === 'provider.stream',
    },
    'task.tool_used': {
      operation: 'execute_tool',
      attributes: { tool: ['tool'] },
      counts: ({ attributes }) => attributes['tool'] !== 'use_mcp_tool',
    },
    'task.mcp_tool_called': {
      operation: 'execute_tool',
      attributes: { tool: ['toolName'], toolServer: ['serverName'] },
      counts: ({ attributes }) => attributes['status'] !== 'started',
    },
  },
};

/**
 * Factory's Droid (docs.factory.ai, OTEL_CUSTOMER_ENABLED). Its format `genai` is OpenTelemetry GenAI without vendor and tokens. Its
 * format `legacy` has a span for each message, call of a tool and result of a tool.
 */
export const droid: Dialect = {
  name: 'droid',
  scopes: ['cli-agent-trace', 'cli-customer-events'],
  attributes: {
    model: ['gen_ai.request.model', 'model.id'],
    tool: ['gen_ai.tool.name', 'tool.name'],
    callId: ['gen_ai.tool.call.id', 'tool.id'],
    conversationId: ['gen_ai.conversation.id', 'session.id'],
    agent: ['gen_ai.agent.name'],
  },
  spanNames: [
    { pattern: /^droid\.tool\.call$/, operation: 'execute_tool' },
    { pattern: /^droid\.message\.assistant$/, operation: 'chat' },
    { pattern: /^droid\.message\.user$/, operation: 'invoke_agent' },
    { pattern: /^droid\./, operation: 'event' },
  ],
  defaults: { agent: 'droid' },
  names: FUNCTION_NAMES,
  agentTools: ['*'],
  mcpTools: 'server___tool',
  rejected: { errorType: /^(?:denied|rejected)$/ },
  content: ['message.content', 'tool.input', 'tool.result', 'user.email'],
  safe: ['message.role', 'prompt.id', 'tool.is_error'],
  alsoReads: ['gen_ai.tool.call.arguments', 'tool.input'],
  refine(_span, facts) {
    if (facts.operation === 'event') facts.model = null;
    if (facts.model !== null) facts.model = CUSTOM_MODEL.exec(facts.model)?.[1] ?? facts.model;
  },
  uses({ attributes }, { operation, toolServer }, usual) {
    if (operation !== 'execute_tool' || toolServer !== null) return usual;
    const given = attributes['gen_ai.tool.call.arguments'] ?? attributes['tool.input'];
    const subagent = readInside(given, ['subagent_type']);
    if (typeof subagent !== 'string' || !FUNCTION_NAMES.tool.test(subagent)) return usual;
    return [...usual, { kind: 'agent', name: subagent }];
  },
};

/** The id that Droid makes from the display name of a user's own model. */
const CUSTOM_MODEL = /^custom:(.+?)(?:-\d+)?$/;

/**
 * CodeBuddy Code by Tencent (www.codebuddy.ai/docs/cli/monitoring; npm: @tencent-ai/agent-sdk, cli/dist). It sends spans of prompts,
 * subagents and tools. The scope is the name of the product with its version. If `OTEL_SERVICE_NAME` is set, the scope is that name, and the
 * spans are read as those of an unknown framework. They do not name models. The call of an MCP server is inside the span of the tool.
 */
export const codebuddy: Dialect = {
  name: 'codebuddy',
  scopes: [/^CodeBuddy-/],
  attributes: {
    operation: ['span.type'],
    agent: ['conversation.agent', 'agent_type'],
    agentId: ['agent_id'],
    tool: ['tool_name', 'mcp.tool'],
    toolServer: ['mcp.server'],
    callId: ['tool.call_id'],
    conversationId: ['conversation.id'],
  },
  operations: {
    interaction: 'invoke_agent',
    subagent: 'invoke_agent',
    tool: 'execute_tool',
    mcp_call: 'execute_tool',
    teammate_busy: null,
    context_compact: null,
  },
  agentTools: ['*'],
  mcpTools: 'mcp__server__tool',
  content: ['user_prompt', 'tool_input', 'agent.prompt', 'mcp.input'],
};

/**
 * goose (github.com/aaif-goose/goose, crates/goose/src/agents/agent.rs and reply_parts.rs). It writes OpenTelemetry GenAI. Tools of an
 * extension, which is an MCP server, are named `<extension>__<tool>`.
 */
export const goose: Dialect = {
  name: 'goose',
  scopes: ['goose'],
  mcpTools: 'server__tool',
};

const TOOL_THAT_RAN = /^runtime\.tool\.handler$/;

/**
 * Docker Agent, formerly cagent (github.com/docker/docker-agent, pkg/runtime and pkg/telemetry). A tool call has a span, and another
 * one inside it if the tool ran: neither the user nor a hook rejected the call. The tools of the runtime itself hand over to agents.
 */
export const dockerAgent: Dialect = {
  name: 'docker-agent',
  scopes: ['cagent'],
  signature: ['cagent.*'],
  attributes: {
    agent: ['cagent.agent.name', 'agent'],
    tool: ['gen_ai.tool.name', 'tool.name'],
    callId: ['gen_ai.tool.call.id', 'tool.call_id'],
  },
  spanNames: [
    { pattern: /^runtime\.session$/, operation: 'invoke_agent' },
    { pattern: TOOL_THAT_RAN, operation: 'execute_tool' },
  ],
  refine({ name }, facts) {
    if (!TOOL_THAT_RAN.test(name)) facts.tool = null;
  },
};
