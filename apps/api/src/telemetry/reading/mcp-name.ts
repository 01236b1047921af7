export const MCP_PREFIX = 'mcp__';

type ToolOfServer = { server: string; tool: string };

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
