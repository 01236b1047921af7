import type { Dialect } from '../reading/dialect.ts';
import { isRejectedByOpenAiAgents } from '../reading/rejections.ts';

/**
 * The instrumentation of the OpenAI Agents SDK in Microsoft's OpenTelemetry distribution for Node.js
 * (github.com/microsoft/opentelemetry-distro-javascript, src/genai/instrumentations/openai). It writes OpenTelemetry GenAI, with
 * two exceptions: the list of an MCP server's tools is a span `execute_tool <server>` of the type `extension`, and a handoff is a
 * client span `invoke_agent`, beside the span of the agent itself.
 */
export const microsoftOpentelemetry: Dialect = {
  name: 'microsoft-opentelemetry',
  scopes: ['microsoft-otel-openai-agents'],
  alsoReads: ['gen_ai.tool.type'],
  wasRejected: isRejectedByOpenAiAgents,
  uses({ kind, attributes }, { operation }, usual) {
    const listsTools = operation === 'execute_tool' && attributes['gen_ai.tool.type'] === 'extension';
    const isHandoff = operation === 'invoke_agent' && kind === 'client';
    return listsTools || isHandoff ? [] : usual;
  },
};
