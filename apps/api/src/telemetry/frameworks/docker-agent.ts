import type { Dialect } from '../reading/dialect.ts';

const TOOL_THAT_RAN = /^runtime\.tool\.handler$/;

/**
 * Docker Agent, formerly cagent (github.com/docker/docker-agent, pkg/runtime and pkg/telemetry). A tool call has a span, and another
 * one inside it if the tool ran: neither the user nor a hook rejected the call. The tools of the runtime itself hand over to agents.
 */
export const dockerAgent: Dialect = {
  name: 'docker-agent',
  scopes: ['cagent'],
  signature: ['cagent.*'],
  attributes: {
    agent: ['cagent.agent.name', 'agent'],
    tool: ['gen_ai.tool.name', 'tool.name'],
    callId: ['gen_ai.tool.call.id', 'tool.call_id'],
  },
  spanNames: [
    { pattern: /^runtime\.session$/, operation: 'invoke_agent' },
    { pattern: TOOL_THAT_RAN, operation: 'execute_tool' },
  ],
  refine({ name }, facts) {
    if (!TOOL_THAT_RAN.test(name)) facts.tool = null;
  },
};
