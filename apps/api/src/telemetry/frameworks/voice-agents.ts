import { canonicalVendor } from '@quartermaster/naming/vendors.ts';
import type { Dialect, ReadSource } from '../reading/dialect.ts';
import { asCount } from '../reading/fact-slots.ts';
import type { Facts } from '../reading/facts.ts';
import { memberOfEitherCase, parsedAttribute } from '../reading/inside.ts';
import { addUncountedReasoning } from '../reading/reasoning-tokens.ts';
import { isHost } from '../reading/server-address.ts';
import { vendorIn } from '../reading/vendors.ts';

/**
 * LiveKit Agents (github.com/livekit/agents, livekit-agents/livekit/agents/telemetry, and github.com/livekit/agents-js). The label of
 * an agent is its class. The vendor of a model is the host of its endpoint.
 */
export const livekit: Dialect = {
  name: 'livekit',
  scopes: ['livekit-agents'],
  signature: ['lk.*'],
  attributes: {
    tool: ['gen_ai.tool.name', 'lk.function_tool.name'],
    callId: ['gen_ai.tool.call.id', 'lk.function_tool.id'],
    agent: ['gen_ai.agent.name', 'lk.agent_label'],
  },
  // The workflow of every session is called agent_session.
  ignores: ['gen_ai.workflow.name'],
  spanNames: [
    { pattern: /^(?:agent_session|start_agent_activity)$/, operation: 'invoke_agent' },
    { pattern: /^function_tool$/, operation: 'execute_tool' },
  ],
  content: [
    'lk.pii',
    'lk.session_options',
    'lk.user_input',
    'lk.user_transcript',
    'lk.instructions',
    'lk.chat_ctx',
    'lk.input_text',
    'lk.response.text',
    'lk.response.function_calls',
    'lk.function_tool.arguments',
    'lk.function_tool.output',
    'gen_ai.tool.description',
  ],
  safe: ['lk.function_tools', 'lk.generation_id', 'lk.parent_generation_id', 'lk.speech_id'],
  alsoReads: ['lk.function_tool.is_error', 'lk.llm_metrics'],
  refine({ attributes }, facts) {
    if (attributes['lk.function_tool.is_error'] === true) facts.errorType ??= 'tool_error';
    // The total of a Gemini model is only in the metrics.
    const total = memberOfEitherCase(parsedAttribute(attributes['lk.llm_metrics']), 'total_tokens');
    addUncountedReasoning(facts, { reasoning: 0, total: asCount(total) ?? 0 });
    if (isUnanswered(attributes, facts)) facts.errorType ??= 'no_answer';
    if (facts.vendor !== null && canonicalVendor(facts.vendor) === null && isHost(facts.vendor)) {
      facts.serverAddress = facts.vendor;
      facts.vendor = null;
    }
  },
};

/** A failed request has no error itself: the error is on the span of each attempt, which does not name the model. */
function isUnanswered(
  attributes: ReadSource['attributes'],
  { operation, callId, inputTokens, outputTokens }: Facts,
): boolean {
  if (operation !== 'chat' || callId !== null || inputTokens !== 0 || outputTokens !== 0) return false;
  const metrics = attributes['lk.llm_metrics'];
  return typeof metrics !== 'string' || !metrics.includes('"cancelled":true');
}

/**
 * Pipecat (github.com/pipecat-ai/pipecat, src/pipecat/utils/tracing). The spans of a realtime service are named after the step:
 * only `llm_response` is a call of the model. The call of a function and its result are two spans.
 */
export const pipecat: Dialect = {
  name: 'pipecat',
  scopes: ['pipecat', 'pipecat.turn'],
  attributes: { tool: ['gen_ai.tool.name', 'tool.function_name'], callId: ['gen_ai.tool.call.id', 'tool.call_id'] },
  operations: {
    llm_response: 'chat',
    llm_setup: 'plan',
    llm_request: 'plan',
    llm_tool_call: 'execute_tool',
    llm_tool_result: 'execute_tool',
  },
  content: [
    'input',
    'output',
    'tools',
    'text',
    'text_output',
    'transcript',
    'tool.arguments',
    'tool.result',
    'settings',
    'param',
    'extra',
  ],
  safe: ['conversation.type', 'turn.type', 'service.operation', 'tool.result_status'],
  countsOf: (_span, { vendor }) => vendor,
  refine(_span, facts) {
    facts.vendor = vendorIn((facts.vendor ?? '').replace(END_OF_CLASS, '')) || null;
  },
};

/** The vendor is the name of a class in lower case: `openairesponseshttp` for `OpenAIResponsesHttpLLMService`. */
const END_OF_CLASS = /(?<=.)(?:flux|http|realtime)$/;
