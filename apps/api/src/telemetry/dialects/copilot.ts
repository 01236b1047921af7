import type { Dialect } from './dialect.ts';

/** SHA-256 of the server's name and of the tool's name. Sent in place of the names unless content is captured. */
const HASHED_NAME = /^([0-9a-f]{64})\/([0-9a-f]{64})$/;

/**
 * GitHub Copilot CLI (`copilot help monitoring`) and Copilot Chat in VS Code (code.visualstudio.com/docs/agents/guides/
 * monitoring-agents). Both follow OpenTelemetry GenAI. Copilot Chat also sends log records, which report nothing beyond its
 * spans.
 */
export const copilot: Dialect = {
  name: 'copilot',
  scopes: ['github.copilot', 'copilot-chat', 'copilot'],
  signature: ['github.copilot.*', 'copilot_chat.*'],
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
  alsoReads: ['gen_ai.tool.type'],
  refine({ attributes }, facts) {
    if (facts.tool === null) return;
    const [, server, tool] = HASHED_NAME.exec(facts.tool) ?? [];
    if (tool !== undefined) Object.assign(facts, { toolServer: server, tool });
    // `extension` is VS Code's type for the tools of MCP servers and other extensions.
    if (facts.toolServer === null && attributes['gen_ai.tool.type'] !== 'extension') facts.toolRunsAt = 'agent';
  },
};
