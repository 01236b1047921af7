/** Whether the long form of the tests runs (`npm run test:full`), which docs/testing.md describes. */
export const FULL = process.env['QM_TEST_FULL'] === '1';

/**
 * The size of a test that has a short and a long form.
 *
 * @param sizes `usual` for `npm test`, `full` for `npm run test:full`
 */
export function scaled<Size>({ usual, full }: { usual: Size; full: Size }): Size {
  return FULL ? full : usual;
}

/**
 * Decides the order in which the tests of a file run. The same for each `npm test`, so that a failure can be repeated;
 * `QM_TEST_SEED` chooses another one, and the long form a new one each time.
 */
export const ORDER_SEED = Number(process.env['QM_TEST_SEED'] ?? (FULL ? Date.now() : 1));
