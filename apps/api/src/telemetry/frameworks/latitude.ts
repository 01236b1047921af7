import type { Dialect } from '../reading/dialect.ts';

/**
 * Latitude's tracing processor for the OpenAI Agents SDK (@latitude-data/telemetry on npm). Its models have OpenTelemetry's names,
 * its agents and tools do not.
 */
export const latitude: Dialect = {
  name: 'latitude',
  scopes: ['so.latitude.instrumentation.openai-agents'],
  attributes: {
    operation: ['gen_ai.operation.name', 'latitude.span.kind'],
    agent: ['openai.agents.name'],
    tool: ['openai.agents.function.name'],
    toolServer: ['openai.agents.function.mcp_data#server'],
  },
  operations: { 'agents.agent': 'invoke_agent', 'agents.function': 'execute_tool' },
  content: [
    'openai.agents.audio',
    'openai.agents.custom',
    'openai.agents.function.input',
    'openai.agents.function.mcp_data',
    'openai.agents.function.output',
    'openai.agents.trace_metadata',
  ],
};
