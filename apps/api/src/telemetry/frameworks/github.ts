import { hash } from 'node:crypto';
import type { Attributes } from '../otlp/span.ts';
import { asText } from '../reading/as-text.ts';
import type { Dialect } from '../reading/dialect.ts';
import type { Facts } from '../reading/facts.ts';
import { REJECTION } from '../reading/operations.ts';

/** SHA-256 of the server's name and of the tool's name. Sent in place of the names unless content is captured. */
const HASHED_NAME = /^([0-9a-f]{64})\/([0-9a-f]{64})$/;

const PERMISSION = 'github.copilot.permission.result';

/** The name of every user-defined agent in the telemetry of the Copilot SDK. */
const UNNAMED_AGENT = 'custom-agent';

/**
 * GitHub Copilot CLI (`copilot help monitoring`), its SDK, and Copilot Chat in VS Code (code.visualstudio.com/docs/agents/guides/
 * monitoring-agents). They follow OpenTelemetry GenAI. Copilot Chat also sends log records, which report nothing beyond its
 * spans.
 */
export const copilot: Dialect = {
  name: 'copilot',
  scopes: ['github.copilot', 'copilot-chat', 'copilot'],
  signature: ['github.copilot.*', 'copilot_chat.*'],
  rejected: { errorType: /^(?:denied|rejected)$/ },
  attributes: {
    tool: ['github.copilot.tool.parameters.mcp_tool_name', 'gen_ai.tool.name'],
    toolServer: [
      'github.copilot.tool.parameters.mcp_server_name',
      'github.copilot.tool.parameters.mcp_server_name_hash',
    ],
  },
  // GitHub serves the models.
  vendors: { github: 'github' },
  content: [
    'github.copilot.tool.parameters',
    'github.copilot.context.skills',
    'github.copilot.error_message',
    'github.copilot.sandbox.path',
    'github.copilot.sandbox.command',
    'copilot_chat.reasoning_content',
    'copilot_chat.user_request',
    'copilot_chat.prompt_context',
    'copilot_chat.prompt_instructions',
    'copilot_chat.markdown_content',
    'copilot_chat.hook_input',
    'copilot_chat.hook_output',
    'gen_ai.agent.description',
    'gen_ai.tool.description',
  ],
  safe: [
    'github.copilot.turn_id',
    'github.copilot.interaction_id',
    'github.copilot.initiator',
    'github.copilot.agent.type',
    'github.copilot.mcp.server.transport',
    'github.copilot.mcp.server.source',
    'github.copilot.mcp.server.name_hash',
    'github.copilot.mcp.server.state',
    'github.copilot.context.mcp_server_names',
    'github.copilot.error_type',
    'github.copilot.error_code',
    'gen_ai.request.reasoning.level',
    'copilot_chat.location',
    'copilot_chat.intent',
    'copilot_chat.api_type',
    'copilot_chat.fetcher',
    'copilot_chat.debug_name',
    'copilot_chat.endpoint_type',
    'copilot_chat.session_id',
    'copilot_chat.server_request_id',
  ],
  alsoReads: [PERMISSION, 'gen_ai.tool.type', 'gen_ai.response.finish_reasons'],
  refine({ name, attributes }, facts) {
    if (name === 'permission' && asText(attributes[PERMISSION]).startsWith('denied')) facts.operation = REJECTION;
    if (facts.agent === UNNAMED_AGENT) facts.agent = null;
    if (facts.operation === 'chat' && !hasAnswer(attributes, facts)) facts.model = null;
    if (facts.tool === null) return;
    const [, server, tool] = HASHED_NAME.exec(facts.tool) ?? [];
    if (tool !== undefined) Object.assign(facts, { toolServer: server, tool });
    facts.toolServer = serverInName(attributes, facts) ?? facts.toolServer;
    // `extension` is VS Code's type for the tools of MCP servers and other extensions.
    if (facts.toolServer === null && attributes['gen_ai.tool.type'] !== 'extension') facts.toolRunsAt = 'agent';
  },
};

/** The server in the name that VS Code gives a tool, `mcp_everything_get-sum`, if it has the hash that the span names. */
function serverInName({ 'gen_ai.tool.name': name }: Attributes, { tool, toolServer }: Facts): string | null {
  const [, prefixed = ''] = /^mcp_(.+)$/.exec(asText(name)) ?? [];
  const server = prefixed.endsWith(`_${tool}`) ? prefixed.slice(0, -`_${tool}`.length) : '';
  return server !== '' && hash('sha256', server) === toolServer ? server : null;
}

/**
 * Whether the span of a chat reports an answer, or a reason for its absence. The Copilot SDK writes each call twice, the first time
 * without the response. It also writes spans of turns that call no model, or that end with another turn.
 */
function hasAnswer(attributes: Attributes, { responseModel, inputTokens }: Facts): boolean {
  const { 'gen_ai.response.finish_reasons': reasons, 'error.type': error = TURN_ENDED } = attributes;
  return responseModel !== null || inputTokens !== null || reasons !== undefined || error !== TURN_ENDED;
}

const TURN_ENDED = 'SessionTurnError';

const CALL_AT_SERVER = /^gateway\.backend\.execute$/;

/**
 * GitHub Agentic Workflows (github.com/github/gh-aw, actions/setup/js/send_otlp_span.cjs) and its MCP gateway
 * (github.com/github/gh-aw-mcpg, internal/tracing). One span stands for all calls of the model in a run. The spans of the jobs repeat
 * the model. The gateway names the MCP server as the agent. Its span of a tool call has another one inside it if the call was allowed.
 */
export const ghAw: Dialect = {
  name: 'gh-aw',
  scopes: ['gh-aw', 'github.com/github/gh-aw-mcpg'],
  attributes: {
    workflow: ['gen_ai.workflow.name', 'gh-aw.workflow.name'],
    tool: ['gen_ai.tool.name', 'tool.name'],
    toolServer: ['gen_ai.agent.id', 'server.id'],
  },
  ignores: ['gen_ai.agent.name'],
  spanNames: [{ pattern: CALL_AT_SERVER, operation: 'execute_tool' }],
  // The engine Copilot, which calls models of several vendors.
  vendors: { github_models: null, github_copilot: null },
  readsAlone: true,
  refine({ name }, facts) {
    facts.agentId = null;
    if (!CALL_AT_SERVER.test(name)) facts.tool = null;
  },
  uses(_span, { operation, workflow }, usual) {
    if (operation === 'execute_tool') return usual;
    if (operation !== 'chat') return [];
    return workflow === null ? usual : [...usual, { kind: 'agent', name: workflow }];
  },
};
