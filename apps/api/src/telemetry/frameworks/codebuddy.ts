import type { Dialect } from '../reading/dialect.ts';

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
