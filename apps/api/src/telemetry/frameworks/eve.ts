import type { Dialect } from '../reading/dialect.ts';

/** Vercel's eve (eve.dev/docs, guides/instrumentation). It writes OpenTelemetry GenAI and MCP. An MCP server is a connection. */
export const eve: Dialect = {
  name: 'eve',
  scopes: ['eve.agent', 'eve.mcp'],
  attributes: { toolServer: ['eve.connection.name', 'agent.connection.name', 'mcp.server.name'] },
  content: ['ai.response.tool_calls', 'agent.session.title', 'agent.trace.content', 'agent.channel.delivery.input'],
  safe: [
    'agent.action.kind',
    'agent.action.name',
    'agent.action.outcome',
    'agent.channel.kind',
    'agent.framework.name',
    'agent.framework.version',
    'agent.model.id',
    'agent.name',
    'agent.run.id',
    'agent.session.origin',
    'agent.turn.id',
  ],
  alsoReads: ['agent.tool.is_framework'],
  refine({ attributes }, facts) {
    if (facts.tool !== null && attributes['agent.tool.is_framework'] === true) facts.toolRunsAt = 'agent';
  },
};
