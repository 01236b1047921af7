import type { AttributeValue } from '../otlp/span.ts';
import { asText } from '../reading/as-text.ts';
import type { Dialect, LogSource } from '../reading/dialect.ts';
import { FUNCTION_NAMES } from '../reading/function-names.ts';
import { FAILURE, REJECTION } from '../reading/operations.ts';

/** The name of every MCP tool in log records, unless `OTEL_LOG_TOOL_DETAILS` is set. */
const UNNAMED_MCP_TOOL = 'mcp_tool';

/** The name of every user-defined agent, unless `OTEL_LOG_TOOL_DETAILS` is set. */
const UNNAMED_AGENT = 'custom';

const SCOPE = /^com\.anthropic\.claude_code(\.|$)/;

/**
 * Claude Code, also when the Claude Agent SDK runs it (code.claude.com/docs/en/monitoring-usage). Spans and log records of
 * a model call share `request_id`, those of a tool call share `tool_use_id`.
 */
export const claudeCode: Dialect = {
  name: 'claude-code',
  scopes: [SCOPE],
  attributes: {
    // The conventional attributes always say `anthropic`, wherever the model is served.
    vendor: ['anthropic.provider'],
    model: ['gen_ai.request.model', 'model'],
    tool: ['gen_ai.tool.name', 'tool_name'],
    toolServer: ['anthropic.mcp.server.name'],
    agent: ['subagent_type'],
    callId: ['tool_use_id', 'request_id'],
    conversationId: ['session.id'],
    inputTokens: ['input_tokens'],
    outputTokens: ['output_tokens'],
    cacheReadTokens: ['cache_read_tokens'],
    cacheWriteTokens: ['cache_creation_tokens'],
  },
  spanNames: [
    { pattern: /^claude_code\.llm_request$/, operation: 'chat' },
    { pattern: /^claude_code\.tool$/, operation: 'execute_tool' },
  ],
  names: FUNCTION_NAMES,
  vendors: {
    firstparty: 'anthropic',
    bedrock: 'aws.bedrock',
    mantle: 'aws.bedrock',
    anthropicaws: 'aws.bedrock',
    vertex: 'gcp.vertex_ai',
    anthropicgooglecloud: 'gcp.vertex_ai',
    foundry: 'azure.ai.inference',
  },
  agentTools: ['*'],
  mcpTools: 'mcp__server__tool',
  uncounted: { inputTokens: ['cache_read_tokens', 'cache_creation_tokens'] },
  content: [
    'user_prompt',
    'prompt',
    'prompt_text',
    'response',
    'body',
    'full_command',
    'bash_command',
    'bash_argv0',
    'file_path',
    'content',
    'output',
    'skill_name',
    'error',
    'tool_input',
    'tool_parameters',
    'hook_definitions',
    'new_context',
    'system_prompt',
    'user_system_prompt',
    'system_prompt_preview',
    'system_reminders',
    'tools',
    'response.model_output',
    'response.thinking_output',
  ],
  safe: [
    'span.type',
    'tool_name_safe',
    'llm_request.context',
    'query_source_safe',
    'speed',
    'effort',
    'stop_reason',
    'decision',
    'source',
    'agent_id',
    'parent_agent_id',
    'parent.source',
    'bash_command_class',
    'error_class',
    'system_prompt_hash',
  ],
  alsoReads: ['decision', 'success', 'error_class', 'status_code'],
  refine({ name, attributes }, facts) {
    if (name === 'claude_code.tool.blocked_on_user' && attributes['decision'] === 'reject') facts.operation = REJECTION;
    // Only this span, which is inside the span of the call, says that a tool failed.
    if (name === 'claude_code.tool.execution') facts.operation = FAILURE;
    if (facts.agent === UNNAMED_AGENT) facts.agent = null;
    if (asText(attributes['success']) === 'false' || name === 'api_error') {
      const { error_type, error_class, status_code } = attributes;
      facts.errorType = [error_type, error_class, status_code].map(textOf).find((text) => text !== '') ?? 'error';
    }
  },
  uses(_source, facts, usual) {
    const subagent = facts.agent;
    if (facts.operation !== 'execute_tool' || subagent === null) return usual;
    // The tool `Agent` runs a subagent. It is called by the enclosing agent, not by the subagent.
    facts.agent = null;
    return [...usual, { kind: 'agent', name: subagent }];
  },
  logs: {
    api_request: {
      operation: 'chat',
      attributes: { responseModel: ['model'], agent: ['agent.name'] },
      counts: isOfClaudeCode,
    },
    api_error: { operation: 'chat', attributes: { model: ['model'], agent: ['agent.name'] }, counts: isOfClaudeCode },
    tool_result: {
      operation: 'execute_tool',
      attributes: {
        tool: ['tool_parameters#mcp_tool_name', 'tool_name'],
        toolServer: ['tool_parameters#mcp_server_name'],
        agent: ['tool_parameters#subagent_type'],
      },
      counts: (record) => isOfClaudeCode(record) && !isUnnamedTool(record),
    },
  },
};

function isOfClaudeCode({ scope }: LogSource): boolean {
  return SCOPE.test(scope.name);
}

function isUnnamedTool({ attributes }: LogSource): boolean {
  return attributes['tool_name'] === UNNAMED_MCP_TOOL && attributes['tool_parameters'] === undefined;
}

function textOf(value: AttributeValue | undefined): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

const API = 'com.anthropic.claude-platform';

/**
 * The spans that Anthropic's SDKs write themselves (@anthropic-ai/sdk from 0.134, src/internal/tracing.ts): OpenTelemetry
 * GenAI, with the vendor also on the spans of tools and of the SDK's tool loop. That loop runs tools of the application and of MCP
 * servers, which may have the names of the vendor's tools.
 *
 * Anthropic's API exports spans with the same names (platform.claude.com/docs/en/api/opentelemetry/spans). It runs the tools that it
 * reports.
 */
export const anthropicSdk: Dialect = {
  name: 'anthropic-sdk',
  scopes: [/^com\.anthropic\.sdk(\.|$)/, API],
  attributes: {
    toolServer: ['anthropic.toolset.name'],
    inputTokens: ['gen_ai.usage.input_tokens'],
  },
  content: ['anthropic.tool_result.content', 'gen_ai.request.stop_sequences', 'gen_ai.tool.description'],
  safe: [
    'anthropic.request.id',
    'anthropic.organization.id',
    'anthropic.workspace.id',
    'anthropic.session.id',
    'anthropic.session.thread.id',
    'anthropic.session.environment.id',
    'anthropic.environment.id',
    'anthropic.environment.work.id',
    'anthropic.request.service_tier',
    'anthropic.response.service_tier',
    'anthropic.thinking.type',
    'anthropic.message.stop_reason',
    'anthropic.beta',
    'gen_ai.request.reasoning.level',
  ],
  refine({ scope }, facts) {
    if (scope.name === API && facts.tool !== null && facts.toolServer === null) facts.toolRunsAt = 'vendor';
  },
  // Counting the tokens of a request is not a model call.
  ignored: { name: /^anthropic\.messages\.count_tokens$/ },
};
