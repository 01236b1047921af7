import type { Dialect } from '../reading/dialect.ts';

/**
 * Bifrost (github.com/maximhq/bifrost, framework/tracing and core/mcp). It writes OpenTelemetry GenAI. Only the span's name names
 * the MCP server of a tool, which is also in front of the tool: `mcp.chat_tool_call.everything`, `everything-echo`.
 */
export const bifrost: Dialect = {
  name: 'bifrost',
  signature: ['bifrost.*'],
  spanNames: [{ pattern: /^mcp\.(?:chat_tool_call|responses_tool_call|execute_tool)\.(?<toolServer>.+)$/ }],
  safe: ['bifrost.provider.name', 'bifrost.request.id'],
  refine(_span, facts) {
    const { tool, toolServer } = facts;
    if (tool === null || toolServer === null) return;
    const prefix = `${toolServer}-`;
    if (tool.startsWith(prefix) && tool !== prefix) facts.tool = tool.slice(prefix.length);
  },
};
