import { canonicalVendor } from '@quartermaster/naming/vendors.ts';
import { asText } from '../reading/as-text.ts';
import type { Dialect } from '../reading/dialect.ts';
import { asCount } from '../reading/fact-slots.ts';
import { readInside } from '../reading/inside.ts';
import { addUncountedReasoning } from '../reading/reasoning-tokens.ts';
import { addServerTools, serverToolsIn } from '../reading/server-tools.ts';
import { subjectIn } from '../reading/span-subject.ts';

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
    // The span of a streamed answer of the AI SDK has its tokens nowhere else.
    inputTokens: ['gen_ai.usage.input_tokens', 'langsmith.usage_metadata#input_tokens'],
    outputTokens: ['gen_ai.usage.output_tokens', 'langsmith.usage_metadata#output_tokens'],
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
  alsoReads: ['langsmith.trace.name', 'langsmith.metadata.ai_sdk_method', 'gen_ai.completion'],
  refine(span, facts) {
    const name = span.attributes['langsmith.trace.name'] ?? span.name;
    // Orq.ai's handler for LangChain (@orq-ai/node 4.15, langchain/span-builder.mjs) names a tool in the name of its span only.
    if (facts.operation === 'execute_tool' && typeof name === 'string') facts.tool ??= subjectIn(name);
    if (facts.operation === null && facts.agent !== null && facts.agent === name) facts.operation = 'invoke_agent';
    const method = asText(span.attributes['langsmith.metadata.ai_sdk_method']);
    if (facts.operation === null && RUNS_OF_AI_SDK.test(method) && vendorOf(name) === null) {
      facts.agent ??= typeof name === 'string' ? subjectIn(name) : null;
      if (facts.agent !== null) facts.operation = 'invoke_agent';
    }
    // LangSmith's wrapper of Google's client copies its output tokens, which do not include the reasoning tokens.
    const usage = span.attributes['langsmith.usage_metadata'];
    const reasoning = asCount(readInside(usage, ['output_token_details', 'reasoning'])) ?? 0;
    const total = asCount(readInside(usage, ['total_tokens'])) ?? 0;
    addUncountedReasoning(facts, { reasoning, total, input: facts.inputTokens ?? 0 });
    // If a span starts and ends in different batches, its status stays `ok` in spite of an error.
    const exception = span.events?.find((event) => event.name === 'exception');
    if (exception) facts.errorType ??= asText(exception.attributes['exception.type'] ?? '_OTHER');
  },
  uses(span, facts, usual) {
    if (facts.operation !== 'chat') return usual;
    const uses = addServerTools(facts, usual, serverToolsIn(span.attributes['gen_ai.completion']));
    // The run of a streamed call inside an agent is written into the agent's span, which keeps its name.
    return facts.agent !== null && facts.agent === span.name ? [...uses, { kind: 'agent', name: facts.agent }] : uses;
  },
};

/** The AI SDK's functions that may ask the model several times. Their span has the name that the application gives. */
const RUNS_OF_AI_SDK = /^ai\.(?:generate|stream)(?:Text|Object)$/;

/** The vendor in a run's name that LangSmith has made from the model, such as `openai.responses`. */
function vendorOf(name: unknown): string | null {
  return typeof name === 'string' ? canonicalVendor(name.split('.')[0] ?? '') : null;
}
