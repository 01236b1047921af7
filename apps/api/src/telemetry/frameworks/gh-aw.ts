import type { Dialect } from '../reading/dialect.ts';

const CALL_AT_SERVER = /^gateway\.backend\.execute$/;

/**
 * GitHub Agentic Workflows (github.com/github/gh-aw, actions/setup/js/send_otlp_span.cjs) and its MCP gateway
 * (github.com/github/gh-aw-mcpg, internal/tracing). One span stands for all calls of the model in a run. The spans of the jobs repeat
 * the model. The gateway names the MCP server as the agent. Its span of a tool call has another one inside it if the call was allowed.
 */
export const ghAw: Dialect = {
  name: 'gh-aw',
  scopes: ['gh-aw', 'github.com/github/gh-aw-mcpg'],
  attributes: {
    workflow: ['gen_ai.workflow.name', 'gh-aw.workflow.name'],
    tool: ['gen_ai.tool.name', 'tool.name'],
    toolServer: ['gen_ai.agent.id', 'server.id'],
  },
  ignores: ['gen_ai.agent.name'],
  spanNames: [{ pattern: CALL_AT_SERVER, operation: 'execute_tool' }],
  // The engine Copilot, which calls models of several vendors.
  vendors: { github_models: null, github_copilot: null },
  readsAlone: true,
  refine({ name }, facts) {
    facts.agentId = null;
    if (!CALL_AT_SERVER.test(name)) facts.tool = null;
  },
  uses(_span, { operation, workflow }, usual) {
    if (operation === 'execute_tool') return usual;
    if (operation !== 'chat') return [];
    return workflow === null ? usual : [...usual, { kind: 'agent', name: workflow }];
  },
};
