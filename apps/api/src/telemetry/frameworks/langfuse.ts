import type { AttributeValue } from '../otlp/span.ts';
import { asText } from '../reading/as-text.ts';
import type { Dialect } from '../reading/dialect.ts';
import { asCount } from '../reading/fact-slots.ts';
import type { Facts } from '../reading/facts.ts';
import { correctVendorOfClient, isAgentRun } from './langchain.ts';
import { addUncountedReasoning } from '../reading/reasoning-tokens.ts';
import { subjectIn, vendorInSpanName } from '../reading/span-subject.ts';

const USAGE = 'langfuse.observation.usage_details';
const OUTPUT = 'langfuse.observation.output';
const AGENT_AROUND = 'langfuse.observation.metadata.lc_agent_name';
const STATUS = 'langfuse.observation.metadata.status';
const ERROR = 'langfuse.observation.status_message';
const VERSIONS = 'langfuse.observation.metadata.versions';
const NODE = 'langfuse.observation.metadata.langgraph_node';
/** LibreChat (npm @librechat/agents) writes the name of the agent that runs. Its spans are named after classes and ids. */
const AGENTS_OF_LIBRECHAT = [
  'langfuse.observation.metadata.activeAgentName',
  'langfuse.trace.metadata.activeAgentName',
] as const;

/**
 * Langfuse's SDKs and callback handlers (github.com/langfuse/langfuse-js, packages/core/src/constants.ts and
 * packages/langchain; github.com/langfuse/langfuse-python, langfuse/_client/attributes.py). The name of an observation is the
 * name of its span. LangChain's metadata has one attribute for each key.
 */
export const langfuse: Dialect = {
  name: 'langfuse',
  scopes: ['langfuse-sdk'],
  signature: ['langfuse.observation.type'],
  attributes: {
    operation: ['langfuse.observation.type'],
    vendor: ['langfuse.observation.metadata.ls_provider'],
    // At the start this is the requested model, at the end the model that answered.
    model: ['langfuse.observation.metadata.ls_model_name', 'langfuse.observation.model.name'],
    responseModel: ['langfuse.observation.model.name'],
    agent: [AGENT_AROUND, ...AGENTS_OF_LIBRECHAT],
    prompt: ['langfuse.observation.prompt.name'],
    conversationId: ['session.id', 'langfuse.session.id', 'langfuse.observation.metadata.thread_id'],
    // Programs may hand over OpenAI's or Anthropic's usage as it is.
    inputTokens: [`${USAGE}#input`, `${USAGE}#prompt_tokens`, `${USAGE}#input_tokens`],
    outputTokens: [`${USAGE}#output`, `${USAGE}#completion_tokens`, `${USAGE}#output_tokens`],
  },
  operations: {
    generation: 'chat',
    embedding: 'embeddings',
    tool: 'execute_tool',
    agent: 'invoke_agent',
    retriever: 'retrieval',
    span: null,
    event: null,
    chain: null,
    evaluator: null,
    guardrail: null,
  },
  wrappers: ['span', 'chain', 'agent', 'evaluator', 'guardrail'],
  content: [
    'langfuse.observation.input',
    OUTPUT,
    'langfuse.observation.metadata',
    'langfuse.observation.model.parameters',
    'langfuse.observation.status_message',
    'langfuse.trace.input',
    'langfuse.trace.output',
    'langfuse.trace.metadata',
    'langfuse.trace.tags',
    'langfuse.experiment',
  ],
  safe: [
    'langfuse.observation.type',
    'langfuse.observation.level',
    'langfuse.observation.completion_start_time',
    'langfuse.observation.cost_details',
    USAGE,
    'langfuse.environment',
    'langfuse.release',
    'langfuse.version',
  ],
  alsoReads: ['langfuse.observation.level', ERROR, NODE, STATUS, VERSIONS],
  refine(span, facts) {
    const { attributes } = span;
    if (facts.operation === 'execute_tool') facts.tool ??= subjectIn(span.name);
    if (AGENTS_OF_LIBRECHAT.some((name) => attributes[name] !== undefined)) splitServerOfLibreChat(facts);
    const agentAround = attributes[AGENT_AROUND] ?? null;
    const isInGraph = agentAround !== null || attributes[NODE] !== undefined;
    if (facts.operation === 'invoke_agent' && isInGraph && !isAgentRun(span.name, agentAround)) facts.operation = null;
    if (facts.operation === 'invoke_agent') facts.agent ??= subjectIn(span.name);
    // LangChain writes the agent's name on every span inside it, and uses it as the name of the agent's own span.
    if (facts.operation === null && facts.agent === span.name) facts.operation = 'invoke_agent';
    // The wrapper of OpenAI's client names a span after the client and its method: `OpenAI.chat`, `AzureOpenAI.embeddings`.
    if (facts.operation === 'chat') {
      facts.vendor ??= vendorInSpanName(span.name);
      if (span.name.endsWith('.embeddings')) facts.operation = 'embeddings';
    }
    correctVendorOfClient(facts, attributes[VERSIONS]);
    if (attributes['langfuse.observation.level'] === 'ERROR') facts.errorType ??= '_OTHER';
    // Cached tokens and reasoning tokens are counted separately.
    const usage = parse(attributes[USAGE]);
    facts.cacheReadTokens ??= sumOf(usage, READ_FROM_CACHE);
    facts.cacheWriteTokens ??= sumOf(usage, WRITTEN_TO_CACHE);
    facts.reasoningTokens ??= sumOf(usage, REASONING);
    if (facts.inputTokens !== null) facts.inputTokens += sumOf(usage, FURTHER_INPUT);
    if (facts.outputTokens !== null) facts.outputTokens += sumOf(usage, FURTHER_OUTPUT);
    addUncountedReasoning(facts, { reasoning: 0, total: asCount(usage['total']) ?? 0 });
  },
  // LangGraph interrupts a tool that asks a person. Its handler for Python does not write the class of an error.
  wasRejected({ attributes, resource }) {
    const isOfNode = resource['telemetry.sdk.language'] === 'nodejs' && attributes[NODE] !== undefined;
    return isOfNode && asText(attributes[ERROR]).startsWith('GraphInterrupt: [\n');
  },
  answer: OUTPUT,
  uses({ attributes, name }, _facts, usual) {
    // A background response is requested and then fetched until it is complete. Each of these has a span.
    return name.endsWith('.responses') && UNFINISHED.has(attributes[STATUS]) ? [] : usual;
  },
};

/** Splits `echo_mcp_everything`, the tool echo of the MCP server everything. */
function splitServerOfLibreChat(facts: Facts): void {
  const [, tool, toolServer] = /^(.+)_mcp_(.+)$/.exec(facts.tool ?? '') ?? [];
  if (tool !== undefined) Object.assign(facts, { tool, toolServer });
}

/** The status of an answer of OpenAI's Responses API that the model has not finished. */
const UNFINISHED: ReadonlySet<unknown> = new Set(['queued', 'in_progress']);

/** Langfuse's own names (`input_cache_read`), and Anthropic's (`cache_read_input_tokens`). */
const FURTHER_INPUT = /^input_(?!tokens$)|._input_tokens$/;
const FURTHER_OUTPUT = /^output_(?!tokens$)|._output_tokens$/;

const READ_FROM_CACHE = /^(?:input_cached?_(?:read|tokens)|cache_read_input_tokens)$/;
const WRITTEN_TO_CACHE = /^(?:input_cache_(?:creation|write)|cache_creation_input_tokens)$/;
const REASONING = /^output_reasoning(?:_tokens)?$/;

function sumOf(usage: Record<string, unknown>, names: RegExp): number {
  const counts = Object.keys(usage).filter((key) => names.test(key));
  return counts.reduce((sum, key) => sum + (asCount(usage[key]) ?? 0), 0);
}

function parse(text: AttributeValue | undefined): Record<string, unknown> {
  try {
    const value: unknown = typeof text === 'string' && text.length < 4096 ? JSON.parse(text) : null;
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
