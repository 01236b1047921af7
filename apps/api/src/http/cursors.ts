import type { Page, PageKey, PageRequest } from '@quartermaster/db/queries.ts';
import type { TenantScope } from '@quartermaster/db/tenancy.ts';
import { principalName } from '../auth/principal.ts';
import { type ValidationFailure, valueError } from '../platform/errors.ts';
import type { CallerContext } from '../auth/context.ts';

type Paging = { limit: number; cursor?: string | null | undefined };
type ListInput = { path?: unknown } & ({ query: Paging } | { body: Paging });

/** Where the page begins, and how to make the cursor of the next one. */
export type Paged = { after: PageKey | null; cursorAt: (next: PageKey) => string };

/**
 * Reads the cursor of a call. A cursor is bound to its operation, path, filters and tenant scope.
 *
 * @throws ValidationFailure 422 at the cursor, if it was made for another operation, path, filter or scope
 */
export function paged(ctx: CallerContext, input: ListInput, scope: TenantScope): Paged {
  const part = 'query' in input ? 'query' : 'body';
  const { limit: _limit, cursor, ...filters } = 'query' in input ? input.query : input.body;
  const { cursors } = ctx.services;
  const query = [ctx.operation.operationId, input.path ?? null, sorted(filters), scope];
  // Bound to the reach as well, because filters can narrow the reach of two callers to the same scope. An operation without
  // a scope lists what belongs to the caller, so its cursors are bound to the caller.
  const caller = ctx.operation.scope === null ? principalName(ctx.principal) : ctx.reach;
  const binding = JSON.stringify([...query, caller]);
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
  const rule = 'cursor should be the nextCursor of the same list, with the same filters and the same caller';
  return valueError([part, 'cursor'], rule, cursor.slice(0, 128));
}

/** The filters that are set, sorted by name, because their order in the request does not matter. */
function sorted(filters: Record<string, unknown>): [string, unknown][] {
  return Object.entries(filters)
    .filter(([, value]) => value !== undefined && value !== null && value !== '')
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
}
