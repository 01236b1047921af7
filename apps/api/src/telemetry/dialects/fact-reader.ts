import { canonicalVendor } from '@quartermaster/contracts/vendors.ts';
import type { AttributeValue } from '../otlp/span.ts';
import type { Dialect, FactSources, ReadSource } from './dialect.ts';
import type { Facts } from './facts.ts';
import { genai } from './genai.ts';
import { readInside } from './inside.ts';
import { hostIn, isHost } from './server-address.ts';
import { boundedName } from './visible-name.ts';

/** Reads the facts of one dialect. Null for a span or log record that says nothing about models, tools or agents. */
export type FactReader = (source: ReadSource, event?: { operation: string; sources: Sources }) => Read | null;

type Read = {
  facts: Facts;
  /** The span consists of other spans and repeats the model that is called in them. */
  isWrapper: boolean;
};

/** Where each fact stands. */
export type Sources = Partial<Record<keyof FactSources, readonly Source[]>>;
type Source = { attribute: string; path: readonly string[] | null };

const MAX_PORT = 65_535;

/** The attribute of each source, without the path inside it. */
export function attributesOf(sources: FactSources): string[] {
  return Object.values(compileSources(sources)).flatMap((list) => list.map(({ attribute }) => attribute));
}

export function compileSources(sources: FactSources): Sources {
  const compiled: Sources = {};
  for (const [fact, names] of Object.entries(sources) as [keyof FactSources, readonly string[]][]) {
    compiled[fact] = names.map((name) => {
      const [attribute = '', path] = name.split('#');
      return { attribute, path: path === undefined ? null : path.split('.') };
    });
  }
  return compiled;
}

export function factReader(dialect: Dialect): FactReader {
  const usual = compileSources(sourcesOf(dialect));
  const { operations = {}, vendors = {}, spanNames = [], defaults = {}, refine } = dialect;
  const operationOf = new Map(Object.entries(operations));
  const vendorOf = new Map(Object.entries(vendors));
  const wrappers = new Set(dialect.wrappers);
  const isAgentTool = matcherOf(dialect.agentTools);
  const isVendorTool = matcherOf(dialect.vendorTools);

  function canonicalOperation(text: string): string | null {
    const known = operationOf.get(text.toLowerCase());
    return known === undefined ? text : known;
  }

  function vendorNamed(text: string): string | null {
    const known = vendorOf.get(text.toLowerCase());
    return known === undefined ? canonicalVendor(text) : known;
  }

  return (source, event) => {
    const { attributes } = source;
    const text = (fact: keyof FactSources, map?: (text: string) => string | null): string | null => {
      const own = event?.sources[fact];
      return (own && firstText(attributes, own, map)) ?? firstText(attributes, usual[fact], map);
    };
    const count = (fact: 'inputTokens' | 'outputTokens' | 'serverPort'): number | null => {
      const own = event?.sources[fact];
      return (own && firstCount(attributes, own, true)) ?? firstCount(attributes, usual[fact], event !== undefined);
    };
    const responseModel = text('responseModel');
    const facts: Facts = {
      operation: event?.operation ?? text('operation', canonicalOperation),
      vendor: text('vendor', vendorNamed),
      model: text('model') ?? responseModel,
      responseModel,
      agent: text('agent'),
      agentId: text('agentId'),
      tool: text('tool'),
      toolServer: text('toolServer'),
      toolRunsAt: null,
      callId: text('callId'),
      prompt: text('prompt'),
      workflow: text('workflow'),
      mcpResource: text('mcpResource'),
      mcpMethod: text('mcpMethod'),
      conversationId: text('conversationId'),
      inputTokens: count('inputTokens'),
      outputTokens: count('outputTokens'),
      serverAddress: null,
      serverPort: null,
      errorType: null,
    };
    if (!event) readSpanName(source.name, facts);
    refine?.(source, facts);
    // Any span may have an address or an error, so these alone do not make it one of this kind.
    if (saysNothing(facts)) return null;
    const port = count('serverPort');
    facts.serverAddress ??= text('serverAddress', hostIn);
    facts.serverPort ??= port !== null && port > 0 && port <= MAX_PORT ? port : null;
    facts.errorType ??= text('errorType');
    if (facts.mcpMethod === 'tools/call') facts.operation ??= 'execute_tool';
    moveServerName(facts);
    setToolRunsAt(facts);
    for (const [fact, value] of Object.entries(defaults)) {
      if (facts[fact as keyof Facts] === null) Object.assign(facts, { [fact]: value });
    }
    boundNames(facts);
    return { facts, isWrapper: wrappers.size > 0 && isWrapper(attributes) };
  };

  function readSpanName(name: string, facts: Facts): void {
    for (const { pattern, operation } of spanNames) {
      const found = pattern.exec(name);
      if (!found) continue;
      facts.operation ??= operation ?? null;
      for (const [fact, value] of Object.entries(found.groups ?? {})) {
        if (value && facts[fact as keyof Facts] === null) Object.assign(facts, { [fact]: value });
      }
      return;
    }
  }

  function isWrapper(attributes: ReadSource['attributes']): boolean {
    return (usual.operation ?? []).some(({ attribute, path }) => {
      const value = valueOf(attributes, attribute, path);
      return typeof value === 'string' && wrappers.has(value.toLowerCase());
    });
  }

  function setToolRunsAt(facts: Facts): void {
    if (facts.tool === null || facts.toolServer !== null || facts.toolRunsAt !== null) return;
    if (isAgentTool(facts.tool)) facts.toolRunsAt = 'agent';
    else if (isVendorTool(facts.tool)) facts.toolRunsAt = 'vendor';
  }
}

/** The dialect's own names, then those of OpenTelemetry GenAI. */
export function sourcesOf({ attributes = {}, ignores = [] }: Dialect): FactSources {
  const facts = Object.keys({ ...genai.attributes, ...attributes }) as (keyof FactSources)[];
  return Object.fromEntries(
    facts.map((fact) => {
      const base: FactSources = genai.attributes;
      const names = new Set([...(attributes[fact] ?? []), ...(base[fact] ?? [])]);
      return [fact, [...names].filter((name) => !ignores.includes(name))];
    }),
  );
}

/** An address that can only be a name (`everything`) names the server of a tool. */
function moveServerName(facts: Facts): void {
  const { serverAddress, serverPort } = facts;
  const isToolOrMcp = facts.mcpMethod !== null || facts.operation === 'execute_tool';
  if (serverAddress === null || !isToolOrMcp || serverPort !== null || isHost(serverAddress)) return;
  facts.toolServer ??= serverAddress;
  facts.serverAddress = null;
}

function saysNothing(facts: Facts): boolean {
  for (const fact in facts) {
    if (facts[fact as keyof Facts] !== null) return false;
  }
  return true;
}

function boundNames(facts: Facts): void {
  for (const fact in facts) {
    const value = facts[fact as keyof Facts];
    if (typeof value === 'string') Object.assign(facts, { [fact]: boundedName(value) });
  }
}

/** The first source with a string that is not blank and that `map` does not turn into null. */
function firstText(
  attributes: ReadSource['attributes'],
  sources: readonly Source[] = [],
  map?: (text: string) => string | null,
): string | null {
  for (const { attribute, path } of sources) {
    const value = valueOf(attributes, attribute, path);
    if (typeof value !== 'string' || value.trim() === '') continue;
    const mapped = map ? map(value) : value;
    if (mapped !== null) return mapped;
  }
  return null;
}

/** The first source with a whole number that is not negative. Log events of some senders have numbers as texts. */
function firstCount(
  attributes: ReadSource['attributes'],
  sources: readonly Source[] = [],
  takesText: boolean,
): number | null {
  for (const { attribute, path } of sources) {
    const value = valueOf(attributes, attribute, path);
    const number = takesText && typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value;
    if (typeof number === 'number' && Number.isSafeInteger(number) && number >= 0) return number;
  }
  return null;
}

function valueOf(
  attributes: ReadSource['attributes'],
  attribute: string,
  path: readonly string[] | null,
): AttributeValue | undefined {
  const value = attributes[attribute];
  return value === undefined || path === null ? value : readInside(value, path);
}

/** Whether a name is one of some; `*` in these stands for any characters. */
function matcherOf(names: readonly string[] = []): (name: string) => boolean {
  if (names.length === 0) return () => false;
  const patterns = names.map((name) => name.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '.*'));
  const pattern = new RegExp(`^(?:${patterns.join('|')})$`);
  return (name) => pattern.test(name);
}
