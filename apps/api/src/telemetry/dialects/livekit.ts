import type { Dialect } from './dialect.ts';

/** LiveKit Agents (github.com/livekit/agents, livekit-agents/livekit/agents/telemetry). The label of an agent is its class. */
export const livekit: Dialect = {
  name: 'livekit',
  scopes: ['livekit-agents'],
  signature: ['lk.*'],
  attributes: {
    tool: ['gen_ai.tool.name', 'lk.function_tool.name'],
    callId: ['gen_ai.tool.call.id', 'lk.function_tool.id'],
    agent: ['gen_ai.agent.name', 'lk.agent_label'],
  },
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
  alsoReads: ['lk.function_tool.is_error'],
  refine({ attributes }, facts) {
    if (attributes['lk.function_tool.is_error'] === true) facts.errorType ??= 'tool_error';
  },
};
