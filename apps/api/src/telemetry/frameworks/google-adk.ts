import type { AttributeValue } from '../otlp/span.ts';
import type { Dialect } from '../reading/dialect.ts';
import { asCount } from '../reading/fact-slots.ts';
import type { Facts } from '../reading/facts.ts';
import { memberOfEitherCase, parsedAttribute } from '../reading/inside.ts';
import { addUncountedReasoning } from '../reading/reasoning-tokens.ts';

const ANSWER = 'gcp.vertex.agent.llm_response';

/**
 * Google's Agent Development Kit (github.com/google/adk-js, core/src/telemetry/tracing.ts; github.com/google/adk-python,
 * src/google/adk/telemetry/tracing.py), and ADK-TS, which follows it (github.com/IQAIcom/adk-ts, telemetry.ts). Neither
 * names the vendor of the model: `gen_ai.system` is the framework.
 */
export const googleAdk: Dialect = {
  name: 'google-adk',
  scopes: ['gcp.vertex.agent', 'iqai-adk'],
  signature: ['gcp.vertex.agent.*', 'adk.*'],
  attributes: {
    workflow: ['gen_ai.workflow.name', 'adk.workflow.name'],
    conversationId: ['gcp.vertex.agent.session_id', 'adk.session_id'],
  },
  vendors: { 'gcp.vertex.agent': null, 'iqai-adk': null },
  operations: { generate: 'generate_content', execute_node: null },
  spanNames: [
    { pattern: /^invoke_agent (?<agent>.+)$/, operation: 'invoke_agent' },
    { pattern: /^agent_run \[(?<agent>.+)\]$/, operation: 'invoke_agent' },
    { pattern: /^call_llm$/, operation: 'chat' },
    // The span of a tool that failed has no attributes. If several tools ran in parallel, an additional span has all results.
    { pattern: /^execute_tool (?<tool>(?!\(merged\)).+)$/, operation: 'execute_tool' },
  ],
  content: [
    'gcp.vertex.agent.llm_request',
    ANSWER,
    'gcp.vertex.agent.tool_call_args',
    'gcp.vertex.agent.tool_response',
    'gcp.vertex.agent.data',
    'adk.llm_request',
    'adk.llm_response',
    'adk.tool_call_args',
    'adk.tool_response',
    'gen_ai.agent.description',
    'gen_ai.tool.description',
  ],
  safe: [
    'gcp.vertex.agent.invocation_id',
    'gcp.vertex.agent.session_id',
    'gcp.vertex.agent.event_id',
    'adk.system_name',
    'adk.request_model',
    'adk.invocation_id',
    'adk.session_id',
    'adk.event_id',
    'adk.node.path',
    'adk.node.run_id',
    'adk.node.status',
  ],
  answer: ANSWER,
  refine({ attributes }, facts) {
    addThoughts(attributes[ANSWER], facts);
    if (facts.callId === '<not specified>') facts.callId = null;
  },
};

/** Adds the tokens of thinking to the output. Only the answer has them. */
function addThoughts(answer: AttributeValue | undefined, facts: Facts): void {
  const usage = memberOfEitherCase(parsedAttribute(answer), 'usage_metadata');
  const countOf = (key: string) => asCount(memberOfEitherCase(usage, key)) ?? 0;
  addUncountedReasoning(facts, { reasoning: countOf('thoughts_token_count'), total: countOf('total_token_count') });
}
