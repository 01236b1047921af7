import { createHash } from 'node:crypto';

/**
 * The name of a row of `trace_blocks` that was merged out of the rows of several blocks of one sender:
 *
 *     m                 every name begins with it: it sorts after every block id
 *     32 hex digits     digest of the sender
 *     16 hex digits     the span id that the row's range of spans begins with
 *     8 hex digits      how many spans are in it
 *
 * So a listing of names tells how many spans each sender has, and which row has a span, without reading an index.
 */
export type MergedPart = { owner: string; from: string; count: number };

/** What the name of a merged part begins with. */
export const MERGED = 'm';

/** The part that begins with this id holds the merged calls of its sender. */
export const FIRST_ID = '0'.repeat(16);

const OWNER_END = MERGED.length + 32;
const FROM_END = OWNER_END + 16;

/** Whether a part was merged out of those of several blocks. */
export function isMerged({ part }: { part: string }): boolean {
  return part >= MERGED;
}

/** The sender in the names of its merged parts. */
export function ownerOf(sender: string): string {
  return createHash('sha256').update(sender).digest('hex').slice(0, 32);
}

export function mergedName({ owner, from, count }: MergedPart): string {
  return `${MERGED}${owner}${from}${count.toString(16).padStart(8, '0')}`;
}

export function readMergedName(part: string): MergedPart {
  return {
    owner: part.slice(MERGED.length, OWNER_END),
    from: part.slice(OWNER_END, FROM_END),
    count: Number.parseInt(part.slice(FROM_END), 16),
  };
}
