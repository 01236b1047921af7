import { expect } from 'vitest';
import type { Answered, Body, Credential, TestServer } from '../support/server.ts';
import { expectInvalid } from './harness.ts';

/** A request for a list, or for a search if the method is POST, as one caller. */
export type Listing = { method?: 'GET' | 'POST'; path: string; filter?: Record<string, unknown>; as: Credential };

type Paging = { limit?: number; cursor?: string };

function askFor(server: TestServer, listing: Listing, paging: Paging = {}): Promise<Answered> {
  const { method = 'GET', path, filter = {}, as } = listing;
  const asked = { ...filter, ...paging };
  if (method === 'POST') return server.call('POST', path, { as, body: asked });
  const query = new URLSearchParams(
    Object.entries(asked).map(([name, value]): [string, string] => [name, String(value)]),
  );
  return server.call('GET', `${path}?${query.toString()}`, { as });
}

export async function pageOf(server: TestServer, listing: Listing, paging: Paging = {}): Promise<Body> {
  const answered = await askFor(server, listing, paging);
  expect(answered.status, answered.text).toBe(200);
  return answered.body;
}

/** The ids on one page of a filtered list, sorted. */
export async function idsOf(
  server: TestServer,
  listing: Listing,
  filter: Record<string, unknown> = {},
  idOf: (item: Body) => string = (item) => item.id,
): Promise<string[]> {
  const page = await pageOf(server, { ...listing, filter: { ...listing.filter, ...filter } }, { limit: 100 });
  return page.items.map(idOf).toSorted();
}

/** Expects each filter to find exactly its ids, in any order. */
export async function expectFilters(
  server: TestServer,
  listing: Listing,
  rows: readonly [filter: Record<string, unknown>, ids: string[]][],
  idOf?: (item: Body) => string,
): Promise<void> {
  for (const [filter, ids] of rows) {
    expect(await idsOf(server, listing, filter, idOf), JSON.stringify(filter)).toEqual(ids.toSorted());
  }
}

/**
 * Reads a list in pages of two while rows are inserted. Expects the newest first, no row twice, and every row that existed
 * at the beginning.
 *
 * @param make inserts a row that the list shows, and returns its id
 */
export async function expectStablePages(
  server: TestServer,
  listing: Listing,
  make: () => Promise<string>,
  idOf: (item: Body) => string = (item) => item.id,
): Promise<void> {
  const made: string[] = [];
  for (let count = 0; count < 5; count += 1) made.push(await make());
  const seen: Body[] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await pageOf(server, listing, { limit: 2, ...(cursor !== undefined && { cursor }) });
    expect(page.items.length).toBeLessThanOrEqual(2);
    seen.push(...page.items);
    cursor = page.nextCursor;
    await make();
  }
  const ids = seen.map(idOf);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids).toEqual(expect.arrayContaining(made));
  const times: string[] = seen.map((item) => item.createdAt);
  expect(times).toEqual(times.toSorted().toReversed());
}

type Others = {
  /** The same list with another filter, if it has filters. */
  filter?: Record<string, unknown>;
  /** Another list. */
  list: Omit<Listing, 'as'>;
  /** A caller with another reach who may read the list. */
  principal: Credential;
};

/** Expects a cursor to work only unchanged, and only for its own query and caller. */
export async function expectOwnCursorsOnly(server: TestServer, listing: Listing, others: Others): Promise<void> {
  const { nextCursor } = await pageOf(server, listing, { limit: 1 });
  expect(nextCursor).toBeTypeOf('string');
  await pageOf(server, listing, { limit: 3, cursor: nextCursor });
  const damagedAt = (at: number) =>
    nextCursor.slice(0, at) + (nextCursor[at] === 'A' ? 'B' : 'A') + nextCursor.slice(at + 1);
  const attempts: [Listing, string][] = [
    ...(others.filter
      ? [[{ ...listing, filter: { ...listing.filter, ...others.filter } }, nextCursor] as [Listing, string]]
      : []),
    [{ ...others.list, as: listing.as }, nextCursor],
    [{ ...listing, as: others.principal }, nextCursor],
    ...[0, Math.floor(nextCursor.length / 2), nextCursor.length - 1].map((at): [Listing, string] => [
      listing,
      damagedAt(at),
    ]),
    [listing, ''],
  ];
  for (const [asked, cursor] of attempts) {
    const part = (asked.method ?? 'GET') === 'POST' ? 'body' : 'query';
    expectInvalid(await askFor(server, asked, { cursor }), { loc: [part, 'cursor'], type: 'value_error' });
  }
}
