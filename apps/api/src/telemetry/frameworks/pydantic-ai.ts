import type { Dialect } from '../reading/dialect.ts';

const OUTPUT_FUNCTION = /^running output function/;

/**
 * Pydantic AI (github.com/pydantic/pydantic-ai, pydantic_ai_slim/pydantic_ai/capabilities/instrumentation.py). Up to version 2 of its
 * instrumentation, the spans of agents and tools are recognised only by their names.
 */
export const pydanticAi: Dialect = {
  name: 'pydantic-ai',
  scopes: ['pydantic-ai'],
  signature: ['pydantic_ai.*', 'model_request_parameters', 'gen_ai.agent.call.id'],
  attributes: { agent: ['gen_ai.agent.name', 'agent_name'] },
  spanNames: [
    { pattern: /^agent run$/, operation: 'invoke_agent' },
    { pattern: /^running tool$/, operation: 'execute_tool' },
  ],
  content: [
    'pydantic_ai.all_messages',
    'all_messages_events',
    'events',
    'final_result',
    'model_request_parameters',
    'tool_arguments',
    'tool_response',
    'gen_ai.agent.description',
    'gen_ai.tool.description',
    'logfire.msg',
  ],
  safe: ['agent_name', 'model_name', 'gen_ai.agent.call.id', 'logfire.span_type'],
  ignored: {
    // An output function only converts the answer into the result. It is not a tool, although the model calls it like one.
    name: OUTPUT_FUNCTION,
    attributes: {
      'logfire.msg': OUTPUT_FUNCTION,
      // The tool did not run: its arguments were invalid, or the call waits for an approval.
      'pydantic_ai.tool.failure_stage': /^validation$/,
      'pydantic_ai.tool.deferral.name': /^ApprovalRequired$/,
    },
  },
};
