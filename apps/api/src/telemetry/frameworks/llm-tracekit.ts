import type { Dialect } from '../reading/dialect.ts';
import { isRejectedByOpenAiAgents } from '../reading/rejections.ts';

/**
 * Coralogix's instrumentation of the OpenAI Agents SDK (github.com/coralogix/llm-tracekit,
 * instrumentations/openai-agents/src/llm_tracekit/openai_agents/tracing_processor.py). Only the spans of models have names of
 * OpenTelemetry. Coralogix's other instrumentations need no dialect.
 */
export const llmTracekit: Dialect = {
  name: 'llm-tracekit',
  scopes: ['llm_tracekit.openai_agents.instrumentor'],
  spanNames: [
    { pattern: /^Tool - (?<tool>.+)$/, operation: 'execute_tool' },
    { pattern: /^Agent - (?<agent>.+)$/, operation: 'invoke_agent' },
  ],
  content: ['input', 'output'],
  safe: ['type'],
  wasRejected: isRejectedByOpenAiAgents,
};
