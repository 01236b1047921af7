import type { Dialect } from './dialect.ts';
import { serverToolsIn } from './server-tools.ts';

/**
 * LangSmith's OpenTelemetry mode (github.com/langchain-ai/langsmith-sdk, js/src/experimental/otel/translator.ts and
 * python/langsmith/_internal/otel). It guesses `gen_ai.system` from the model's name, and writes `langchain` if it cannot.
 */
export const langsmith: Dialect = {
  name: 'langsmith',
  scopes: ['langsmith'],
  signature: ['langsmith.span.kind', 'langsmith.traceable'],
  attributes: {
    operation: ['langsmith.span.kind'],
    vendor: ['langsmith.metadata.ls_provider', 'gen_ai.provider.name', 'gen_ai.system'],
    agent: ['langsmith.metadata.lc_agent_name'],
    conversationId: [
      'langsmith.metadata.thread_id',
      'langsmith.metadata.session_id',
      'langsmith.metadata.conversation_id',
    ],
  },
  // Ignored because it is `embeddings` for a retriever, `chat` for a prompt, and a name of LangSmith's for other spans.
  ignores: ['gen_ai.operation.name'],
  operations: {
    llm: 'chat',
    tool: 'execute_tool',
    embedding: 'embeddings',
    retriever: 'retrieval',
    chain: null,
    prompt: null,
    parser: null,
  },
  wrappers: ['chain', 'prompt', 'parser', 'retriever'],
  vendors: { langchain: null },
  content: [
    'gen_ai.request.extra_query',
    'gen_ai.request.extra_body',
    'gen_ai.serialized',
    'langsmith.request.headers',
    'langsmith.metadata',
    'langsmith.span.tags',
  ],
  safe: [
    'langsmith.trace.name',
    'langsmith.trace.id',
    'langsmith.trace.session_id',
    'langsmith.trace.session_name',
    'langsmith.span.kind',
    'langsmith.span.id',
    'langsmith.span.parent_id',
    'langsmith.span.dotted_order',
    'langsmith.traceable',
    'langsmith.traceable_parent_otel_span_id',
    'langsmith.reference_example_id',
    'langsmith.usage_metadata',
    'gen_ai.usage.input_token_details',
    'gen_ai.usage.output_token_details',
    'gen_ai.response.service_tier',
    'gen_ai.response.system_fingerprint',
  ],
  alsoReads: ['langsmith.trace.name', 'gen_ai.completion'],
  refine(span, facts) {
    const name = span.attributes['langsmith.trace.name'] ?? span.name;
    if (facts.operation === null && facts.agent !== null && facts.agent === name) facts.operation = 'invoke_agent';
    // If a span starts and ends in different batches, its status stays `ok` in spite of an error.
    const exception = span.events?.find((event) => event.name === 'exception');
    if (exception) facts.errorType ??= String(exception.attributes['exception.type'] ?? '_OTHER');
  },
  uses(span, facts, usual) {
    const tools = facts.operation === 'chat' ? serverToolsIn(span.attributes['gen_ai.completion']) : [];
    if (tools.length === 0) return usual;
    facts.toolRunsAt = 'vendor';
    return [...usual, ...tools.map((name) => ({ kind: 'tool' as const, name }))];
  },
};
