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

/** `QM_TEST_SEED=7 npm test` shuffles the tests of each file with this seed. The long form uses a new seed each time. */
const SEED = process.env['QM_TEST_SEED'] ?? (FULL ? String(Date.now()) : null);

/** The order in which the tests of a file run: as they are written, unless they are shuffled. */
export const SEQUENCE = SEED === null ? {} : { shuffle: { tests: true }, seed: Number(SEED) };
