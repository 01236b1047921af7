import type { Dialect } from './dialect.ts';

/**
 * The OpenTelemetry MCP conventions on their own, as MCP clients and servers write them. Their names are read in every
 * dialect (`genai.ts`).
 */
export const mcp = {
  name: 'mcp',
  signature: ['mcp.method.name'],
  content: ['mcp.request.argument', 'mcp.response.value', 'mcp.session.init_options'],
} satisfies Dialect;
