import type { Facts } from './facts.ts';

export const MCP_PREFIX = 'mcp__';

type ToolOfServer = { server: string; tool: string };

/** How senders write the tool of an MCP server, with the separator between the two names. */
const FORMS = {
  mcp__server__tool: splitMarked,
  server__tool: splitServer,
  server___tool: (name: string) => splitServer(name, '___'),
};

export type McpToolForm = keyof typeof FORMS;

/** Splits the name of a tool that contains its MCP server. */
export function splitMcpTool(form: McpToolForm, facts: Facts): void {
  const named = FORMS[form](facts.tool ?? '');
  if (named !== null) Object.assign(facts, { toolServer: named.server, tool: named.tool });
}

/** Splits `mcp__everything__echo` into server and tool. Null for names without the prefix. */
export function splitMarked(name: string): ToolOfServer | null {
  return name.startsWith(MCP_PREFIX) ? splitServer(name.slice(MCP_PREFIX.length)) : null;
}

/** Splits `everything__echo` at the first `__`, or another separator, into server and tool. Null for other names. */
export function splitServer(name: string, separator = '__'): ToolOfServer | null {
  // A server's name has at least one character, which may be an underscore.
  const end = name.indexOf(separator, 1);
  const tool = end === -1 ? '' : name.slice(end + separator.length);
  return tool === '' ? null : { server: name.slice(0, end), tool };
}
