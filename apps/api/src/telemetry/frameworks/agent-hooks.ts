import type { Dialect } from '../reading/dialect.ts';
import { FUNCTION_NAMES } from '../reading/function-names.ts';
import { splitMarked } from '../reading/mcp-name.ts';

/** Of the hooks around one call, turn or subagent, the one that counts. */
const COUNTED: ReadonlySet<string> = new Set([
  'Stop',
  'PostToolUse',
  'PostToolUseFailure',
  'SubagentStop',
  'SessionStart',
]);
const SERVER = 'gen_ai.client.mcp_server';
/** What Cursor puts before the names of tools of MCP servers. */
const MARK_OF_CURSOR = /^MCP:\s*/;
const CLIENTS = [
  'antigravity',
  'claude',
  'codex',
  'copilot',
  'cursor',
  'gemini',
  'opencode',
  'vscode',
  'windsurf',
  'zed',
];

/**
 * Exporters that coding agents run as hooks. Each hook is a span with the operation of what it belongs to, so a tool that ran has
 * two spans or more, and one that was denied has the first of them.
 *
 * - OpenTelemetry Hook for AI Coding Agents (github.com/o11y-dev/opentelemetry-hooks, otel_hook.py): `gen_ai.client.hook.PostToolUse`
 * - Cursor OTEL Hook (github.com/LangGuard-AI/cursor-otel-hook, src/cursor_otel_hook/hook_receiver.py): `cursor.postToolUse`
 */
export const agentHooks: Dialect = {
  name: 'agent-hooks',
  scopes: ['ide-hooks', 'cursor_otel_hook.hook_receiver'],
  attributes: {
    tool: ['gen_ai.tool.name', 'gen_ai.client.tool_name', 'gen_ai.client.mcp_tool'],
    toolServer: [SERVER],
    agent: ['gen_ai.agent.name', 'langsmith.metadata.subagent_type'],
    callId: ['gen_ai.client.tool_use_id', 'gen_ai.client.tool_id'],
    conversationId: ['langsmith.trace.session_id'],
  },
  operations: { tool: 'execute_tool', chain: 'invoke_agent', session: null, unknown: null },
  // Instead of its name, the server may be a command line or a URL.
  names: { tool: FUNCTION_NAMES.tool, toolServer: /^[\w.-]{1,64}$/ },
  vendors: Object.fromEntries(CLIENTS.map((client) => [client, null])),
  content: [SERVER],
  safe: ['gen_ai.client.hook.event', 'gen_ai.client.name', 'langsmith.span.kind', 'langsmith.metadata.hook_event'],
  refine({ name }, facts) {
    const hook = hookIn(name);
    if (hook === 'Stop') facts.operation = 'chat';
    if (hook === 'PostToolUseFailure') facts.errorType ??= 'error';
    if (facts.tool === null) return;
    const named = splitMarked(facts.tool);
    if (named) Object.assign(facts, { toolServer: named.server, tool: named.tool });
    else if (MARK_OF_CURSOR.test(facts.tool)) facts.tool = facts.tool.replace(MARK_OF_CURSOR, '');
    else if (facts.toolServer === null) facts.toolRunsAt = 'agent';
  },
  uses({ name, attributes }, _facts, usual) {
    const hook = hookIn(name);
    // Cursor runs two hooks after a tool of an MCP server. Where the second one names the server, it counts.
    if (hook === 'AfterMCPExecution') return attributes[SERVER] === undefined ? [] : usual;
    const tool = attributes['gen_ai.client.tool_name'];
    const isCountedLater = hook === 'PostToolUse' && typeof tool === 'string' && MARK_OF_CURSOR.test(tool);
    return COUNTED.has(hook) && !isCountedLater ? usual : [];
  },
};

/** In both spellings of Cursor's hooks: `postToolUse` and `PostToolUse`. */
function hookIn(name: string): string {
  const hook = name.slice(name.lastIndexOf('.') + 1);
  return hook.charAt(0).toUpperCase() + hook.slice(1);
}
