import { canonicalVendor } from '@quartermaster/naming/vendors.ts';
import { ownMember } from '../../platform/own-member.ts';
import type { AttributeValue } from '../otlp/span.ts';
import { asText } from '../reading/as-text.ts';
import type { Dialect } from '../reading/dialect.ts';
import { asCount } from '../reading/fact-slots.ts';
import type { Facts } from '../reading/facts.ts';
import { parsedAttribute, readInside } from '../reading/inside.ts';
import { addUncountedReasoning } from '../reading/reasoning-tokens.ts';
import { addServerTools, serverToolsIn } from '../reading/server-tools.ts';
import { subjectIn } from '../reading/span-subject.ts';

/**
 * Some callback handlers for LangChain's runs call every run an agent that has "agent" in its name. The metadata of a run names the
 * agent around it, if the agent was made by `create_agent`.
 *
 * @returns whether the run is that of an agent
 */
export function isAgentRun(name: string, agentAround: unknown): boolean {
  // The first node of a graph that `create_react_agent` makes is called `agent`.
  return agentAround === null ? name !== 'agent' : name === agentAround;
}

/**
 * Whether the last message in the output of a graph has the name of the graph. Agents of LangGraph write their own name into
 * their messages. For `createReactAgent`, and for an agent that another agent calls as a tool, nothing else shows the agent.
 */
export function isNamedInOutput(name: string, output: AttributeValue | undefined): boolean {
  // A shortcut: few outputs contain the name, so most need not be parsed.
  if (typeof output !== 'string' || !output.includes(JSON.stringify(name))) return false;
  const messages = ownMember(parsedAttribute(output), 'messages');
  const last: unknown = Array.isArray(messages) ? messages.at(-1) : undefined;
  const message = ownMember(last, 'kwargs') ?? last;
  return ownMember(message, 'name') === name && ownMember(message, 'tool_call_id') === undefined;
}

/**
 * Corrects the vendor of a client that extends OpenAI's: DeepSeek's keeps OpenAI as the vendor.
 *
 * @param versions the client's packages with their versions, as an object or as JSON
 */
export function correctVendorOfClient(facts: Facts, versions: unknown): void {
  if (facts.vendor !== 'openai' || facts.model === null) return;
  const packages = Object.keys(Object(typeof versions === 'string' ? parsedAttribute(versions) : versions));
  const vendors = packages.flatMap((name) => canonicalVendor(name.replace(/^@langchain\//, '')) ?? []);
  facts.vendor = vendors.find((vendor) => vendor !== 'openai') ?? 'openai';
}

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
    cacheReadTokens: [
      'gen_ai.usage.input_token_details#cache_read',
      'langsmith.usage_metadata#input_token_details.cache_read',
    ],
    cacheWriteTokens: [
      'gen_ai.usage.input_token_details#cache_creation',
      'langsmith.usage_metadata#input_token_details.cache_creation',
    ],
    reasoningTokens: [
      'gen_ai.usage.output_token_details#reasoning',
      'langsmith.usage_metadata#output_token_details.reasoning',
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

/**
 * Whether an error's text, as LangChain for JavaScript writes it, is that of LangGraph's `interrupt()`
 * (github.com/langchain-ai/langgraphjs, libs/langgraph-core/src/errors.ts): the interrupts as JSON, and the stack, which repeats
 * them behind the error's class. If another error contained this text, its stack would repeat it, and the class would occur twice.
 */
export function isInterruptOfLangGraph(text: unknown): boolean {
  const [interrupts = '', stack = '', ...others] = typeof text === 'string' ? text.split('\n\nGraphInterrupt: ') : [];
  return interrupts.startsWith('[\n  {\n') && stack.startsWith(`${interrupts}\n    at `) && others.length === 0;
}
