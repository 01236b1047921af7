import { ownMember } from '../../platform/own-member.ts';
import { asText } from './as-text.ts';
import { countUnder } from './fact-slots.ts';
import type { Facts, Use } from './facts.ts';
import { FUNCTION_NAMES } from './function-names.ts';
import { camelCased, memberOfEitherCase, parsedJson } from './inside.ts';
import { MCP_PREFIX } from './mcp-name.ts';

/** The types of items in answers of OpenAI's Responses API that are calls of its own tools. */
const OPENAI_TOOLS: ReadonlyMap<string, string> = new Map([
  ['web_search_call', 'web_search'],
  ['file_search_call', 'file_search'],
  ['code_interpreter_call', 'code_interpreter'],
  ['image_generation_call', 'image_generation'],
]);

/**
 * The types of items that are calls of an MCP server which the vendor made, with the key that names the server: in answers of
 * OpenAI, Anthropic and Google.
 */
const MCP_CALLS: ReadonlyMap<string, string> = new Map([
  ['mcp_call', 'server_label'],
  ['mcp_tool_use', 'server_name'],
  ['mcp_server_tool_call', 'server_name'],
]);

/** Tools that vendors run themselves, as answers name them. */
export const TOOLS_OF_VENDORS: ReadonlySet<string> = new Set([
  ...OPENAI_TOOLS.values(),
  'bash_code_execution',
  'code_execution',
  'computer_use',
  'google_maps',
  'google_search',
  'text_editor_code_execution',
  'tool_search',
  'tool_search_tool_bm25',
  'tool_search_tool_regex',
  'url_context',
  'web_fetch',
  'x_search',
]);

/** The name for tools that are not in this list. An answer is content, so no unknown name is taken from it. */
const UNKNOWN_TOOL = 'server_tool';

/**
 * The beginning of the ids of calls that Anthropic runs. Some senders write these calls as `tool_use`, like calls of functions.
 */
export const ID_OF_ANTHROPIC = 'srvtoolu_';

/** The ids of calls that OpenAI runs. Those of functions begin with `call_`. Other ids may be names of functions: `fs_read`. */
const ID_OF_OPENAI = /^[a-z]{2}_(?=[\da-f]+$)/;

/** The tools of OpenAI, by how the ids of their calls begin. */
const TOOLS_BY_ID: ReadonlyMap<string, string> = new Map([
  ['ws_', 'web_search'],
  ['fs_', 'file_search'],
  ['ci_', 'code_interpreter'],
  ['ig_', 'image_generation'],
]);

/** Every answer with a call of a server tool contains one of these, so most answers need not be parsed. */
const MARKS: readonly string[] = [
  ...OPENAI_TOOLS.keys(),
  ...MCP_CALLS.keys(),
  'server_tool_use',
  'server_tool_call',
  ID_OF_ANTHROPIC,
  ...[...TOOLS_BY_ID.keys()].map((id) => `"${id}`),
  'providerExecuted',
  '"builtin"',
  ...['web_search_queries', 'url_metadata', 'executable_code'].flatMap((key) => [key, camelCased(key)]),
];

/** The maximum number of items of an answer that are read. */
const MAX_ITEMS = 1000;

/** The maximum number of lists in each other. LangWatch writes two. */
const MAX_LISTS = 2;

/**
 * The tools that the vendor ran while it answered, as the answer lists them. The answer may be a JSON text. One entry for each
 * call. Reads answers of OpenAI's Responses API, of Anthropic's Messages API, of Google's API, of LangChain and of the Vercel
 * AI SDK, and `gen_ai.output.messages`. The tool of an MCP server has the server in its name: `mcp__everything__echo`.
 */
export function serverToolsIn(answer: unknown): string[] {
  const parsed = typeof answer === 'string' ? parsedIfMarked(answer) : answer;
  const messages = itemsOf(Array.isArray(parsed) ? parsed : [parsed])
    .flatMap((item) => messagesIn(item))
    .slice(0, MAX_ITEMS);
  const items = messages.flatMap((message) => {
    const ofOpenAi = LANGCHAIN_KEYS.map((key) => ownMember(ownMember(message, key), 'tool_outputs'));
    const lists = [...['output', 'content', 'parts'].map((key) => ownMember(message, key)), ...ofOpenAi];
    // The answer may also be a list of items itself.
    return [message, ...lists.flatMap(itemsOf)];
  });
  const parts = messages.flatMap((message) => [
    message,
    ownMember(message, 'response_metadata'),
    ownMember(message, 'function_call'),
    ...itemsOf(ownMember(message, 'candidates')),
    ...itemsOf(Object.values(ownMember(message, 'providerMetadata') ?? {})),
  ]);
  const named = toolsOf(items);
  return [...(named.length > 0 ? named : countedTools(parts)), ...parts.flatMap(googleToolsOf)];
}

/** The tools of the calls among items. Some clients list a call twice, with one id. Others write an empty id. */
function toolsOf(items: readonly unknown[]): string[] {
  const tools = new Map<unknown, string>();
  for (const item of items) {
    const tool = toolOf(item);
    if (tool !== null) tools.set(ownMember(item, 'id') || ownMember(item, 'toolCallId') || item, tool);
  }
  return [...tools.values()];
}

/** Where LangChain keeps the other keys of the vendor's message. LangWatch writes them as a function call. */
const LANGCHAIN_KEYS = ['additional_kwargs', 'function_call'];

/** The messages of LangChain's answer, or of LangWatch's lists, whose items have a type. Any other answer is one message. */
function messagesIn(answer: unknown, depth = 0): unknown[] {
  const value = ownMember(answer, 'value');
  if (Array.isArray(value) && depth < MAX_LISTS)
    return value.slice(0, MAX_ITEMS).flatMap((item) => messagesIn(item, depth + 1));
  if (ownMember(answer, 'type') === 'json' && value !== undefined) return [value];
  const generations = itemsOf(ownMember(answer, 'generations')).flatMap(itemsOf);
  if (generations.length === 0) return [answer];
  return generations.slice(0, MAX_ITEMS).map((one) => ownMember(ownMember(one, 'message'), 'kwargs'));
}

/** The tools in the usage of an answer by Anthropic. Some senders keep the usage and leave out the calls. */
function countedTools(parts: readonly unknown[]): string[] {
  for (const part of parts) {
    const requests = ownMember(ownMember(part, 'usage'), 'server_tool_use');
    const callsOf = (tool: string) => Math.min(countUnder(requests, `${tool}_requests`) ?? 0, MAX_ITEMS);
    const tools = ['web_search', 'web_fetch'].flatMap((tool) => Array.from({ length: callsOf(tool) }, () => tool));
    if (tools.length > 0) return tools;
  }
  return [];
}

/** The tools that Google's API ran, by a candidate of its answer. Clients write its keys in two spellings. */
function googleToolsOf(candidate: unknown): string[] {
  const searches = itemsOf(
    memberOfEitherCase(memberOfEitherCase(candidate, 'grounding_metadata'), 'web_search_queries'),
  );
  const pages = itemsOf(memberOfEitherCase(memberOfEitherCase(candidate, 'url_context_metadata'), 'url_metadata'));
  const parts = itemsOf(ownMember(ownMember(candidate, 'content'), 'parts'));
  const programs = parts.filter((part) => (memberOfEitherCase(part, 'executable_code') ?? null) !== null);
  return [
    // One search may have several queries, and one call may read several pages.
    ...(searches.length > 0 ? ['google_search'] : []),
    ...(pages.length > 0 ? ['url_context'] : []),
    ...programs.map(() => 'code_execution'),
  ];
}

/** Adds the tools that the vendor ran during a model call to the uses of its span, unless these contain tools already. */
export function withServerTools(facts: Facts, uses: Use[], find: () => string[]): Use[] {
  const isOnlyModel = uses.some(({ kind }) => kind === 'model') && !uses.some(({ kind }) => kind === 'tool');
  return isOnlyModel ? addServerTools(facts, uses, find()) : uses;
}

/** Adds calls of tools that the vendor ran to the uses of a span. */
export function addServerTools(facts: Facts, uses: Use[], tools: readonly string[]): Use[] {
  if (tools.length === 0) return uses;
  facts.toolRunsAt = 'vendor';
  const calls = [...Map.groupBy(tools, (name) => name)];
  return [
    ...uses,
    ...calls.map(([name, { length }]): Use => ({ kind: 'tool', name, ...(length > 1 && { times: length }) })),
  ];
}

function parsedIfMarked(text: string): unknown {
  return MARKS.some((mark) => text.includes(mark)) ? parsedJson(text) : undefined;
}

function itemsOf(list: unknown): unknown[] {
  return Array.isArray(list) ? list.slice(0, MAX_ITEMS) : [];
}

function toolOf(item: unknown): string | null {
  const type = ownMember(item, 'type');
  if (typeof type !== 'string') return null;
  const ofItem = toolOfItem(item);
  if (ofItem !== null) return ofItem;
  // Azure's client puts the item of the answer into a part of the conventions. Pydantic AI marks the part.
  const isBuiltin = type === 'tool_call' && ownMember(item, 'builtin') === true;
  const id = asText(ownMember(item, 'id'));
  const isOfAnthropic = (type === 'tool_use' || type === 'tool_call') && id.startsWith(ID_OF_ANTHROPIC);
  if (type === 'tool_call' && !isBuiltin && !isOfAnthropic) {
    return toolOfItem(ownMember(item, 'content')) ?? TOOLS_BY_ID.get(ID_OF_OPENAI.exec(id)?.[0] ?? '') ?? null;
  }
  const isOfAiSdk = type === 'tool-call' && ownMember(item, 'providerExecuted') === true;
  const isCall = type === 'server_tool_use' || type === 'server_tool_call';
  if (!isCall && !isOfAnthropic && !isOfAiSdk && !isBuiltin) return null;
  const name = ownMember(item, isOfAiSdk ? 'toolName' : 'name');
  if (typeof name !== 'string') return null;
  if (isBuiltin && name.startsWith(SERVER_OF_PYDANTIC_AI)) return toolOfPydanticAi(name, ownMember(item, 'arguments'));
  return TOOLS_OF_VENDORS.has(name) ? name : UNKNOWN_TOOL;
}

/** The tool of an item that only the vendor's API writes. */
function toolOfItem(item: unknown): string | null {
  const type = ownMember(item, 'type');
  if (typeof type !== 'string') return null;
  const serverKey = MCP_CALLS.get(type);
  if (serverKey === undefined) return OPENAI_TOOLS.get(type) ?? null;
  return markedTool(ownMember(item, serverKey), ownMember(item, 'name')) ?? UNKNOWN_TOOL;
}

const SERVER_OF_PYDANTIC_AI = 'mcp_server:';

/**
 * Pydantic AI writes the server as the tool, and the tool into the arguments. An item that only lists the server's tools is not
 * a call.
 */
function toolOfPydanticAi(server: string, written: unknown): string | null {
  const args = typeof written === 'string' ? parsedJson(written) : written;
  if (ownMember(args, 'action') === 'list_tools') return null;
  return markedTool(server.slice(SERVER_OF_PYDANTIC_AI.length), ownMember(args, 'tool_name')) ?? UNKNOWN_TOOL;
}

/** The name of an MCP server's tool. Null if one of the names cannot be a name. */
export function markedTool(server: unknown, tool: unknown): string | null {
  const isName = (name: unknown): name is string => typeof name === 'string' && FUNCTION_NAMES.tool.test(name);
  return isName(server) && isName(tool) ? `${MCP_PREFIX}${server}__${tool}` : null;
}
