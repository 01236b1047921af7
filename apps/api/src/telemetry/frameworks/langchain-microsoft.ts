import type { Dialect } from '../reading/dialect.ts';
import { isInterruptOfLangGraph } from '../reading/rejections.ts';

/**
 * The instrumentation of LangChain in Microsoft's OpenTelemetry distribution for Node.js
 * (github.com/microsoft/opentelemetry-distro-javascript, src/genai/instrumentations/langchain). It writes OpenTelemetry GenAI.
 */
export const langchainMicrosoft: Dialect = {
  name: 'langchain-microsoft',
  scopes: ['microsoft-otel-langchain'],
  alsoReads: ['error.message'],
  wasRejected: ({ attributes }) => isInterruptOfLangGraph(attributes['error.message']),
};
