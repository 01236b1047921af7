import { readAgentCall } from './agent-calls.ts';
import { asText } from './as-text.ts';
import { attributeReader, type Place } from './attribute-facts.ts';
import { addCacheInTotalOfBedrock, addUncountedCache } from './cached-tokens.ts';
import type { Dialect, FactSources, ReadSource } from './dialect.ts';
import type { Facts } from './facts.ts';
import { splitMcpTool } from './mcp-name.ts';
import { withoutEncodedId } from '../encoded-text.ts';
import { addUncountedReasoning, reasoningCountsIn } from './reasoning-tokens.ts';
import { isHost } from './server-address.ts';
import { ID_OF_ANTHROPIC } from './server-tools.ts';
import { modelInName, readMcpName, readSpanName, setIfNull, targetIn } from './span-names.ts';
import { splitProviderOfAiSdk, splitVendorWithColon } from './vendor-prefix.ts';
import { addDeclaredTokens } from './uncounted-tokens.ts';
import { boundedId, boundedName } from './visible-name.ts';

/** Reads the facts of one dialect. Null for a span or log record that says nothing about models, tools or agents. */
export type FactReader = (source: ReadSource) => Read | null;

type Read = {
  facts: Facts;
  /** The span encloses other spans, and repeats the model that is called inside. */
  isWrapper: boolean;
};

const FUNCTION_NAMESPACE = /^(?:default_api|functions)[.:](?=.)/;

/** The tools of Google ADK and Strands that hand over to another agent, which has its own span. */
const HANDOFF_TOOLS = new Set(['transfer_to_agent', 'handoff_to_agent']);

/** LlamaIndex reserves a name for its hand-over tool. Tools of other frameworks may have the same name. */
const OF_LLAMA_INDEX = /llama[-_]?index/;

/** @param event for log records: the operation of this kind of event, and attributes that take precedence */
export function factReader(dialect: Dialect, event?: { operation: string; sources: FactSources }): FactReader {
  const readAttributes = attributeReader(dialect, event?.sources);
  const { spanNames = [], refine, names } = dialect;
  const defaults = Object.entries(dialect.defaults ?? {}) as [keyof Facts, string][];
  const isAgentTool = matcherOf(dialect.agentTools);

  return (source) => {
    const facts = noFacts();
    const place: Place = { serverAddress: null, serverPort: null, errorType: null };
    const isWrapper = readAttributes(source.attributes, facts, place);
    if (event) facts.operation = event.operation;
    else readSpanName(spanNames, source.name, facts);
    facts.model ??= facts.responseModel ?? modelInName(source, facts);
    if (dialect.mcpTools) splitMcpTool(dialect.mcpTools, facts);
    refine?.(source, facts);
    addDeclaredTokens(dialect, source, facts);
    splitProviderOfAiSdk(facts);
    splitVendorWithColon(facts);
    if (names) refuseTexts(names, facts);
    readAgentCall(source.attributes, facts);
    if (isHandoff(facts, source.scope.name)) Object.assign(facts, { tool: null, operation: 'handoff' });
    if (facts.operation === 'invoke_workflow') facts.workflow ??= targetIn(source.name, facts.operation);
    if (isUnnamedRun(facts.agent)) facts.agent = null;
    if (isUnnamedRun(facts.workflow)) facts.workflow = null;
    // An address or an error alone does not count, because any span may have one.
    if (isEmpty(facts)) return null;
    facts.serverAddress ??= place.serverAddress;
    facts.serverPort ??= place.serverPort;
    facts.errorType ??= place.errorType ?? exceptionOfOperation(source.events);
    // Adds reported tokens first. What is then left of the total may be tokens that are not reported.
    addUncountedCache(source.attributes, facts);
    addUncountedReasoning(facts, reasoningCountsIn(source.attributes, facts));
    addCacheInTotalOfBedrock(source.attributes, facts);
    readMcpName(source.name, facts);
    moveServerName(facts);
    setToolRunsAt(facts);
    for (const [fact, value] of defaults) setIfNull(facts, fact, value);
    // Some models write the namespace of their functions in front of a tool's name.
    if (facts.tool !== null) facts.tool = facts.tool.replace(FUNCTION_NAMESPACE, '');
    boundNames(facts);
    boundTokens(facts);
    return { facts, isWrapper };
  };

  function setToolRunsAt(facts: Facts): void {
    if (facts.tool === null || facts.toolServer !== null) return;
    if (facts.callId?.startsWith(ID_OF_ANTHROPIC)) {
      facts.toolRunsAt = 'vendor';
      facts.vendor ??= 'anthropic';
    }
    if (facts.toolRunsAt === null && isAgentTool(facts.tool)) facts.toolRunsAt = 'agent';
  }
}

/** The names that LangChain gives to a graph or a chain without a name, and the OpenAI Agents SDK to a run. */
const UNNAMED = /^(?:Agent workflow|LangGraph|Runnable[A-Z]\w*)$/;

function isUnnamedRun(name: string | null): boolean {
  return name !== null && UNNAMED.test(name);
}

/** A tool of an MCP server with such a name, such as a call centre's, is a tool. */
function isHandoff({ tool, toolServer, mcpMethod }: Facts, scope: string): boolean {
  if (tool === null || toolServer !== null || mcpMethod !== null) return false;
  return HANDOFF_TOOLS.has(tool) || (tool === 'handoff' && OF_LLAMA_INDEX.test(scope));
}

/** The conventions' event for an exception of a call. Some senders leave the status of the span unset. */
const EXCEPTION_OF_OPERATION = 'gen_ai.client.operation.exception';

function exceptionOfOperation(events: ReadSource['events'] = []): string | null {
  const exception = events.find(({ name }) => name === EXCEPTION_OF_OPERATION);
  return exception === undefined ? null : asText(exception.attributes['exception.type'] ?? '') || 'exception';
}

function noFacts(): Facts {
  return {
    operation: null,
    vendor: null,
    model: null,
    responseModel: null,
    agent: null,
    agentId: null,
    tool: null,
    toolServer: null,
    toolRunsAt: null,
    callId: null,
    prompt: null,
    workflow: null,
    mcpResource: null,
    mcpMethod: null,
    conversationId: null,
    inputTokens: null,
    outputTokens: null,
    cacheReadTokens: null,
    cacheWriteTokens: null,
    reasoningTokens: null,
    serverAddress: null,
    serverPort: null,
    errorType: null,
  };
}

/**
 * An address that is no host, such as `everything`, is the name of the tool's server, unless it is a command that starts
 * servers.
 */
function moveServerName(facts: Facts): void {
  const { serverAddress, serverPort } = facts;
  const isToolOrMcp = facts.mcpMethod !== null || facts.operation === 'execute_tool';
  if (serverAddress === null || !isToolOrMcp || serverPort !== null || isHost(serverAddress)) return;
  if (!LAUNCHERS.has(serverAddress)) facts.toolServer ??= serverAddress;
  facts.serverAddress = null;
}

/** Docker Agent writes the command of an MCP server over stdio as its address. */
const LAUNCHERS = new Set(['bun', 'bunx', 'deno', 'docker', 'node', 'npx', 'pnpm', 'python', 'python3', 'uv', 'uvx']);

function refuseTexts(names: NonNullable<Dialect['names']>, facts: Facts): void {
  for (const fact of ['tool', 'toolServer'] as const) {
    const name = facts[fact];
    if (name !== null && !names[fact].test(name)) facts[fact] = null;
  }
}

function isEmpty(facts: Facts): boolean {
  for (const fact in facts) {
    if (facts[fact as keyof Facts] !== null) return false;
  }
  return true;
}

/** Facts by which calls are recognised again. */
const IDS: ReadonlySet<string> = new Set(['callId', 'conversationId', 'agentId'] satisfies (keyof Facts)[]);

function boundNames(facts: Facts): void {
  for (const fact in facts) {
    const value = facts[fact as keyof Facts];
    if (typeof value !== 'string') continue;
    const bounded = IDS.has(fact) ? boundedId(withoutEncodedId(value)) : boundedName(value);
    if (bounded !== value) Object.assign(facts, { [fact]: bounded });
  }
}

/** Bounds the numbers of tokens. Cached tokens are a part of the input, and reasoning tokens a part of the output. */
function boundTokens(facts: Facts): void {
  const input = (facts.inputTokens = boundedCount(facts.inputTokens));
  const output = (facts.outputTokens = boundedCount(facts.outputTokens));
  facts.cacheReadTokens = partOf(input, facts.cacheReadTokens);
  facts.cacheWriteTokens = partOf(input === null ? null : input - (facts.cacheReadTokens ?? 0), facts.cacheWriteTokens);
  facts.reasoningTokens = partOf(output, facts.reasoningTokens);
}

function partOf(whole: number | null, part: number | null): number | null {
  return whole === null || part === null ? null : Math.min(whole, part);
}

/** Limits a number of tokens that a dialect computed from what a sender wrote. Null if it is negative. */
function boundedCount(count: number | null): number | null {
  return count !== null && count >= 0 ? Math.min(count, Number.MAX_SAFE_INTEGER) : null;
}

/** Returns a function that tests whether a name is in a list, in which `*` matches any characters. */
function matcherOf(names: readonly string[] = []): (name: string) => boolean {
  if (names.length === 0) return () => false;
  const patterns = names.map((name) => name.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '.*'));
  const pattern = new RegExp(`^(?:${patterns.join('|')})$`);
  return (name) => pattern.test(name);
}
