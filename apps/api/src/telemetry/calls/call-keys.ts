import { createHash } from 'node:crypto';
import type { Use } from '../dialects/facts.ts';

/*
 * What identifies a call in several signals. Keys are digests of one length. The sender is part of each: no sender can make
 * calls of another one look counted.
 */

/** By the id that spans and log records give the call. */
export function keyOfCallId(sender: string, kind: Use['kind'], callId: string): string {
  return digest(['id', sender, kind, callId]);
}

/** By the span that a log record was written in. */
export function keyOfSpan(
  sender: string,
  kind: Use['kind'],
  { traceId, spanId }: { traceId: string; spanId: string },
): string {
  return digest(['span', sender, kind, traceId, spanId]);
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
