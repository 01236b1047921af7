import type { Dialect } from '../reading/dialect.ts';
import { splitServer } from '../reading/mcp-name.ts';

/**
 * goose (github.com/aaif-goose/goose, crates/goose/src/agents/agent.rs and reply_parts.rs). It writes OpenTelemetry GenAI. Tools of an
 * extension, which is an MCP server, are named `<extension>__<tool>`.
 */
export const goose: Dialect = {
  name: 'goose',
  scopes: ['goose'],
  refine(_span, facts) {
    const named = facts.tool === null ? null : splitServer(facts.tool);
    if (named === null) return;
    facts.tool = named.tool;
    facts.toolServer ??= named.server;
  },
};
