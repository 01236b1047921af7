import type { Dialect } from '../reading/dialect.ts';
import { openaiAgents } from './openai-agents.ts';
import { openinference } from './openinference.ts';

/** Task spans of CrewAI and root spans of OpenAI Agents have the kind of an agent, and do not name one. */
const NAMED_BY_NODE = /crewai|openai[-_]agents/;

/**
 * traceAI of Future AGI (github.com/future-agi/traceAI, python/frameworks and typescript/packages): OpenInference's instrumentations
 * with OpenTelemetry's names.
 */
export const traceai: Dialect = {
  ...openinference,
  name: 'traceai',
  scopes: [/^traceai_(?!claude_agent_sdk)/, /^@traceai\//],
  signature: [],
  attributes: {
    ...openinference.attributes,
    operation: ['gen_ai.operation.name', 'gen_ai.span.kind'],
    tool: ['gen_ai.tool.name'],
    model: ['gen_ai.request.model', 'gen_ai.response.model', 'embedding.model_name', 'metadata#ls_model_name'],
  },
  content: [
    ...(openinference.content ?? []),
    'gen_ai.prompts',
    'gen_ai.prompt.template',
    'gen_ai.request.parameters',
    'gen_ai.tool.call',
    'gen_ai.tool.parameters',
    'gen_ai.voice.transcript',
  ],
  refine(span, facts) {
    openinference.refine?.(span, facts);
    openaiAgents.refine?.(span, facts);
    const { 'graph.node.name': nodeName, 'graph.node.id': nodeId } = span.attributes;
    if (NAMED_BY_NODE.test(span.scope.name) && nodeName === undefined && nodeId === undefined) facts.agent = null;
  },
};
