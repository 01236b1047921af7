import type { Attributes, AttributeValue } from '../otlp/span.ts';
import { asText } from '../reading/as-text.ts';
import type { Dialect } from '../reading/dialect.ts';
import type { Facts, Use } from '../reading/facts.ts';
import { readInside } from '../reading/inside.ts';
import { DELEGATE } from '../reading/operations.ts';
import { addServerTools, serverToolsIn } from '../reading/server-tools.ts';
import { vendorIn } from '../reading/vendors.ts';
import { openinference } from './openinference.ts';

/** Steps of the framework itself. Mastra writes their span types as operations, because the conventions have none for them. */
const OWN_STEPS = [
  'model_generation',
  'agent_step',
  'model_step',
  'model_inference',
  'model_chunk',
  'generic',
  'mapping',
  'processor_run',
  'memory_operation',
  'workspace_action',
  'agent_signal',
  'scorer_run',
  'scorer_step',
  'classifier_evaluation',
  'skill_resolution',
  'skill_action',
  'graph_action',
  'rag_ingestion',
  'rag_vector_operation',
  'rag_action',
  'workflow_step',
  'workflow_conditional',
  'workflow_conditional_eval',
  'workflow_parallel',
  'workflow_loop',
  'workflow_sleep',
  'workflow_wait_event',
];

/** The span that a run continues, after a person has answered. */
const RESUMED_FROM = 'mastra.metadata.resumedFromSpanId';

/** The operations of span types. Spans in the names of OpenInference have no others. */
const OPERATIONS_OF_TYPES: ReadonlyMap<string, string> = new Map([
  ['agent_run', 'invoke_agent'],
  ['workflow_run', 'invoke_workflow'],
  ['model_generation', 'chat'],
  ['rag_embedding', 'embeddings'],
  ['tool_call', 'execute_tool'],
  ['mcp_tool_call', 'execute_tool'],
  ['client_tool_call', 'execute_tool'],
  ['provider_tool_call', 'execute_tool'],
]);

/**
 * Mastra with `@mastra/otel-exporter` or `@mastra/otel-bridge` (github.com/mastra-ai/mastra,
 * observability/otel-exporter/src/gen-ai-semantics.ts): the OpenTelemetry GenAI conventions, plus the type, input, output and
 * metadata of each span. `@mastra/arize` replaces the names of GenAI with those of OpenInference, and leaves the span types.
 */
export const mastra: Dialect = {
  name: 'mastra',
  scopes: [/^@mastra\//],
  signature: ['mastra.*'],
  attributes: {
    toolServer: ['mastra.mcp_tool_call.server_name'],
    vendor: ['gen_ai.provider.name', 'llm.provider'],
    model: ['gen_ai.request.model', 'llm.invocation_parameters#model', 'llm.model_name'],
    responseModel: ['gen_ai.response.model', 'llm.model_name'],
    agent: ['gen_ai.agent.name', 'agent.name'],
    tool: ['gen_ai.tool.name', 'tool.name'],
    callId: ['gen_ai.tool.call.id', 'gen_ai.response.id', 'tool_call.id'],
    inputTokens: ['gen_ai.usage.input_tokens', 'llm.token_count.prompt'],
    outputTokens: ['gen_ai.usage.output_tokens', 'llm.token_count.completion'],
  },
  operations: {
    ...Object.fromEntries(OWN_STEPS.map((type) => [type, null])),
    // Tools that run in the user's browser.
    client_tool_call: 'execute_tool',
  },
  spanNames: [{ pattern: /^client_tool_call (?<tool>.+)$/ }],
  content: [
    'mastra.*.input',
    'mastra.*.output',
    'mastra.*.entry_description',
    'mastra.*.entry_metadata',
    'mastra.*.entry_id',
    'mastra.metadata',
    'mastra.tags',
    'mastra.log',
    'gen_ai.tool.description',
    'error.message',
    ...(openinference.content ?? []),
    'tool.description',
    'tag.tags',
  ],
  safe: [
    'mastra.span.type',
    'mastra.completion_start_time',
    'mastra.mcp_tool_call.server_version',
    'mastra.workflow_run.status',
    'mastra.workflow_step.status',
    'error.domain',
    'error.category',
  ],
  alsoReads: [
    'mastra.span.type',
    'mastra.metadata.modelMetadata',
    'mastra.metadata.body',
    'metadata',
    'openinference.span.kind',
    'gen_ai.response.finish_reasons',
    'mastra.completion_start_time',
    RESUMED_FROM,
    'mastra.model_step.input',
    'mastra.model_step.output',
  ],
  refine({ name, attributes }, facts) {
    const type = attributes['mastra.span.type'];
    if (attributes['openinference.span.kind'] !== undefined) {
      facts.operation = OPERATIONS_OF_TYPES.get(asText(type)) ?? null;
      if (type === 'model_step') readModelStep(readInside(attributes['metadata'], ['modelMetadata']), facts);
    } else if (attributes['gen_ai.operation.name'] === 'model_step') {
      readModelStep(attributes['mastra.metadata.modelMetadata'], facts);
    } else if (type === 'model_step') {
      // The request to the model has a span inside this step. The answer is here.
      facts.vendor = vendorOfStep(attributes['mastra.metadata.modelMetadata']);
    }
    if (type === 'provider_tool_call' && facts.tool !== null) facts.toolRunsAt = 'vendor';
    // Mastra offers sub-agents and workflows to the model as tools with these names. Each usually has its own span.
    if (facts.toolServer === null && /^(?:agent|workflow)-/.test(facts.tool ?? '')) facts.operation = DELEGATE;
    // The name of a workflow is only in the span's name.
    if (facts.operation === 'invoke_workflow') facts.workflow ??= name.replace(/^invoke_workflow /, '');
    // The span of a failed model request has the status `ok`.
    if (asText(attributes['gen_ai.response.finish_reasons']).includes('"error"')) facts.errorType ??= 'error';
  },
  uses({ attributes }, facts, usual) {
    if (repeatsAnswer(attributes)) return usual.map((use) => (use.kind === 'model' ? { ...use, times: 0 } : use));
    if (attributes['mastra.span.type'] !== 'model_step') return usual;
    const body = attributes['mastra.metadata.body'] ?? readInside(attributes['metadata'], ['body']);
    return withGoogleTools(facts, usual, body);
  },
};

/**
 * Whether a span only repeats the answer that asked for a tool, after a person has approved the tool: it has the tokens of the
 * call, and the call itself has a span without tokens. The model is not called again, so no part of an answer arrives, and a step
 * has an output without an input.
 */
function repeatsAnswer(attributes: Attributes): boolean {
  if ((attributes[RESUMED_FROM] ?? readInside(attributes['metadata'], ['resumedFromSpanId'])) === null) return false;
  if (attributes['mastra.span.type'] === 'model_step')
    return attributes['mastra.model_step.output'] !== undefined && attributes['mastra.model_step.input'] === undefined;
  const isAnswer = asText(attributes['gen_ai.response.finish_reasons']).includes('tool-calls');
  return isAnswer && attributes['mastra.completion_start_time'] === undefined;
}

/**
 * Adds the tools that Google ran during a step, by the body of its answer, which only answers without a stream have. The AI SDK
 * reports other tools of vendors as calls, which have spans.
 */
function withGoogleTools(facts: Facts, uses: Use[], body: unknown): Use[] {
  const tools = facts.vendor === null ? [] : serverToolsIn(body).filter((tool) => TOOLS_WITHOUT_SPANS.has(tool));
  return addServerTools(facts, uses, tools);
}

const TOOLS_WITHOUT_SPANS = new Set(['google_search', 'url_context']);

/**
 * Up to version 1.3 of the exporter, and with the bridge, one span covers all model requests of a run. Each request is a step
 * inside it, whose metadata names the model.
 */
function readModelStep(metadata: AttributeValue | undefined, facts: Facts): void {
  const model = readInside(metadata, ['modelId']);
  if (typeof model !== 'string') return;
  facts.operation = 'chat';
  facts.model = model;
  facts.vendor = vendorOfStep(metadata);
}

function vendorOfStep(metadata: AttributeValue | undefined): string | null {
  const provider = readInside(metadata, ['modelProvider']);
  return typeof provider === 'string' ? vendorIn(provider) : null;
}

/** The metadata of a step that names its model. */
const MODEL_OF_STEP = 'lmnr.association.properties.metadata.modelMetadata';

/** The body of the vendor's answer. */
const BODY_OF_STEP = 'lmnr.association.properties.metadata.body';

/**
 * Mastra with `@mastra/laminar` (github.com/mastra-ai/mastra, observability/laminar/src/tracing.ts). Agents and tools are named by
 * the names of their spans only. A model's span has the tokens and covers all requests of a run. Each request is a step inside it.
 */
export const mastraLaminar: Dialect = {
  name: 'mastra-laminar',
  scopes: ['@mastra/laminar'],
  spanNames: [
    { pattern: /^agent run: '(?<agent>[^']+)'$/, operation: 'invoke_agent' },
    { pattern: /^workflow run: '(?<workflow>[^']+)'$/, operation: 'invoke_workflow' },
    { pattern: /^mcp_tool: '(?<tool>[^']+)' on '(?<toolServer>[^']+)'$/, operation: 'execute_tool' },
    { pattern: /^(?:client_tool|provider_tool|tool): '(?<tool>[^']+)'$/, operation: 'execute_tool' },
    { pattern: /^llm: /, operation: 'chat' },
  ],
  content: [
    'lmnr.span.input',
    'lmnr.span.output',
    'lmnr.span.path',
    'lmnr.association.properties.metadata',
    'lmnr.association.properties.tags',
  ],
  safe: ['lmnr.span.type', 'lmnr.span.instrumentation_source', 'lmnr.span.sdk_version', 'lmnr.span.language_version'],
  alsoReads: [MODEL_OF_STEP, BODY_OF_STEP],
  refine({ name, attributes }, facts) {
    if (name.startsWith('step: ')) readModelStep(attributes[MODEL_OF_STEP], facts);
    if (name.startsWith('provider_tool: ')) facts.toolRunsAt = 'vendor';
    if (facts.toolServer === null && /^(?:agent|workflow)-/.test(facts.tool ?? '')) facts.operation = DELEGATE;
  },
  uses: ({ attributes }, facts, usual) => withGoogleTools(facts, usual, attributes[BODY_OF_STEP]),
};
