import { hash } from 'node:crypto';
import { rewrittenName } from '@quartermaster/naming/name-family.ts';
import type { Use } from '../reading/facts.ts';
import { splitMarked } from '../reading/mcp-name.ts';
import { splitToolName } from '../matching/tool-names.ts';
import { comparableName } from './same-name.ts';

/*
 * Keys that identify a call in spans and in log records. A key is a digest of fixed length. It includes the sender, so no
 * sender can make the calls of another one look counted.
 */

/** A call as one signal (spans or log records) reports it. */
export type SignalledCall = {
  sender: string;
  kind: Use['kind'];
  names: NamesOfCall;
  traceId: string | null;
  conversationId: string | null;
};

/** The names under which two signals may report one call. */
export type NamesOfCall = {
  /** Keys are stored for these. There are at most {@link MAX_STORED_NAMES}, because the sender chooses the names. */
  stored: readonly string[];
  /** The stored keys that may be of the call have one of these. They include those that are stored. */
  asked: readonly string[];
};

/** The whole name of a tool, and its tool if the server's name has one or two words. */
const MAX_STORED_NAMES = 3;

/** The maximum number of places at which `mcp_<server>_<tool>` is split, so the server's name has at most as many words. */
const MAX_SPLITS = 4;

/**
 * A tool may be named with or without its server, a model as it was requested or as it answered. `mcp_weather_get_city` may be the
 * tool `get_city` or `city`.
 */
export function namesOfCall(
  { kind, name }: Use,
  { responseModel, toolServer }: { responseModel: string | null; toolServer: string | null },
): NamesOfCall {
  const names = kind === 'tool' ? toolsIn(withoutServer(name, toolServer)) : [name];
  if (kind === 'model' && responseModel !== null) names.push(responseModel);
  const comparable = [...new Set(names.map((one) => comparableName(kind, one)))];
  const stored = comparable.slice(0, MAX_STORED_NAMES);
  const [tool = ''] = comparable;
  // Finds the whole name that another signal wrote, however many words the server's name has.
  const whole = kind === 'tool' && toolServer !== null && !tool.startsWith('mcp_') ? [`mcp_${toolServer}_${tool}`] : [];
  return { stored, asked: [...comparable, ...whole.map((one) => comparableName(kind, one))] };
}

/** The name, and the names of the tool that `mcp_<server>_<tool>` may mean: both may contain underscores. */
function toolsIn(name: string): string[] {
  if (!name.startsWith('mcp_')) return [name];
  const splits = splitToolName(name).slice(0, MAX_SPLITS);
  return [name, ...splits.map(({ tool }) => tool)];
}

function withoutServer(name: string, server: string | null): string {
  const marked = splitMarked(name);
  if (marked) return marked.tool;
  const [tool, prefix] = [rewrittenName(name), server === null ? '' : `${rewrittenName(server)}_`];
  return prefix !== '' && tool.startsWith(prefix) && tool.length > prefix.length ? tool.slice(prefix.length) : name;
}

/** What a signal says about where a call was made. */
const CONTEXTS = ['none', 'conversation', 'trace', 'both'] as const;

/** Contexts that have nothing in common to compare. Calls in them may be the same call. */
const INCOMPARABLE: Record<(typeof CONTEXTS)[number], readonly (typeof CONTEXTS)[number][]> = {
  none: CONTEXTS,
  conversation: ['none', 'trace'],
  trace: ['none', 'conversation'],
  both: ['none'],
};

/**
 * Keys of a call by its call id. Some agents number calls from 0 in every conversation, so the id identifies a call only
 * together with its kind and name, within one conversation or one trace. If the contexts of two signals cannot be compared,
 * kind, name and id have to be enough.
 *
 * @returns `remembered`: the keys to store for the call. `recognised`: the keys that may have been stored for it before
 */
export function keysOfCallId(
  { sender, kind, names, traceId, conversationId }: SignalledCall,
  callId: string,
): { remembered: string[]; recognised: string[] } {
  const keysIn = (of: readonly string[], ...context: string[]) =>
    of.map((name) => digest(['id', sender, kind, name, callId, ...context]));
  const ownKeys = (of: readonly string[]) => [
    ...(conversationId === null ? [] : keysIn(of, 'conversation', conversationId)),
    ...(traceId === null ? [] : keysIn(of, 'trace', traceId)),
  ];
  let context: (typeof CONTEXTS)[number] = traceId === null ? 'none' : 'trace';
  if (conversationId !== null) context = traceId === null ? 'conversation' : 'both';
  const { stored, asked } = names;
  return {
    remembered: [...ownKeys(stored), ...keysIn(stored, 'any', context)],
    recognised: [...ownKeys(asked), ...INCOMPARABLE[context].flatMap((other) => keysIn(asked, 'any', other))],
  };
}

/** Keys of a call by the span that its log record was written in, to store and to ask for as in {@link keysOfCallId}. */
export function keysOfSpan(
  { sender, kind, names }: SignalledCall,
  { traceId, spanId }: { traceId: string; spanId: string },
): { remembered: string[]; recognised: string[] } {
  const keysOf = (of: readonly string[]) => of.map((name) => digest(['span', sender, kind, name, traceId, spanId]));
  return { remembered: keysOf(names.stored), recognised: keysOf(names.asked) };
}

/** Calls of one kind and name whose spans have one parent. Their log records were written in that parent span. */
export type CallsBelow = { traceId: string; parentSpanId: string; kind: Use['kind']; name: string };

/** Key of a call by the position of its log record among the records of such calls. */
export function keyOfCallBelow(sender: string, below: CallsBelow, position: number): string {
  const { traceId, parentSpanId, kind, name } = below;
  return digest(['below', sender, kind, traceId, parentSpanId, name, String(position)]);
}

/** Under this key it is stored that a call failed, or was rejected. `key` identifies the call. */
export function keyOfFailure(key: string): string {
  return digest(['failure', key]);
}

/** Key of a call by its log record alone. It recognises a record that is sent again. */
export function keyOfRecord(sender: string, recordDigest: string): string {
  return digest(['record', sender, recordDigest]);
}

function digest(parts: readonly string[]): string {
  return hash('sha256', JSON.stringify(parts), 'base64url').slice(0, 22);
}
