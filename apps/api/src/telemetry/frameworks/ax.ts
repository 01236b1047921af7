import type { Dialect } from '../reading/dialect.ts';
import { asCount } from '../reading/fact-slots.ts';

/**
 * Ax (github.com/ax-llm/ax, src/ax/trace/trace.ts): OpenTelemetry GenAI of 2024 on requests to a model, and its own names on
 * programs and tools. The application provides the tracer, so the scope does not identify Ax. Token counts are in an event. A
 * program's signature contains its instructions.
 */
export const ax: Dialect = {
  name: 'ax',
  signature: ['gen_ai.request.llm_is_streaming', 'tool.mode', 'signature_name', 'request.startTime', 'ax.*'],
  attributes: {
    tool: ['tool.name'],
    callId: ['function.id'],
    conversationId: ['ax.session.id'],
  },
  spanNames: [{ pattern: /^Tool: (?<tool>.+)$/, operation: 'execute_tool' }],
  content: ['signature_name', 'tool.args', 'tool.result'],
  safe: ['tool.mode', 'request.id', 'provided_functions', 'ax.provider.request_id'],
  vendors: { googlegeminiai: 'gcp.gemini' },
  refine(span, facts) {
    // A stream has several, and the last one has the final counts.
    const usage = span.events?.findLast((event) => event.name === 'gen_ai.usage')?.attributes ?? {};
    const answered = asCount(usage['gen_ai.usage.output_tokens']);
    // Google does not count thoughts as part of the answer.
    const thoughts = facts.vendor === 'gcp.gemini' ? asCount(usage['gen_ai.usage.thoughts_tokens']) : null;
    const output = answered === null ? null : answered + (thoughts ?? 0);
    const total = asCount(usage['gen_ai.usage.total_tokens']);
    facts.outputTokens ??= output;
    facts.reasoningTokens ??= thoughts;
    // The input count excludes cached tokens, the total includes them.
    facts.inputTokens ??=
      total !== null && output !== null ? total - output : asCount(usage['gen_ai.usage.input_tokens']);
  },
};
