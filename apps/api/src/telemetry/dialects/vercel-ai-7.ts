import type { Dialect } from './dialect.ts';
import { withServerTools } from './server-tools.ts';
import { PROVIDER_METADATA, searchesOfGoogle, splitRegistryIdOfTemporal, vercelAi } from './vercel-ai.ts';

/**
 * Vercel AI SDK 7 with `@ai-sdk/otel` (github.com/vercel/ai, packages/otel/src/open-telemetry.ts): the OpenTelemetry GenAI
 * conventions, plus its own attributes.
 */
export const vercelAi7: Dialect = {
  name: 'vercel-ai-7',
  scopes: ['gen_ai'],
  // An agent's step contains the model request and the tool calls that follow.
  operations: { agent_step: null },
  vendors: vercelAi.vendors ?? {},
  // Its own attributes have the names of earlier versions.
  content: vercelAi.content ?? [],
  serverToolsHaveSpans: true,
  alsoReads: ['gen_ai.tool.type', PROVIDER_METADATA],
  refine(span, facts) {
    // The type `extension` is a tool that the vendor ran.
    if (facts.tool !== null && span.attributes['gen_ai.tool.type'] === 'extension') facts.toolRunsAt = 'vendor';
    splitRegistryIdOfTemporal(span, facts);
  },
  uses: ({ attributes }, facts, usual) => withServerTools(facts, usual, () => searchesOfGoogle(attributes)),
};
