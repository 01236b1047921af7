import type { Dialect } from './dialect.ts';

/**
 * Mastra with `@mastra/otel-exporter` or `@mastra/otel-bridge` (github.com/mastra-ai/mastra,
 * observability/otel-exporter/src/gen-ai-semantics.ts): the OpenTelemetry GenAI conventions, with the type of each span and its
 * input, output and metadata beside them.
 */
export const mastra: Dialect = {
  name: 'mastra',
  scopes: [/^@mastra\//],
  signature: ['mastra.*'],
  attributes: {
    toolServer: ['mastra.mcp_tool_call.server_name'],
  },
  operations: {
    // The loop around the requests to the model, one turn of it, and pieces of an answer.
    model_generation: null,
    agent_step: null,
    model_chunk: null,
    // The memory's, the processors' and the workflows' own steps.
    generic: null,
    processor_run: null,
    memory_operation: null,
    workflow_step: null,
    workflow_conditional: null,
    workflow_conditional_eval: null,
    workflow_parallel: null,
    workflow_loop: null,
    workflow_sleep: null,
    workflow_wait_event: null,
  },
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
  alsoReads: ['mastra.span.type', 'gen_ai.response.finish_reasons'],
  refine({ name, attributes }, facts) {
    if (attributes['mastra.span.type'] === 'provider_tool_call' && facts.tool !== null) facts.toolRunsAt = 'vendor';
    // A workflow is named by the span's name alone.
    if (facts.operation === 'invoke_workflow') facts.workflow ??= name.replace(/^invoke_workflow /, '');
    // The span of a failed request to the model ends as `ok`.
    if (String(attributes['gen_ai.response.finish_reasons']).includes('"error"')) facts.errorType ??= 'error';
  },
};
