import type { Dialect } from './dialect.ts';

/**
 * The OpenTelemetry GenAI and MCP conventions (github.com/open-telemetry/semantic-conventions-genai) with their older names
 * (semantic-conventions 1.27 to 1.36). Every dialect reads these names, after its own. `other-frameworks.ts` is the dialect of
 * spans that no other one knows.
 */
export const genai = {
  name: 'genai',
  signature: ['gen_ai.*'],
  attributes: {
    operation: ['gen_ai.operation.name'],
    vendor: ['gen_ai.provider.name', 'gen_ai.system', 'llm.provider', 'llm.system'],
    model: ['gen_ai.request.model'],
    responseModel: ['gen_ai.response.model'],
    agent: ['gen_ai.agent.name'],
    agentId: ['gen_ai.agent.id'],
    tool: ['gen_ai.tool.name', 'mcp.tool.name'],
    toolServer: ['mcp.server.name'],
    callId: ['gen_ai.tool.call.id', 'gen_ai.response.id'],
    prompt: ['gen_ai.prompt.name', 'mcp.prompt.name'],
    workflow: ['gen_ai.workflow.name'],
    mcpMethod: ['mcp.method.name'],
    mcpResource: ['mcp.resource.uri'],
    conversationId: ['gen_ai.conversation.id'],
    inputTokens: ['gen_ai.usage.input_tokens', 'gen_ai.usage.prompt_tokens'],
    outputTokens: ['gen_ai.usage.output_tokens', 'gen_ai.usage.completion_tokens'],
    // With the names of OpenInference, of the AI SDK, of traceAI and of Neatlogs, which other dialects write, too.
    cacheReadTokens: [
      'gen_ai.usage.cache_read.input_tokens',
      'gen_ai.usage.cache_read_input_tokens',
      'llm.token_count.prompt_details.cache_read',
      'ai.usage.cachedInputTokens',
      'gen_ai.usage.input_tokens.cache_read',
      'gen_ai.usage.cache_read_tokens',
      'neatlogs.llm.token_count.cache_read',
    ],
    cacheWriteTokens: [
      'gen_ai.usage.cache_creation.input_tokens',
      'gen_ai.usage.cache_creation_input_tokens',
      'gen_ai.usage.cache_write.input_tokens',
      'gen_ai.usage.cache_write_input_tokens',
      'llm.token_count.prompt_details.cache_write',
      'gen_ai.usage.input_tokens.cache_write',
      'gen_ai.usage.cache_write_tokens',
      'neatlogs.llm.token_count.cache_write',
    ],
    reasoningTokens: [
      'gen_ai.usage.reasoning.output_tokens',
      'gen_ai.usage.reasoning_tokens',
      'ai.usage.reasoningTokens',
      'llm.token_count.completion_details.reasoning',
      'neatlogs.llm.token_count.reasoning',
    ],
    serverAddress: ['server.address'],
    serverPort: ['server.port'],
    errorType: ['error.type'],
  },
  content: [
    'gen_ai.input.messages',
    'gen_ai.output.messages',
    'gen_ai.system_instructions',
    'gen_ai.tool.definitions',
    'gen_ai.tool.call.arguments',
    'gen_ai.tool.call.result',
    'gen_ai.retrieval',
    'gen_ai.memory.query.text',
    'gen_ai.memory.records',
    'gen_ai.evaluation.explanation',
    // Flattened messages of 2023 and 2024, and the events' attributes of semantic-conventions 1.27
    'gen_ai.prompt',
    'gen_ai.completion',
    'gen_ai.event.content',
  ],
} satisfies Dialect;
