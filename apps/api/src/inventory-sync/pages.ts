import { OutboundFailure } from '../outbound/failure.ts';

export type ListedPage<Item> = { items: Item[]; next: string | null };

const MAX_PAGES = 200;

/**
 * All pages of a list, one after the other.
 *
 * @param what the list, in words
 * @throws OutboundFailure where the far side repeats a cursor, or does not come to an end
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
