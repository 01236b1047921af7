import type { Dialect } from '../reading/dialect.ts';

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
