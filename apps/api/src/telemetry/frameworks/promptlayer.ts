import type { Dialect } from '../reading/dialect.ts';

const COMPLETIONS = 'openai_agents.generation.raw_output_json';

/**
 * PromptLayer's tracing processor for the OpenAI Agents SDK (promptlayer on npm, promptlayer/openai-agents). It sends every span
 * of the SDK, with its data as JSON texts.
 */
export const promptlayer: Dialect = {
  name: 'promptlayer',
  scopes: ['promptlayer.integrations.openai_agents'],
  attributes: {
    operation: ['openai_agents.span_type'],
    agent: ['openai_agents.agent.name'],
    tool: ['openai_agents.function.name'],
    toolServer: ['openai_agents.function.mcp_data_json#server'],
    conversationId: ['openai_agents.group_id'],
    // The span of a chat completion has its tokens only in the answer.
    inputTokens: ['gen_ai.usage.input_tokens', `${COMPLETIONS}#0.usage.prompt_tokens`],
    outputTokens: ['gen_ai.usage.output_tokens', `${COMPLETIONS}#0.usage.completion_tokens`],
  },
  operations: {
    agent: 'invoke_agent',
    function: 'execute_tool',
    generation: 'chat',
    response: 'chat',
    custom: null,
    guardrail: null,
    mcp_tools: null,
    speech: null,
    speech_group: null,
    task: null,
    transcription: null,
    turn: null,
  },
  content: [
    'function_input',
    'function_output',
    'openai_agents.agent.output_type',
    'openai_agents.custom.data_json',
    'openai_agents.error_json',
    'openai_agents.function.input',
    'openai_agents.function.output',
    'openai_agents.function.mcp_data_json',
    'openai_agents.generation',
    'openai_agents.metadata_json',
    'openai_agents.model_config_json',
    'openai_agents.raw_json',
    'openai_agents.response.raw_json',
  ],
  safe: [
    'node_type',
    'tool_name',
    'promptlayer.telemetry.source',
    'promptlayer.telemetry.source_version',
    'openai_agents.span_id_original',
    'openai_agents.parent_id_original',
    'openai_agents.trace_id_original',
    'openai_agents.workflow_name',
    'openai_agents.response.object',
    'openai_agents.handoff.from_agent',
    'openai_agents.handoff.to_agent',
    'openai_agents.guardrail.name',
  ],
  answer: 'openai_agents.response.raw_json',
};
