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
