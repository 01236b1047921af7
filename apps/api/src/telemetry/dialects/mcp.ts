import type { Dialect } from './dialect.ts';

/**
 * The OpenTelemetry MCP conventions without GenAI, as MCP clients and servers write them. Every dialect reads their names
 * (`genai.ts`).
 */
export const mcp = {
  name: 'mcp',
  signature: ['mcp.method.name'],
  // The second name is agentgateway's, the third that of Splunk's instrumentation of FastMCP.
  attributes: { toolServer: ['mcp.server.name', 'mcp.target', 'sdot.mcp.server_name'] },
  content: ['mcp.request.argument', 'mcp.response.value', 'mcp.session.init_options'],
} satisfies Dialect;
