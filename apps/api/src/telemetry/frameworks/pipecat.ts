import type { Dialect } from '../reading/dialect.ts';
import { vendorIn } from '../reading/vendors.ts';

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
