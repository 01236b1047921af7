import type { AttributeValue } from '../otlp/span.ts';
import type { Dialect } from '../reading/dialect.ts';

const TOOL = ['cursor.tool.name'];
const STATUS = 'cursor.tool.status';
const OUTCOME = 'cursor.grok_bot.tool_result.outcome';

const EVENTS: NonNullable<Dialect['logs']> = {
  'api.request': { operation: 'chat', isCommonName: true },
  'api.error': { operation: 'chat', isCommonName: true },
  'grok_bot.mcp_tool_call': { operation: 'execute_tool', attributes: { tool: TOOL } },
  'grok_bot.tool_result': {
    operation: 'execute_tool',
    attributes: { tool: TOOL },
    counts: ({ attributes }) => attributes[OUTCOME] !== 'denied',
  },
};

/**
 * Cursor's OpenTelemetry Export (cursor.com/docs/enterprise/opentelemetry-export/wire). Cursor's servers send log records and metrics.
 * The body of a record is the name of its event: `api_request` for `cursor.api.request`. The records of one call of a model share
 * `cursor.usage_event.id`. The tools of the editor are in metrics only.
 */
export const cursor: Dialect = {
  name: 'cursor',
  scopes: ['cursor.telemetry'],
  attributes: {
    model: ['cursor.model.name'],
    inputTokens: ['cursor.api.request.input_tokens'],
    outputTokens: ['cursor.api.request.output_tokens'],
    cacheReadTokens: ['cursor.api.request.cache_read_tokens'],
    cacheWriteTokens: ['cursor.api.request.cache_creation_tokens'],
    toolServer: ['cursor.mcp.server.name'],
    callId: ['cursor.usage_event.id', 'cursor.grok_bot.tool_call.id', 'cursor.event.id'],
    conversationId: ['cursor.conversation.id'],
    errorType: ['cursor.grok_bot.tool_result.error_category'],
  },
  agentTools: ['*'],
  uncounted: {
    inputTokens: ['cursor.api.request.cache_read_tokens', 'cursor.api.request.cache_creation_tokens'],
  },
  alsoReads: [STATUS, OUTCOME],
  refine({ name, attributes }, facts) {
    if (/^(?:cursor\.)?api[._]error$/.test(name) || FAILED.has(attributes[STATUS] ?? attributes[OUTCOME]))
      facts.errorType ??= 'error';
  },
  logs: Object.fromEntries(
    Object.entries(EVENTS).flatMap(([name, event]) => [
      [`cursor.${name}`, event],
      [name.replaceAll('.', '_'), event],
    ]),
  ),
};

const FAILED: ReadonlySet<AttributeValue | undefined> = new Set(['failure', 'error']);
