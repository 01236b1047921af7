import type { Dialect } from '../reading/dialect.ts';

/** TanStack AI's `otelMiddleware` (github.com/TanStack/ai, packages/ai/src/middlewares/otel.ts). The application names the scope. */
export const tanstackAi: Dialect = {
  name: 'tanstack-ai',
  signature: ['tanstack.ai.*'],
  // Adapters write the vendor and the API.
  vendors: { 'openai-chat': 'openai' },
  content: [
    'langfuse.observation.input',
    'langfuse.observation.output',
    'langfuse.trace.input',
    'langfuse.trace.output',
    'tanstack.ai.system_prompt',
  ],
  safe: ['tanstack.ai.tool.outcome'],
  countsOf: (_span, { vendor }) => (vendor === 'anthropic' ? vendor : null),
  // The span of the whole chat repeats the model of its iterations.
  ignored: { attributes: { 'tanstack.ai.iterations': /^/ } },
};
