export const MCP_PREFIX = 'mcp__';

/** Splits `everything__echo` at the first `__` into server and tool. Null for other names. */
export function splitServer(name: string): { server: string; tool: string } | null {
  // A server's name has at least one character, which may be an underscore.
  const end = name.indexOf('__', 1);
  const tool = end === -1 ? '' : name.slice(end + 2);
  return tool === '' ? null : { server: name.slice(0, end), tool };
}
