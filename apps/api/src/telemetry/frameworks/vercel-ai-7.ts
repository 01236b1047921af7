import type { Dialect } from '../reading/dialect.ts';
import { FUNCTION_NAMES } from '../reading/function-names.ts';
import { readInside } from '../reading/inside.ts';
import { withServerTools } from '../reading/server-tools.ts';
import { MCP_TOOL_OF_OPENAI, PROVIDER_METADATA, searchesOfGoogle, vercelAi } from './vercel-ai.ts';

const RESULT = 'gen_ai.tool.call.result';

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
  alsoReads: ['gen_ai.tool.type', RESULT, PROVIDER_METADATA],
  refine(span, facts) {
    // The type `extension` is a tool that the vendor ran, or called at an MCP server.
    if (facts.tool === null || span.attributes['gen_ai.tool.type'] !== 'extension') return;
    facts.toolRunsAt = 'vendor';
    if (!MCP_TOOL_OF_OPENAI.test(facts.tool)) return;
    facts.tool = facts.tool.replace(MCP_TOOL_OF_OPENAI, '');
    const server = readInside(span.attributes[RESULT], ['serverLabel']);
    if (typeof server === 'string' && FUNCTION_NAMES.toolServer.test(server)) facts.toolServer = server;
  },
  uses: ({ attributes }, facts, usual) => withServerTools(facts, usual, () => searchesOfGoogle(attributes)),
};
