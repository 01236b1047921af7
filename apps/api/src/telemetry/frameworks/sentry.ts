import { asText } from '../reading/as-text.ts';
import type { Dialect, ReadSource } from '../reading/dialect.ts';

/** The text of an answer. For a count of tokens it is the number. */
const TEXT = 'gen_ai.response.text';

/** The tools that the model asked for, as items of the vendor's answer. */
const TOOL_CALLS = 'gen_ai.response.tool_calls';

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
    TEXT,
    TOOL_CALLS,
    'gen_ai.tool.description',
    'gen_ai.tool.input',
    'gen_ai.tool.output',
    'mcp.request.argument',
    'mcp.tool.result.content',
    'mcp.prompt.result',
    'mcp.logging',
  ],
  safe: ['sentry.op', 'sentry.origin', 'vercel.ai.operationId', 'vercel.ai.model.provider', 'mcp.transport'],
  answer: TOOL_CALLS,
  alsoReads: ['sentry.op', TEXT],
  uses({ attributes }, facts, usual) {
    const operation = asText(attributes['sentry.op']);
    // Only the client's span of an MCP call counts.
    if (operation.startsWith('mcp.')) return [];
    return facts.vendor === 'anthropic' && !isCall(operation, attributes) ? [] : usual;
  },
};

/** Whether a method of Anthropic's client calls the model. It may also fetch a model's description, or count tokens. */
function isCall(operation: string, attributes: ReadSource['attributes']): boolean {
  const isCount = attributes['gen_ai.response.id'] === undefined && /^\d+$/.test(asText(attributes[TEXT]));
  return operation !== 'gen_ai.models' && !isCount;
}
