import type { Dialect } from '../reading/dialect.ts';

const RUN = /\.generate(?:_str|_structured)?$/;

/**
 * mcp-agent (github.com/lastmile-ai/mcp-agent, src/mcp_agent/{agents,mcp,workflows}). An agent runs in `generate` of its model's
 * class, whose span has the sum of the tokens.
 */
export const mcpAgent: Dialect = {
  name: 'mcp-agent',
  scopes: ['mcp-agent'],
  attributes: {
    tool: ['parsed_tool_name', 'gen_ai.tool.name', 'mcp.tool.name'],
    toolServer: ['parsed_server_name'],
  },
  content: [
    'arguments',
    'processed.request.tool_args',
    'processed.result.content',
    'request.params.arguments',
    'result.content',
    'tool_args',
  ],
  uses: ({ name }, { agent }, usual) =>
    agent !== null && RUN.test(name) ? [{ kind: 'agent', name: agent }, ...usual] : usual,
};
