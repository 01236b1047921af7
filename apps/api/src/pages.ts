import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto';
import type { Page, PageKey, PageRequest } from '@quartermaster/db/queries.ts';
import type { TenantScope } from '@quartermaster/db/tenancy.ts';
import { z } from 'zod';
import { ValidationFailure } from './errors.ts';
import type { CallerContext } from './trpc.ts';

/** Turns the place where a page ended into opaque text and back; the text works for one query and scope alone. */
export type CursorCodec = {
  encode(key: PageKey, binding: string): string;
  /** Null for what this codec did not make for this binding. */
  decode(cursor: string, binding: string): PageKey | null;
};

const KeySchema = z.tuple([z.string(), z.string()]);
const TAG_BYTES = 16;

/** @param key the secret that proves a cursor to be ours, 32 bytes */
export function cursorCodec(key: Buffer): CursorCodec {
  // Node makes this of a plain key at each use, which takes longer than the rest.
  const secret = createSecretKey(key);
  const tagOf = (payload: Buffer, binding: string) =>
    createHmac('sha256', secret).update(payload).update('\0').update(binding).digest().subarray(0, TAG_BYTES);
  return {
    encode(pageKey, binding) {
      const payload = Buffer.from(JSON.stringify(pageKey));
      return Buffer.concat([tagOf(payload, binding), payload]).toString('base64url');
    },
    decode(cursor, binding) {
      const bytes = Buffer.from(cursor, 'base64url');
      // Decoding forgives strange characters: only the text that we would write is ours.
      if (bytes.length <= TAG_BYTES || bytes.toString('base64url') !== cursor) return null;
      const payload = bytes.subarray(TAG_BYTES);
      if (!timingSafeEqual(bytes.subarray(0, TAG_BYTES), tagOf(payload, binding))) return null;
      return KeySchema.parse(JSON.parse(payload.toString('utf8')));
    },
  };
}

type Paging = { limit: number; cursor?: string | null | undefined };
type ListInput = { path?: unknown } & ({ query: Paging } | { body: Paging });

/** Where to go on, and what the cursor of the next call is. */
export type Paged = { after: PageKey | null; cursorAt: (next: PageKey) => string };

/**
 * Reads the cursor of a call. It is bound to the operation, the path, the filters and the scope: handed in with others it
 * is refused, 422 at the cursor's own place.
 */
export function paged(ctx: CallerContext, input: ListInput, scope: TenantScope): Paged {
  const part = 'query' in input ? 'query' : 'body';
  const { limit: _limit, cursor, ...filters } = 'query' in input ? input.query : input.body;
  const { cursors } = ctx.services;
  const query = [ctx.operation.operationId, input.path ?? null, sorted(filters), scope];
  // The reach too: filters can narrow the scopes of two callers to the same one.
  const binding = JSON.stringify([...query, ctx.reach]);
  const after = cursor == null ? null : cursors.decode(cursor, binding);
  if (cursor != null && after === null) throw cursorFailure(part, cursor);
  return { after, cursorAt: (next) => cursors.encode(next, binding) };
}

/** Answers one page of a list. */
export async function answerPage<Item>(
  ctx: CallerContext,
  input: ListInput,
  scope: TenantScope,
  list: (page: PageRequest) => Promise<Page<Item>>,
): Promise<{ items: Item[]; nextCursor: string | null }> {
  const { limit } = 'query' in input ? input.query : input.body;
  const { after, cursorAt } = paged(ctx, input, scope);
  const { items, next } = await list({ limit, after });
  return { items, nextCursor: next === null ? null : cursorAt(next) };
}

function cursorFailure(part: 'query' | 'body', cursor: string): ValidationFailure {
  const rule = 'the cursor is not one of this list, with these filters, for this caller';
  const input = cursor.slice(0, 128);
  return new ValidationFailure([
    { loc: [part, 'cursor'], msg: `Value error, ${rule}`, type: 'value_error', input, ctx: { error: rule } },
  ]);
}

/** The filters that were set, by name: their order in the request is no part of the query. */
function sorted(filters: Record<string, unknown>): [string, unknown][] {
  return Object.entries(filters)
    .filter(([, value]) => value !== undefined && value !== null && value !== '')
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
}
