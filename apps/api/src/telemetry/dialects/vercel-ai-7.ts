import type { Dialect } from './dialect.ts';
import { vercelAi } from './vercel-ai.ts';

/**
 * Vercel AI SDK 7 with `@ai-sdk/otel` (github.com/vercel/ai, packages/otel/src/open-telemetry.ts): the OpenTelemetry GenAI
 * conventions, with attributes of its own beside them.
 */
export const vercelAi7: Dialect = {
  name: 'vercel-ai-7',
  scopes: ['gen_ai'],
  // An agent's step holds the request to the model and the tool calls that follow it.
  operations: { agent_step: null },
  // Its supplemental attributes have the names of the versions before.
  content: vercelAi.content ?? [],
  alsoReads: ['gen_ai.tool.type'],
  refine(span, facts) {
    // What the SDK calls an extension is a tool that the vendor ran.
    if (facts.tool !== null && span.attributes['gen_ai.tool.type'] === 'extension') facts.toolRunsAt = 'vendor';
  },
};
