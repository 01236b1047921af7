/**
 * Removes whatever there is, some at once, since each batch holds the only writer. Answers how many.
 *
 * @param remove removes at the most so many, and answers how many it found
 */
export async function removeInBatches(atOnce: number, remove: (most: number) => Promise<number>): Promise<number> {
  for (let removed = 0; ; ) {
    const batch = await remove(atOnce);
    removed += batch;
    if (batch < atOnce) return removed;
  }
}
