import { hash } from 'node:crypto';

/**
 * The name of a merged row of `trace_blocks`. It was merged from the index rows of several blocks of one sender:
 *
 *     m                 prefix; it sorts after every block id
 *     32 hex digits     digest of the sender
 *     16 hex digits     first span id of the row's range
 *     8 hex digits      number of spans in it
 *
 * The names alone say how many spans each sender has, and which row has a span. No index has to be read for that.
 */
export type MergedPart = { senderDigest: string; from: string; count: number };

/** The first character of the name of a merged part. */
export const MERGED_PREFIX = 'm';

/** The lowest span id. The part that begins with it holds the merged calls of its sender. */
export const LOWEST_SPAN_ID = '0'.repeat(16);

const DIGEST_END = MERGED_PREFIX.length + 32;
const FROM_END = DIGEST_END + 16;

/** Whether a part was merged from several blocks. */
export function isMerged({ part }: { part: string }): boolean {
  return part >= MERGED_PREFIX;
}

/** The digest of a sender, for the names of its merged parts. */
export function senderDigestOf(sender: string): string {
  return hash('sha256', sender).slice(0, 32);
}

export function mergedName({ senderDigest, from, count }: MergedPart): string {
  return `${MERGED_PREFIX}${senderDigest}${from}${count.toString(16).padStart(8, '0')}`;
}

export function readMergedName(part: string): MergedPart {
  return {
    senderDigest: part.slice(MERGED_PREFIX.length, DIGEST_END),
    from: part.slice(DIGEST_END, FROM_END),
    count: Number.parseInt(part.slice(FROM_END), 16),
  };
}
