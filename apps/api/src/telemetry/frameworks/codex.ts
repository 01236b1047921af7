import type { Attributes } from '../otlp/span.ts';
import { asText } from '../reading/as-text.ts';
import type { Dialect, LogSource, ReadSource } from '../reading/dialect.ts';
import { boundedText } from '../reading/fact-slots.ts';
import type { Facts } from '../reading/facts.ts';
import { FUNCTION_NAMES } from '../reading/function-names.ts';
import { MCP_PREFIX, splitServer } from '../reading/mcp-name.ts';
import { REJECTION } from '../reading/operations.ts';

/**
 * Codex CLI (github.com/openai/codex, codex-rs/otel). It reports calls as events, which one exporter sends as log records and
 * the other as span events. The event of a request belongs to the same span in both. The event of the answer has the tokens,
 * and does not identify the request.
 */
export const codex: Dialect = {
  name: 'codex',
  // The scope is the name of the program: codex_exec, codex-tui, codex_vscode, Codex Desktop.
  scopes: [/^codex[-_ ]/i],
  signature: ['codex.turn.phase', 'codex.op'],
  attributes: {
    tool: ['tool.name'],
    callId: ['tool.call_id', 'call_id'],
    conversationId: ['conversation.id'],
  },
  // These are the tokens of a whole turn, or of a call that another span reports.
  ignores: [
    'gen_ai.usage.input_tokens',
    'gen_ai.usage.output_tokens',
    'gen_ai.usage.cache_read.input_tokens',
    'gen_ai.usage.reasoning.output_tokens',
  ],
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
  alsoReads: [
    'event.name',
    'event.kind',
    'http.response.status_code',
    'success',
    'tool_namespace',
    'outcome',
    'output',
  ],
  refine(span, facts) {
    const { name, attributes } = span;
    // The user or a rule rejected the command, or the sandbox stopped it. If it ran, the span of its process is inside.
    if (name === 'unified_exec.open_session' && attributes['outcome'] === 'failed') facts.operation = REJECTION;
    const event = reportIn(span);
    if (event) readSpanEvent(event, facts);
    const fields = event ?? (name.startsWith('codex.') ? attributes : undefined);
    if (!fields) return;
    const [, hosted] = HOSTED_CALL.exec(asText(fields['event.kind'])) ?? [];
    if (hosted !== undefined) {
      Object.assign(facts, { operation: 'execute_tool', tool: hosted, toolRunsAt: 'vendor', vendor: 'openai' });
    }
    if (hosted === undefined && facts.operation === 'execute_tool') readToolName(fields, facts);
    // The telemetry does not name the provider, so it is known only for OpenAI's models.
    if (facts.operation === 'chat' && OPENAI_MODEL.test(facts.model ?? '')) facts.vendor ??= 'openai';
    const status = Number(asText(fields['http.response.status_code'] ?? 0));
    if (status < 400 && asText(fields['success']) !== 'false') return;
    facts.errorType = status < 400 ? 'error' : String(status);
    // Several attempts at one request are records and events of one span. Each attempt is a call, and the span is the last of them.
    if (facts.operation === 'chat' && event === undefined) {
      facts.callId = `${text(fields['conversation.id'])}/${text(fields['event.timestamp'])}`;
    }
  },
  // The call of an MCP server's tool has a span of its own, `mcp.tools.call`, unless it was rejected. So a failure says nothing here.
  uses(span, _facts, usual) {
    const { mcp_tool: isMcp, success } = reportIn(span) ?? {};
    return asText(isMcp) === 'true' && asText(success) !== 'true' ? [] : usual;
  },
  logs: {
    'codex.api_request': { operation: 'chat', attributes: { model: ['model'] } },
    'codex.websocket_request': { operation: 'chat', attributes: { model: ['model'] } },
    'codex.sse_event': {
      operation: 'chat',
      attributes: {
        model: ['model'],
        inputTokens: ['input_token_count'],
        outputTokens: ['output_token_count'],
        cacheReadTokens: ['cached_token_count'],
        reasoningTokens: ['reasoning_token_count'],
      },
      counts: (record) => hasTokens(record) || HOSTED_CALL.test(asText(record.attributes['event.kind'])),
      tokensOnly: hasTokens,
    },
    'codex.tool_result': {
      operation: 'execute_tool',
      attributes: { tool: ['tool_name'], toolServer: ['mcp_server'] },
      // An MCP server writes the output of its tools itself.
      counts: ({ attributes }) =>
        attributes['tool_name'] !== 'exec_command' || !REJECTED_BY_RULE.test(asText(attributes['output'])),
    },
    'codex.tool_decision': {
      operation: 'execute_tool',
      attributes: { tool: ['tool_name'] },
      counts: ({ attributes }) => REJECTING.has(asText(attributes['decision'])),
      isRejection: true,
    },
  },
};

const SPAN_EVENTS = new Set(['codex.api_request', 'codex.websocket_request', 'codex.tool_result']);

/** Tools that the vendor runs while it answers. */
const HOSTED_CALL = /^response\.(web_search|file_search|code_interpreter|image_generation)_call\.completed$/;

const REJECTING = new Set(['abort', 'denied', 'timed_out']);

/** A command that a rule forbids. No `codex.tool_decision` says so. */
const REJECTED_BY_RULE = /^exec_command failed: CreateProcess \{ message: "Rejected\(/;

const OPENAI_MODEL = /^(gpt-(?!oss)|o\d|codex|chatgpt)/;

/** The event of a span that reports a call. */
function reportIn({ events = [] }: ReadSource): Attributes | undefined {
  return events.findLast((one) => SPAN_EVENTS.has(asText(one.attributes['event.name'])))?.attributes;
}

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

/** The server is in front of the name, or in the namespace: `everything__echo`, or `echo` in `mcp__everything`. */
function readToolName(fields: Attributes, facts: Facts): void {
  const namespace = text(fields['tool_namespace']) ?? '';
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
