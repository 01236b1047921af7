import type { Dialect, ReadSource } from './dialect.ts';
import type { Facts } from './facts.ts';
import { readInside } from './inside.ts';
import { DELEGATE } from './operations.ts';
import { vendorIn } from './vendors.ts';

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

/**
 * Mastra with `@mastra/otel-exporter` or `@mastra/otel-bridge` (github.com/mastra-ai/mastra,
 * observability/otel-exporter/src/gen-ai-semantics.ts): the OpenTelemetry GenAI conventions, plus the type, input, output and
 * metadata of each span.
 */
export const mastra: Dialect = {
  name: 'mastra',
  scopes: [/^@mastra\//],
  signature: ['mastra.*'],
  attributes: {
    toolServer: ['mastra.mcp_tool_call.server_name'],
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
  alsoReads: ['mastra.span.type', 'mastra.metadata.modelMetadata', 'gen_ai.response.finish_reasons'],
  refine({ name, attributes }, facts) {
    if (attributes['gen_ai.operation.name'] === 'model_step') readModelStep(attributes, facts);
    if (attributes['mastra.span.type'] === 'provider_tool_call' && facts.tool !== null) facts.toolRunsAt = 'vendor';
    // Mastra offers sub-agents and workflows to the model as tools with these names. Each usually has its own span.
    if (facts.toolServer === null && /^(?:agent|workflow)-/.test(facts.tool ?? '')) facts.operation = DELEGATE;
    // The name of a workflow is only in the span's name.
    if (facts.operation === 'invoke_workflow') facts.workflow ??= name.replace(/^invoke_workflow /, '');
    // The span of a failed model request has the status `ok`.
    if (String(attributes['gen_ai.response.finish_reasons']).includes('"error"')) facts.errorType ??= 'error';
  },
};

/**
 * Up to version 1.3 of the exporter, and with the bridge, one span covers all model requests of a run. Each request is a step
 * inside it, whose metadata names the model.
 */
function readModelStep(attributes: ReadSource['attributes'], facts: Facts): void {
  const metadata = attributes['mastra.metadata.modelMetadata'];
  const model = readInside(metadata, ['modelId']);
  const provider = readInside(metadata, ['modelProvider']);
  if (typeof model !== 'string') return;
  facts.operation = 'chat';
  facts.model = model;
  facts.vendor = typeof provider === 'string' ? vendorIn(provider) : null;
}
