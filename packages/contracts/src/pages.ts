import { z } from 'zod';

/** One page of a list, newest first. */
export function page<Item extends z.ZodType>(id: string, item: Item) {
  return z.strictObject(pageShape(item)).meta({ id, description: 'One page of a list.' });
}

/** The fields of a page, for pages that have further ones. */
export function pageShape<Item extends z.ZodType>(item: Item) {
  return {
    items: z.array(item),
    nextCursor: z
      .string()
      .nullable()
      .describe(
        'Send it as `cursor` to get the next page. Null on the last page. A filtered list reads a limited number of records for each page, so a page may be short or empty although more follow.',
      ),
  };
}

export const limitField = z
  .int()
  .min(1)
  .max(100)
  .default(25)
  .meta({ description: 'The maximum number of records on a page: 1 to 100.', param: { id: 'Limit' } });

export const cursorField = z
  .string()
  .max(2048)
  .nullish()
  .meta({
    description: 'The `nextCursor` of the previous page, an opaque text. Send it with the same filters.',
    param: { id: 'Cursor' },
  });

/** The fields for paging that every list and search accepts. */
export const pageFields = { limit: limitField, cursor: cursorField };
