import type { Attributes } from '../otlp/span.ts';
import type { Dialect, LogSource } from './dialect.ts';
import { boundedText } from './fact-slots.ts';
import type { Facts } from './facts.ts';
import { FUNCTION_NAMES } from './function-names.ts';
import { MCP_PREFIX, splitServer } from './mcp-name.ts';

/**
 * Codex CLI (github.com/openai/codex, codex-rs/otel). It tells of calls in events, which are log records with one exporter and
 * events of spans with the other. The event of a request is on the same span in both. The event of its answer has the tokens,
 * and names no request.
 */
export const codex: Dialect = {
  name: 'codex',
  // The name of the program: codex_exec, codex-tui, codex_vscode, Codex Desktop.
  scopes: [/^codex[-_ ]/i],
  signature: ['codex.turn.phase', 'codex.op'],
  attributes: {
    tool: ['tool.name'],
    callId: ['tool.call_id', 'call_id'],
    conversationId: ['conversation.id'],
  },
  // Of the whole turn, or of a call that another span counts.
  ignores: ['gen_ai.usage.input_tokens', 'gen_ai.usage.output_tokens'],
  spanNames: [{ pattern: /^mcp\.tools\.call$/, operation: 'execute_tool' }],
  names: FUNCTION_NAMES,
  content: ['arguments', 'output', 'prompt', 'error.message', 'cwd', 'user_instructions'],
  safe: [
    'app.version',
    'originator',
    'event.timestamp',
    'turn.id',
    'turn_id',
    'thread_id',
    'tool_source',
    'tool_namespace',
    'tool_origin',
    'codex.op',
    'codex.turn.phase',
    'codex.tool.phase',
    'transport',
    'wire_api',
    'api.path',
    'endpoint',
    'mcp.server.origin',
    'rpc.transport',
  ],
  alsoReads: ['event.name', 'event.kind', 'http.response.status_code', 'success', 'error.message', 'tool_namespace'],
  refine({ name, attributes, events = [] }, facts) {
    const event = events.findLast((one) => SPAN_EVENTS.has(String(one.attributes['event.name'])))?.attributes;
    if (event) readSpanEvent(event, facts);
    const told = event ?? (name.startsWith('codex.') ? attributes : undefined);
    if (!told) return;
    const [, hosted] = HOSTED_CALL.exec(String(told['event.kind'])) ?? [];
    if (hosted !== undefined) {
      Object.assign(facts, { operation: 'execute_tool', tool: hosted, toolRunsAt: 'vendor', vendor: 'openai' });
    }
    if (hosted === undefined && facts.operation === 'execute_tool') readToolName(told, facts);
    // Which other provider serves a model is not said.
    if (facts.operation === 'chat' && OPENAI_MODEL.test(facts.model ?? '')) facts.vendor ??= 'openai';
    const status = Number(told['http.response.status_code'] ?? 0);
    if (status < 400 && String(told['success']) !== 'false') return;
    facts.errorType = status < 400 ? 'error' : String(status);
    // Attempts at one request are told on one span, and each is a call.
    if (facts.operation === 'chat') facts.callId = `${text(told['conversation.id'])}/${text(told['event.timestamp'])}`;
  },
  logs: {
    'codex.api_request': { operation: 'chat', attributes: { model: ['model'] } },
    'codex.websocket_request': { operation: 'chat', attributes: { model: ['model'] } },
    'codex.sse_event': {
      operation: 'chat',
      attributes: { model: ['model'], inputTokens: ['input_token_count'], outputTokens: ['output_token_count'] },
      counts: (record) => hasTokens(record) || HOSTED_CALL.test(String(record.attributes['event.kind'])),
      tokensOnly: hasTokens,
    },
    'codex.tool_result': {
      operation: 'execute_tool',
      attributes: { tool: ['tool_name'], toolServer: ['mcp_server'] },
    },
  },
};

const SPAN_EVENTS = new Set(['codex.api_request', 'codex.websocket_request', 'codex.tool_result']);

/** What the vendor runs while it answers. */
const HOSTED_CALL = /^response\.(web_search|file_search|code_interpreter|image_generation)_call\.completed$/;

const OPENAI_MODEL = /^(gpt-(?!oss)|o\d|codex|chatgpt)/;

function readSpanEvent(event: Attributes, facts: Facts): void {
  facts.conversationId ??= text(event['conversation.id']);
  if (event['event.name'] === 'codex.tool_result') {
    facts.operation = 'execute_tool';
    facts.tool = text(event['tool_name']);
    facts.callId = text(event['call_id']);
  } else {
    facts.operation = 'chat';
    facts.model = text(event['model']);
  }
}

/** The server stands before the name, or in the namespace: `everything__echo`, or `echo` in `mcp__everything`. */
function readToolName(told: Attributes, facts: Facts): void {
  const namespace = text(told['tool_namespace']) ?? '';
  const ofNamespace = namespace.startsWith(MCP_PREFIX) ? namespace.slice(MCP_PREFIX.length).replace(/__$/, '') : '';
  const written = facts.tool ?? '';
  const named = splitServer(written.startsWith(MCP_PREFIX) ? written.slice(MCP_PREFIX.length) : written);
  facts.toolServer ??= ofNamespace || (named?.server ?? null);
  if (named && named.server === facts.toolServer) facts.tool = named.tool;
  if (facts.toolServer === null) facts.toolRunsAt = 'agent';
}

function hasTokens({ attributes }: LogSource): boolean {
  return attributes['event.kind'] === 'response.completed' && attributes['input_token_count'] !== undefined;
}

function text(value: unknown): string | null {
  return typeof value === 'string' ? boundedText(value) : null;
}
