import type { Dialect } from './dialect.ts';

/**
 * Ax (github.com/ax-llm/ax, src/ax/trace/trace.ts): OpenTelemetry GenAI of 2024 on the requests to a model, names of its own on
 * programs and tools. The application gives the tracer, so the scope says nothing. Token counts stand in an event of the span.
 */
export const ax: Dialect = {
  name: 'ax',
  signature: ['gen_ai.request.llm_is_streaming', 'response.retries', 'tool.mode', 'signature_name', 'ax.*'],
  attributes: {
    tool: ['tool.name'],
    callId: ['function.id'],
    conversationId: ['ax.session.id'],
  },
  spanNames: [{ pattern: /^Tool: (?<tool>.+)$/, operation: 'execute_tool' }],
  content: ['tool.args', 'tool.result'],
  safe: ['tool.mode', 'request.id', 'signature_name', 'provided_functions', 'ax.provider.request_id'],
  refine({ events = [] }, facts) {
    const usage = events.findLast(({ name }) => name === 'gen_ai.usage')?.attributes;
    if (usage === undefined) return;
    const [output, total] = [usage['gen_ai.usage.output_tokens'], usage['gen_ai.usage.total_tokens']];
    if (typeof output !== 'number' || typeof total !== 'number') return;
    // Its input tokens leave out those that were cached.
    facts.inputTokens = total - output;
    facts.outputTokens = output;
  },
};
