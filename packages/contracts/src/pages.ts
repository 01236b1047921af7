import { z } from 'zod';

/** One page of a list, newest first. */
export function page<Item extends z.ZodType>(id: string, item: Item) {
  return z
    .strictObject({
      items: z.array(item),
      nextCursor: z
        .string()
        .nullable()
        .describe(
          'Hand it in as `cursor` for the next page; null on the last. Filters look at many records: a page may be short, even empty, though there are more.',
        ),
    })
    .meta({ id, description: 'One page of a list.' });
}

export const limitField = z
  .int()
  .min(1)
  .max(100)
  .default(25)
  .meta({ description: 'The largest number of records to answer: 1 to 100.', param: { id: 'Limit' } });

export const cursorField = z
  .string()
  .max(2048)
  .nullish()
  .meta({
    description: 'The `nextCursor` of the page before. Send the same filters with it. Opaque.',
    param: { id: 'Cursor' },
  });

/** What every list and search takes. */
export const pageFields = { limit: limitField, cursor: cursorField };
