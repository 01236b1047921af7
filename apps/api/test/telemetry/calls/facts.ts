import type { Facts } from '../../../src/telemetry/reading/facts.ts';

/** Facts with the given fields; all others are empty. */
export function factsOf(facts: Partial<Facts>): Facts {
  return {
    operation: null,
    vendor: null,
    model: null,
    responseModel: null,
    agent: null,
    agentId: null,
    tool: null,
    toolServer: null,
    toolRunsAt: null,
    callId: null,
    prompt: null,
    workflow: null,
    mcpResource: null,
    mcpMethod: null,
    conversationId: null,
    inputTokens: null,
    outputTokens: null,
    cacheReadTokens: null,
    cacheWriteTokens: null,
    reasoningTokens: null,
    serverAddress: null,
    serverPort: null,
    errorType: null,
    ...facts,
  };
}
