/** One page of a list, as every list operation answers it. */
export type Page<Item> = { items: Item[]; nextCursor: string | null };
