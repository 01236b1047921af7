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

/**
 * How the result of a rejected call begins. It is unknown if the user has written it. A tool cannot imitate it: its own result is put
 * behind the name of a field, and its error behind the name of the tool.
 */
const REJECTION =
  /^(?:Tool execution not permitted\.$|(?:<tool_error>)?Tool '[^']+' (?:is permanently disabled|was denied)|<user_cancellation>(?!Tool execution interrupted))/;

const FAILED = /^<(?:tool_error|user_cancellation)>/;

/**
 * Mistral Vibe (github.com/mistralai/mistral-vibe, vibe/core/tracing.py and agent_loop.py). It writes OpenTelemetry GenAI. Mistral's
 * client reports the model calls. A tool has the same span whether it ran, failed or was rejected. Only its result differs.
 */
export const mistralVibe: Dialect = {
  name: 'mistral-vibe',
  scopes: ['mistral_vibe'],
  agentTools: [
    'ask_user_question',
    'bash',
    'edit',
    'exit_plan_mode',
    'grep',
    'read',
    'read_file',
    'search_replace',
    'skill',
    'task',
    'todo',
    'web_fetch',
    'web_search',
    'write_file',
  ],
  rejected: { attributes: { 'gen_ai.tool.call.result': REJECTION } },
  alsoReads: ['vibe.hook.type'],
  refine({ attributes }, facts) {
    const result = attributes['gen_ai.tool.call.result'];
    if (attributes['vibe.hook.type'] !== undefined) facts.tool = null;
    if (typeof result === 'string' && FAILED.test(result)) facts.errorType ??= 'tool_error';
  },
};
