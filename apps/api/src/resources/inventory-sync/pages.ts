import { OutboundFailure } from '../../platform/outbound/failure.ts';

export type ListedPage<Item> = { items: Item[]; next: string | null };

const MAX_PAGES = 200;

/**
 * Reads all pages of a list, one after the other.
 *
 * @param what the name of the list, for error messages
 * @throws OutboundFailure if the provider repeats a cursor, or has more than 200 pages
 */
export async function* readPages<Item>(
  what: string,
  fetchPage: (cursor: string | null) => Promise<ListedPage<Item>>,
): AsyncGenerator<Item[]> {
  const followed = new Set<string>();
  let cursor: string | null = null;
  for (let pages = 0; pages < MAX_PAGES; pages += 1) {
    const page: ListedPage<Item> = await fetchPage(cursor);
    yield page.items;
    if (page.next === null) return;
    if (followed.has(page.next)) throw new OutboundFailure(`it repeats a cursor in its list of ${what}`);
    followed.add(page.next);
    cursor = page.next;
  }
  throw new OutboundFailure(`its list of ${what} has more than ${MAX_PAGES} pages`);
}
