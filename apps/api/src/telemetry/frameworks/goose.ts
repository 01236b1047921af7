import type { Dialect } from '../reading/dialect.ts';

/**
 * goose (github.com/aaif-goose/goose, crates/goose/src/agents/agent.rs and reply_parts.rs). It writes OpenTelemetry GenAI. Tools of an
 * extension, which is an MCP server, are named `<extension>__<tool>`.
 */
export const goose: Dialect = {
  name: 'goose',
  scopes: ['goose'],
  mcpTools: 'server__tool',
};
