import type { Dialect } from './dialect.ts';
import { serverToolsIn, withServerTools } from './server-tools.ts';

/**
 * Sentry's SDK for Node.js (github.com/getsentry/sentry-javascript, packages/core/src/tracing and
 * packages/core/src/integrations/mcp-server). It writes OpenTelemetry GenAI and MCP. The spans of an MCP server are internal ones.
 */
export const sentry: Dialect = {
  name: 'sentry',
  scopes: [/^@sentry\//],
  attributes: { agent: ['gen_ai.agent.name', 'gen_ai.function_id'] },
  content: [
    'gen_ai.embeddings.input',
    'gen_ai.request.messages',
    'gen_ai.response.text',
    'gen_ai.response.tool_calls',
    'gen_ai.tool.description',
    'gen_ai.tool.input',
    'gen_ai.tool.output',
    'mcp.request.argument',
    'mcp.tool.result.content',
    'mcp.prompt.result',
    'mcp.logging',
  ],
  safe: ['sentry.op', 'sentry.origin', 'vercel.ai.operationId', 'vercel.ai.model.provider', 'mcp.transport'],
  alsoReads: ['sentry.op', 'gen_ai.response.tool_calls'],
  // Only the client's span of an MCP call counts.
  uses({ attributes }, facts, usual) {
    if (String(attributes['sentry.op']).startsWith('mcp.')) return [];
    return withServerTools(facts, usual, () => serverToolsIn(attributes[TOOL_CALLS]));
  },
};

/** The tools that the model asked for, as items of the vendor's answer. */
const TOOL_CALLS = 'gen_ai.response.tool_calls';
