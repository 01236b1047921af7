import { readAgentCall } from './agent-calls.ts';
import { asText } from './as-text.ts';
import { addCacheInTotalOfBedrock, addUncountedCache } from './cached-tokens.ts';
import type { Dialect, FactSources, ReadSource } from './dialect.ts';
import { hasFormOf, isModelName, isOfEnding, slotFinder } from './endings.ts';
import { countIn, type Slot, textIn } from './fact-slots.ts';
import type { Facts } from './facts.ts';
import { splitMcpTool } from './mcp-name.ts';
import { withoutEncodedId } from '../encoded-text.ts';
import { withPublicUrls } from '../urls.ts';
import { canonicalOperation, isModelCall, operationKey, withoutQuotes } from './operations.ts';
import { addUncountedReasoning, reasoningCountsIn } from './reasoning-tokens.ts';
import { hostIn, isAddress, isHost } from './server-address.ts';
import { ID_OF_ANTHROPIC } from './server-tools.ts';
import { vendorIn } from './vendors.ts';
import { subjectIn } from './span-subject.ts';
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

/** LlamaIndex reserves a name for such a tool, which a tool of another framework may have as well. */
const OF_LLAMA_INDEX = /llama[-_]?index/;

const MAX_PORT = 65_535;

/** @param event for log records: the operation of this kind of event, and attributes that take precedence */
export function factReader(dialect: Dialect, event?: { operation: string; sources: FactSources }): FactReader {
  const slotsOf = slotFinder(dialect, event?.sources);
  const { spanNames = [], refine, names } = dialect;
  const operations = new Map(Object.entries(dialect.operations ?? {}));
  const vendors = new Map(Object.entries(dialect.vendors ?? {}));
  const defaults = Object.entries(dialect.defaults ?? {}) as [keyof Facts, string][];
  const wrappers = new Set(dialect.wrappers);
  const isAgentTool = matcherOf(dialect.agentTools);
  // Reused for every span, which is safe because reading is synchronous.
  const ranks: Partial<Record<keyof FactSources, number>> = {};

  return (source) => {
    const facts = noFacts();
    const place: Place = { serverAddress: null, serverPort: null, errorType: null };
    const isWrapper = readAttributes(source.attributes, facts, place);
    if (event) facts.operation = event.operation;
    else if (spanNames.length > 0) readSpanName(source.name, facts);
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
    // Reported tokens come first. The rest of a total may then be tokens that are not reported.
    addUncountedCache(source.attributes, facts);
    addUncountedReasoning(facts, reasoningCountsIn(source.attributes));
    addCacheInTotalOfBedrock(source.attributes, facts);
    readMcpName(source.name, facts);
    moveServerName(facts);
    setToolRunsAt(facts);
    for (const [fact, value] of defaults) setIfNull(facts, fact, value);
    // Some models write the namespace of their functions in front of a tool's name.
    if (facts.tool !== null) facts.tool = facts.tool.replace(FUNCTION_NAMESPACE, '');
    boundNames(facts);
    facts.inputTokens = boundedCount(facts.inputTokens);
    facts.outputTokens = boundedCount(facts.outputTokens);
    return { facts, isWrapper };
  };

  /** @returns whether the operation is that of a wrapper, and no attribute of higher precedence has another one */
  function readAttributes(attributes: ReadSource['attributes'], facts: Facts, place: Place): boolean {
    let wrapperRank = Number.POSITIVE_INFINITY;
    for (const fact in ranks) ranks[fact as keyof FactSources] = Number.POSITIVE_INFINITY;
    for (const name in attributes) {
      for (const slot of slotsOf(name)) {
        const value = attributes[name] ?? null;
        if (slot.fact === 'operation' && wrappers.has(operationKey(textIn(value, slot) ?? ''))) {
          wrapperRank = Math.min(wrapperRank, slot.rank);
        }
        if (slot.rank >= (ranks[slot.fact] ?? Number.POSITIVE_INFINITY)) continue;
        if (setFact(slot, value, facts, place)) ranks[slot.fact] = slot.rank;
      }
    }
    return wrapperRank < Number.POSITIVE_INFINITY && wrapperRank <= (ranks.operation ?? wrapperRank);
  }

  /** @returns whether the value was usable for the fact */
  function setFact(slot: Slot, value: ReadSource['attributes'][string], facts: Facts, place: Place): boolean {
    const { fact } = slot;
    if (fact === 'inputTokens' || fact === 'outputTokens' || fact === 'serverPort') {
      const count = countIn(value, slot);
      if (fact !== 'serverPort') facts[fact] = count ?? facts[fact];
      else if (count !== null && count > 0 && count <= MAX_PORT) place.serverPort = count;
      return count !== null;
    }
    const written = textIn(value, slot);
    const whole = written !== null && isOfEnding(slot) ? withoutQuotes(written) : written;
    if (whole === null || isPlaceholder(fact, whole)) return false;
    if (isOfEnding(slot) && !hasFormOf(fact, whole, operations)) return false;
    // Done before dialects split names, because a part of a URL would not be recognised as one.
    const text = withPublicUrls(whole);
    if (fact === 'serverAddress') place.serverAddress = hostIn(text);
    else if (fact === 'errorType') place.errorType = text;
    else {
      const named = fact === 'operation' ? operationIn(text) : fact === 'vendor' ? vendorOf(text) : text;
      if (named === null) return false;
      // Clients of a gateway may write its address as the vendor.
      if (fact === 'vendor' && named === text && isAddress(text)) {
        place.serverAddress ??= hostIn(text);
        return false;
      }
      facts[fact] = named;
    }
    return true;
  }

  function operationIn(text: string): string | null {
    const known = operations.get(operationKey(text));
    return known === undefined ? canonicalOperation(text) : known;
  }

  function vendorOf(text: string): string | null {
    const known = vendors.get(text.toLowerCase());
    return known === undefined ? vendorIn(text) : known;
  }

  function readSpanName(name: string, facts: Facts): void {
    for (const { pattern, operation } of spanNames) {
      const found = pattern.exec(name);
      if (!found) continue;
      facts.operation ??= operation ?? null;
      for (const [fact, value] of Object.entries(found.groups ?? {})) {
        setIfNull(facts, fact as keyof Facts, subjectIn(value) ?? undefined);
      }
      return;
    }
  }

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

/** The conventions name an MCP call `tools/call <tool>`. Some SDKs write the tool only there. */
function readMcpName(spanName: string, facts: Facts): void {
  const { mcpMethod } = facts;
  if (mcpMethod === null) return;
  const target = targetIn(spanName, mcpMethod);
  if (mcpMethod === 'tools/call') {
    facts.operation ??= 'execute_tool';
    facts.tool ??= target;
  }
  if (mcpMethod === 'prompts/get') facts.prompt ??= target;
}

/**
 * The conventions name a model call `chat <model>`. LangChain4j CDI writes the requested model only there. Spans that are named
 * like a call but call no model, such as `chat action`, name no vendor.
 */
function modelInName({ name, kind }: ReadSource, { vendor, operation }: Facts): string | null {
  if (vendor === null || kind !== 'client' || !isModelCall(operation)) return null;
  const target = targetIn(name, operation ?? '');
  return target !== null && isModelName(target) ? target : null;
}

/** The conventions' event for an exception of a call. Some senders leave the status of the span unset. */
const EXCEPTION_OF_OPERATION = 'gen_ai.client.operation.exception';

function exceptionOfOperation(events: ReadSource['events'] = []): string | null {
  const exception = events.find(({ name }) => name === EXCEPTION_OF_OPERATION);
  return exception === undefined ? null : asText(exception.attributes['exception.type'] ?? '') || 'exception';
}

/** The target in a conventional span name: `<operation> <target>`. The MCP SDK for Python writes `MCP send` in front. */
function targetIn(spanName: string, operation: string): string | null {
  const start = ` ${spanName}`.indexOf(` ${operation} `);
  return start === -1 ? null : subjectIn(spanName.slice(start + operation.length + 1));
}

/** What senders write if they do not know a name. `<synthetic>` is the model of messages that Claude Code writes itself. */
const PLACEHOLDERS = new Set([
  'n/a',
  'none',
  'null',
  'undefined',
  'unknown',
  '<not specified>',
  '<synthetic>',
  '(merged tools)',
]);
const MAX_PLACEHOLDER = 15;

function isPlaceholder(fact: keyof FactSources, text: string): boolean {
  if (text.length > MAX_PLACEHOLDER || !PLACEHOLDERS.has(text.toLowerCase())) return false;
  // An unknown error is an error, and a machine may have any of these names.
  return fact !== 'serverAddress' && !(fact === 'errorType' && text.toLowerCase() === 'unknown');
}

/** The address and the error of a call. */
type Place = Pick<Facts, 'serverAddress' | 'serverPort' | 'errorType'>;

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
    serverAddress: null,
    serverPort: null,
    errorType: null,
  };
}

/** An address that can only be a name (`everything`) names the server of a tool. A command that runs any server names none. */
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

function setIfNull(facts: Facts, fact: keyof Facts, value: string | undefined): void {
  if (value && facts[fact] === null) Object.assign(facts, { [fact]: value });
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

/** Dialects add and subtract the counts that a sender wrote. Null if the result is no count. */
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
