import { BoundedMap } from '@quartermaster/db/bounded-map.ts';
import type { CompiledPolicy, CompiledProvider } from '../gateway-sessions/policy.ts';
import { type Dialect, type DialectRequest, textOf } from './dialect.ts';

type Use = { provider: CompiledProvider | undefined; name: string };

/**
 * Uses that were counted, by subject and tool-use id. Cursor also runs the hooks of Claude Code, so one use may be asked about
 * twice.
 */
const COUNTED = new BoundedMap<string, true>(10_000);

/**
 * The hooks of coding agents: `PreToolUse` of Claude Code and Codex, and `beforeMCPExecution` of Cursor. `{}` leaves the use to
 * the agent's own permissions, which `allow` would skip. Codex runs the tool if the answer has a member that it does not know.
 */
export const HOOKS: Dialect = {
  point: 'hook',
  async answer(request) {
    const { body, rest: agent, ask, policy, caller } = request;
    const isCursor = agent === 'cursor' && body.hook_event_name === 'beforeMCPExecution';
    if (!isCursor && body.hook_event_name !== 'PreToolUse') return {};
    const toolName = textOf(body, 'tool_name') ?? '';
    const use = isCursor ? useOfCursor(request, toolName) : useOf(request, toolName);
    if (use === null) return {};
    const id = textOf(body, 'tool_use_id');
    const key = id === null ? null : JSON.stringify([policy.gateway.id, caller.state.id ?? caller.state.subject, id]);
    const uncounted = key !== null && COUNTED.has(key);
    if (key !== null) COUNTED.set(key, true);
    const { allowed, explanation } = await ask({ ...use, kind: 'tool', uncounted });
    if (allowed || explanation === null) return {};
    if (isCursor) return { permission: 'deny', user_message: explanation, agent_message: explanation };
    const denial = { permissionDecision: 'deny', permissionDecisionReason: explanation };
    return { hookSpecificOutput: { hookEventName: 'PreToolUse', ...denial } };
  },
};

/** `mcp__<server>__<tool>`, or a tool of the agent itself. @returns null: it is not decided */
function useOf({ query, find, policy }: DialectRequest, toolName: string): Use | null {
  if (!toolName.startsWith('mcp__')) {
    const { builtins } = query;
    return builtins === undefined ? null : { provider: find(builtins), name: toolName };
  }
  const parts = toolName.slice('mcp__'.length).split('__');
  // The name of a server may have two underscores, too.
  for (let length = 1; length < parts.length; length += 1) {
    const provider = serverNamed(policy, parts.slice(0, length).join('__'));
    if (provider !== undefined) return { provider, name: toolNamed(provider, parts.slice(length).join('__')) };
  }
  return { provider: undefined, name: parts.slice(1).join('__') || toolName };
}

/** `MCP:<server>:<tool>`, or the name of the tool beside the URL of its server. */
function useOfCursor({ body, policy }: DialectRequest, toolName: string): Use {
  const [, server, tool] = /^MCP:([^:]+):(.+)$/s.exec(toolName) ?? [];
  const provider = server === undefined ? serverAt(policy, textOf(body, 'url')) : serverNamed(policy, server);
  const name = tool ?? toolName.replace(/^MCP:/, '');
  return { provider, name: provider === undefined ? name : toolNamed(provider, name) };
}

function serverAt({ providers }: CompiledPolicy, url: string | null): CompiledProvider | undefined {
  if (url === null) return undefined;
  return onlyOne(providers.filter(({ provider }) => provider.baseUrl === url));
}

/** Agents write names with letters, digits, `_` and `-` alone. */
function rewritten(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9_-]/g, '_');
}

function serverNamed({ find, providers }: CompiledPolicy, server: string): CompiledProvider | undefined {
  const named = ({ provider: { name, aliases } }: CompiledProvider) =>
    [name, ...aliases].some((one) => rewritten(one) === server);
  return find(server) ?? onlyOne(providers.filter(named));
}

/** The tool that is meant, if the agent has rewritten its name. */
function toolNamed({ verdict, allowed }: CompiledProvider, name: string): string {
  if (verdict('tool', name) !== 'not_in_inventory') return name;
  return onlyOne(allowed.filter((item) => item.kind === 'tool' && rewritten(item.name) === name))?.name ?? name;
}

function onlyOne<Item>(items: readonly Item[]): Item | undefined {
  return items.length === 1 ? items[0] : undefined;
}
