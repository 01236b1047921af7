import { asText } from '../reading/as-text.ts';
import type { Dialect } from '../reading/dialect.ts';

/**
 * NeuroLink (github.com/juspay/neurolink, src/lib/telemetry). A generation is written by up to four spans inside each other, and a
 * call of its own tools by three. Each counts once. A stream has spans in several traces, of which one counts. The spans of its own
 * tools name a server `custom-tool-<tool>`.
 */
export const neurolink: Dialect = {
  name: 'neurolink',
  scopes: [/^neurolink(?:\.|$)/],
  signature: ['neurolink.*'],
  attributes: {
    tool: ['gen_ai.tool.name', 'mcp.tool_name'],
    toolServer: ['mcp.server_id'],
    conversationId: ['gen_ai.conversation.id', 'session.id'],
  },
  operations: { generate: 'chat' },
  spanNames: [
    { pattern: /^neurolink\.(?:executeGeneration|provider\.streamText)$/, operation: 'chat' },
    { pattern: /^neurolink\.(?:tool\.execute|mcp\.callTool)$/, operation: 'execute_tool' },
  ],
  content: ['tool.input_preview', 'tool.output_preview'],
  safe: ['tool.type', 'tool.result.status', 'neurolink.provider', 'neurolink.model', 'neurolink.path'],
  alsoReads: ['neurolink.provider', 'tool.success'],
  refine({ attributes }, facts) {
    if (facts.toolServer?.startsWith('custom-tool-')) facts.toolServer = null;
    if (facts.tool !== null && attributes['tool.success'] === false) facts.errorType ??= 'tool_error';
  },
  uses({ attributes }, { operation, outputTokens }, usual) {
    const isCall = operation === 'chat' || operation === 'execute_tool';
    const isOnlySpan = outputTokens !== null || !WITH_STREAM_TEXT.has(asText(attributes['neurolink.provider']));
    return isCall || (operation === 'stream' && isOnlySpan) ? usual : [];
  },
};

/**
 * The providers whose streams have another span with the tokens, `neurolink.provider.streamText`. Later versions write the tokens of
 * Vertex AI into the span of the stream itself.
 */
const WITH_STREAM_TEXT = new Set(['anthropic', 'litellm', 'openai', 'vertex']);
