import type { Dialect } from '../reading/dialect.ts';

const FROM_AGENT = 'neatlogs.agent.handoff_from';

/** These wrappers copy the usage of Anthropic's API. Its input tokens exclude cached tokens. */
const WITH_USAGE_OF_ANTHROPIC = new Set(['neatlogs.anthropic', 'neatlogs.claude_agent_sdk']);

/**
 * The wrappers and callback handlers of Neatlogs (npm: neatlogs, dist/{openai,anthropic,google-genai,langchain,openai-agents}.mjs).
 * Its spans of AI SDK 5 and 6 are the framework's own, and its manual spans have OpenInference's names.
 */
export const neatlogs: Dialect = {
  name: 'neatlogs',
  scopes: [/^neatlogs\.(?!ai-sdk$)/],
  attributes: {
    operation: ['neatlogs.span.kind'],
    vendor: ['neatlogs.llm.provider', 'neatlogs.llm.system'],
    model: ['neatlogs.llm.model_name', 'neatlogs.embedding.model_name'],
    agent: ['neatlogs.agent.name'],
    tool: ['neatlogs.tool.name', 'neatlogs.mcp.tool.name'],
    callId: ['neatlogs.tool_call.id'],
    inputTokens: ['neatlogs.llm.token_count.prompt', 'neatlogs.embedding.token_count'],
    outputTokens: ['neatlogs.llm.token_count.completion'],
  },
  operations: {
    llm: 'chat',
    embedding: 'embeddings',
    tool: 'execute_tool',
    mcp_tool: 'execute_tool',
    agent: 'invoke_agent',
    workflow: 'invoke_workflow',
    retriever: 'retrieval',
  },
  wrappers: ['chain', 'evaluator', 'guardrail', 'reranker'],
  content: [
    'neatlogs.chain.input',
    'neatlogs.chain.output',
    'neatlogs.embedding.text',
    'neatlogs.llm.input',
    'neatlogs.llm.input_messages',
    'neatlogs.llm.output',
    'neatlogs.llm.output_messages',
    'neatlogs.llm.tool_calls',
    'neatlogs.llm.tools',
    'neatlogs.mcp_tool.input',
    'neatlogs.mcp_tool.output',
    'neatlogs.tool.input',
    'neatlogs.tool.output',
    'neatlogs.workflow.input',
    'neatlogs.workflow.output',
  ],
  countsOf: ({ scope }) => (WITH_USAGE_OF_ANTHROPIC.has(scope.name) ? 'anthropic' : null),
  refine({ attributes }, facts) {
    // The agent that takes over has a span of its own.
    if (attributes[FROM_AGENT] !== undefined) facts.agent = null;
  },
  alsoReads: [FROM_AGENT],
};
