/** Whether the full form of the tests runs (`npm run test:full`), which docs/testing.md describes. */
export const FULL = process.env['QM_TEST_FULL'] === '1';

/**
 * The size of a test that has a full form.
 *
 * @param sizes `usual` for `npm test` and `npm run test:deep`, `full` for `npm run test:full`
 */
export function scaled<Size>({ usual, full }: { usual: Size; full: Size }): Size {
  return FULL ? full : usual;
}

const TEST_MS = scaled({ usual: 180_000, full: 1_800_000 });

/**
 * How long a test, a hook and a poll may take. Long, because the machine may do other work: a test whose point is a time measures it,
 * and no test has a limit of its own.
 */
export const TIME_LIMITS = { testTimeout: TEST_MS, hookTimeout: TEST_MS, expect: { poll: { timeout: 60_000 } } };

/** `QM_TEST_SEED=7 npm test` shuffles the tests of each file with this seed. The full form uses a new seed each time. */
const SEED = process.env['QM_TEST_SEED'] ?? (FULL ? String(Date.now()) : null);

/** The order in which the tests of a file run: as they are written, unless they are shuffled. */
export const SEQUENCE = SEED === null ? {} : { shuffle: { tests: true }, seed: Number(SEED) };
