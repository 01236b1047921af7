import { createHash } from 'node:crypto';
import { rewrittenName } from '@quartermaster/db/name-family.ts';
import type { Use } from '../dialects/facts.ts';
import { comparableName } from './same-name.ts';

/*
 * What identifies a call in several signals. Keys are digests of one length. The sender is part of each: no sender can make
 * calls of another one look counted.
 */

/** A call as one signal tells of it. */
export type SignalledCall = {
  sender: string;
  kind: Use['kind'];
  /** See {@link namesOfCall}. */
  names: readonly string[];
  traceId: string | null;
  conversationId: string | null;
};

/**
 * The names that two signals may give one call. A tool is named with and without its server. Of a model, the one that was
 * asked for and the one that answered.
 */
export function namesOfCall(
  { kind, name }: Use,
  { responseModel, toolServer }: { responseModel: string | null; toolServer: string | null },
): string[] {
  const comparable = comparableName(kind, kind === 'tool' ? withoutServer(name, toolServer) : name);
  if (kind !== 'model' || responseModel === null) return [comparable];
  return [...new Set([comparable, comparableName(kind, responseModel)])];
}

function withoutServer(name: string, server: string | null): string {
  const end = name.startsWith('mcp__') ? name.indexOf('__', 'mcp__x'.length) : -1;
  if (end !== -1 && end + 2 < name.length) return name.slice(end + 2);
  const [tool, prefix] = [rewrittenName(name), server === null ? '' : `${rewrittenName(server)}_`];
  return prefix !== '' && tool.startsWith(prefix) && tool.length > prefix.length ? tool.slice(prefix.length) : name;
}

/** What a signal says of where a call was made. */
const CONTEXTS = ['none', 'conversation', 'trace', 'both'] as const;

/** The contexts that cannot be compared with each other: calls in them may be one. */
const INCOMPARABLE: Record<(typeof CONTEXTS)[number], readonly (typeof CONTEXTS)[number][]> = {
  none: CONTEXTS,
  conversation: ['none', 'trace'],
  trace: ['none', 'conversation'],
  both: ['none'],
};

/**
 * By the id that spans and log records give the call. Some agents number calls from 0 in every conversation, so the id
 * identifies a call only together with its kind and name, in one conversation or one trace. Where one signal names neither,
 * or one only the conversation and the other only the trace, kind, name and id have to do.
 *
 * @returns the keys that the call is remembered by, and those by which it is recognised
 */
export function keysOfCallId(
  { sender, kind, names, traceId, conversationId }: SignalledCall,
  callId: string,
): { remembered: string[]; recognised: string[] } {
  const keysIn = (...context: string[]) => names.map((name) => digest(['id', sender, kind, name, callId, ...context]));
  const own = [
    ...(conversationId === null ? [] : keysIn('conversation', conversationId)),
    ...(traceId === null ? [] : keysIn('trace', traceId)),
  ];
  let context: (typeof CONTEXTS)[number] = traceId === null ? 'none' : 'trace';
  if (conversationId !== null) context = traceId === null ? 'conversation' : 'both';
  return {
    remembered: [...own, ...keysIn('any', context)],
    recognised: [...own, ...INCOMPARABLE[context].flatMap((other) => keysIn('any', other))],
  };
}

/** By the span that a log record was written in. */
export function keysOfSpan(
  { sender, kind, names }: SignalledCall,
  { traceId, spanId }: { traceId: string; spanId: string },
): string[] {
  return names.map((name) => digest(['span', sender, kind, name, traceId, spanId]));
}

/** Calls of one kind and name whose spans have one parent. Their log records were written in that parent. */
export type CallsBelow = { traceId: string; parentSpanId: string; kind: Use['kind']; name: string };

/** By the position of a log record among those that tell of such calls. */
export function keyOfCallBelow(sender: string, below: CallsBelow, position: number): string {
  const { traceId, parentSpanId, kind, name } = below;
  return digest(['below', sender, kind, traceId, parentSpanId, name, String(position)]);
}

/** By the log record itself. */
export function keyOfRecord(sender: string, recordDigest: string): string {
  return digest(['record', sender, recordDigest]);
}

function digest(parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 22);
}
