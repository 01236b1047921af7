import type { Dialect } from '../reading/dialect.ts';

/**
 * Mistral's own client (github.com/mistralai/client-ts, src/extra/observability, and client-python). It writes OpenTelemetry GenAI.
 * A conversation is one request, `invoke_agent`, which has the tokens. The answer and the tools that the vendor ran have spans
 * inside it, which are no requests.
 */
export const mistral: Dialect = {
  name: 'mistral',
  scopes: ['mistralai_sdk_tracer'],
  safe: ['http.request.method'],
  alsoReads: ['http.request.method', 'http.response.status_code'],
  refine({ attributes }, facts) {
    if (facts.operation === 'execute_tool') facts.toolRunsAt = 'vendor';
    // A refused request has neither an error nor a status code.
    if (isRequest(attributes) && attributes['http.response.status_code'] === undefined)
      facts.errorType ??= 'request_failed';
  },
  uses({ attributes }, { operation, model, agentId }, usual) {
    if (operation === 'invoke_agent' && model !== null) return [...usual, { kind: 'model', name: model }];
    // The request of a conversation names the model, unless it names an agent.
    const isCounted = operation !== 'chat' || isRequest(attributes) || agentId !== null;
    return isCounted ? usual : [];
  },
};

function isRequest(attributes: { [name: string]: unknown }): boolean {
  return attributes['http.request.method'] !== undefined;
}
