import type { Dialect } from '../reading/dialect.ts';

const TYPE = 'netra.agents.span_type';
const LIST_OF_TOOLS = 'mcp_list_tools';

/**
 * Netra's instrumentation of the OpenAI Agents SDK (github.com/KeyValueSoftwareSystems/netra-sdk-js, src/instrumentation/openai-agents).
 * A request for the tools of an MCP server names the server as a tool. Netra's other spans are read as those of other frameworks.
 */
export const netra: Dialect = {
  name: 'netra',
  scopes: ['netra.instrumentation.openai_agents'],
  attributes: { operation: [TYPE] },
  operations: {
    agent: 'invoke_agent',
    function: 'execute_tool',
    generation: 'chat',
    response: 'chat',
    handoff: null,
    guardrail: null,
    custom: null,
  },
  content: ['netra.custom.data', 'netra.agents.metadata'],
  refine({ attributes }, facts) {
    if (attributes[TYPE] === LIST_OF_TOOLS) facts.tool = null;
  },
};
