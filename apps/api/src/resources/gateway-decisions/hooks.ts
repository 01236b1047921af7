import { BoundedMap } from '@quartermaster/db/bounded-map.ts';
import type { GrantedItem } from '@quartermaster/db/repositories/granted-items.ts';
import { ApiError } from '../../platform/errors.ts';
import type { CompiledPolicy, CompiledProvider } from '../gateway-sessions/policy.ts';
import { reasonOf } from './decide.ts';
import { type Dialect, type DialectRequest, textOf } from './dialect.ts';

type Use = { provider: CompiledProvider | undefined; name: string };

/**
 * Uses that were counted, by subject, tool and tool-use id. Cursor also runs the hooks of Claude Code, so one use may be asked
 * about twice.
 */
const COUNTED = new BoundedMap<string, true>(10_000);

/** Longer keys are not remembered, because a client can send megabytes. */
const MAX_KEY_LENGTH = 1000;

/** The longest name of a tool with its server that is taken apart. */
const MAX_TOOL_NAME_LENGTH = 600;

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
    const toolName = textOf(body, 'tool_name');
    // `{}` would permit every use, if a version of an agent named the member differently.
    if (toolName === null) throw new ApiError('request_malformed', 'The hook has no `tool_name`.');
    const use = isCursor ? useOfCursor(request, toolName) : useOf(request, toolName);
    if (use === null) return {};
    const id = textOf(body, 'tool_use_id');
    const subject = caller.state.id ?? caller.state.subject;
    const key = JSON.stringify([policy.gateway.id, subject, id, use.provider?.provider.id, use.name]);
    const uncounted = COUNTED.has(key);
    if (id !== null && key.length <= MAX_KEY_LENGTH) COUNTED.set(key, true);
    const { allowed, explanation } = await ask({ ...use, kind: 'tool', uncounted });
    if (allowed || explanation === null) return {};
    if (isCursor) return { permission: 'deny', user_message: explanation, agent_message: explanation };
    const denial = { permissionDecision: 'deny', permissionDecisionReason: explanation };
    return { hookSpecificOutput: { hookEventName: 'PreToolUse', ...denial } };
  },
};

/** `mcp__<server>__<tool>`, or a tool of the agent itself. @returns null: it is not decided */
function useOf({ query, find, policy, caller }: DialectRequest, toolName: string): Use | null {
  if (!toolName.startsWith('mcp__')) {
    const { builtins } = query;
    return builtins === undefined ? null : { provider: find(builtins), name: toolName };
  }
  if (toolName.length > MAX_TOOL_NAME_LENGTH) return { provider: undefined, name: toolName };
  const parts = toolName.slice('mcp__'.length).split('__');
  const uses: Use[] = [];
  // The names of servers and tools may have two underscores, too.
  for (let length = 1; length < parts.length; length += 1) {
    const provider = serverNamed(policy, parts.slice(0, length).join('__'));
    if (provider !== undefined) uses.push({ provider, name: toolNamed(provider, parts.slice(length).join('__')) });
  }
  // `mcp__a__b__c` may be the tool `b__c` of `a`, or `c` of `a__b`. So each of them has to be permitted.
  const denied = uses.find((use) => reasonOf(caller, { ...use, kind: 'tool' }) !== null);
  return denied ?? uses[0] ?? { provider: undefined, name: parts.slice(1).join('__') || toolName };
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

/** The tool that is meant, if the agent has rewritten its name, and if no other declared tool is rewritten like this. */
function toolNamed({ verdict, allowed, refused }: CompiledProvider, name: string): string {
  if (verdict('tool', name) !== 'not_in_inventory') return name;
  const isMeant = (item: GrantedItem) => item.kind === 'tool' && rewritten(item.name) === name;
  return (refused.some(isMeant) ? undefined : onlyOne(allowed.filter(isMeant)))?.name ?? name;
}

function onlyOne<Item>(items: readonly Item[]): Item | undefined {
  return items.length === 1 ? items[0] : undefined;
}
