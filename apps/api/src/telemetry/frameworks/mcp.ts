import type { Dialect } from '../reading/dialect.ts';

const BACKEND = 'mcp.backend.name';

/**
 * The OpenTelemetry MCP conventions without GenAI, as MCP clients and servers write them. Every dialect reads their names
 * (`genai.ts`).
 */
export const mcp = {
  name: 'mcp',
  signature: ['mcp.method.name'],
  attributes: {
    toolServer: [
      // ToolHive. Its `mcp.server.name` is that of the gateway.
      'target.workload_name',
      'mcp.server.name',
      // agentgateway
      'mcp.target',
      // Splunk's instrumentation of FastMCP
      'sdot.mcp.server_name',
      // Envoy AI Gateway
      BACKEND,
    ],
  },
  // The gateway writes it in an event.
  refine({ events = [] }, facts) {
    const server = events.findLast(({ attributes }) => BACKEND in attributes)?.attributes[BACKEND];
    if (typeof server === 'string') facts.toolServer ??= server;
  },
  content: ['mcp.request.argument', 'mcp.response.value', 'mcp.session.init_options'],
} satisfies Dialect;
