import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { optionsOf } from '../src/options.ts';
import { type Figure, fails, reaches, textOf } from '../src/report.ts';
import { median, type Round, ratioOf } from '../src/rounds.ts';

test.for([
  ['more', 0.75, { reached: true, failed: false }],
  ['more', 0.7, { reached: false, failed: false }],
  ['more', 0.67, { reached: false, failed: true }],
  ['more', Number.NaN, { reached: false, failed: true }],
  ['less', 0.75, { reached: true, failed: false }],
  ['less', 0.83, { reached: false, failed: false }],
  ['less', 0.84, { reached: false, failed: true }],
  ['less', Number.NaN, { reached: false, failed: true }],
] as const)('where %s is better, %d against 0.75 is %o', ([better, value, expected]) => {
  const figure: Figure = { name: 'rate', value, agreed: 0.75, better, unit: '' };
  expect({ reached: reaches(figure), failed: fails(figure) }).toEqual(expected);
});

test('a figure without an agreed value never fails', () => {
  expect(fails({ name: 'rate', value: Number.NaN, agreed: null, better: 'more', unit: '' })).toBe(false);
});

test('prints the agreed value, and whether it is reached', () => {
  const figure: Figure = { name: 'rate', value: 0.5, agreed: 0.75, better: 'more', unit: '' };
  const table = { columns: ['', 'answers/s'], rows: [['bare', '12345']] };
  const text = textOf({ title: 'List', table, figures: [figure], notes: ['a note'] });
  expect(text).toContain('List\n        answers/s\n  bare      12345\n');
  expect(text).toContain('rate: 0.50 (agreed: at least 0.75; FAILED)');
  expect(text).toContain('a note');
});

test('a ratio is the median over pairs of rounds, so a slow minute affects both sides alike', () => {
  const latency = { p50: 1, p90: 1, p99: 1, max: 1 };
  const rounds = (rates: number[]): Round[] =>
    rates.map((rate) => ({ rate, latency, cpuMicroseconds: 1, besides: {} }));
  const measured = (rates: number[]) => ({ name: '', rounds: rounds(rates), median: rounds(rates)[0] as Round });
  expect(ratioOf(measured([80, 8, 79]), measured([100, 10, 100]))).toBe(0.8);
});

test('the median of an even number of values is the mean of the two in the middle', () => {
  expect(median([4, 1, 3, 2])).toBe(2.5);
  expect(median([3, 1, 2])).toBe(2);
});

test.for([['--rounds', '0'], ['--seconds', 'x'], ['--rows', '-1'], ['--unknown']])('%o is refused', (argv) => {
  expect(() => optionsOf(argv, [])).toThrow('usage: npm run bench');
});

test('an unknown workload is refused, with its name and the names that there are', () => {
  expect(() => optionsOf(['--only', 'list,lists'], ['list', 'create'])).toThrow(
    'no workload lists; there are list, create',
  );
});

test('a quick run is short, and its parts can be set', () => {
  expect(optionsOf(['--quick', '--only', 'list,create', '--rounds', '3'], ['list', 'create'])).toEqual({
    only: ['list', 'create'],
    rounds: 3,
    seconds: 0.5,
    rows: 100_000,
    quick: true,
    profile: false,
  });
  expect(optionsOf([], [])).toMatchObject({ rounds: 8, seconds: 3, rows: 10_000_000, quick: false });
});

test('--help prints the usage', async () => {
  const program = join(import.meta.dirname, '../src/run.ts');
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [program, '--help']);
  expect(stdout).toMatch(/^usage: npm run bench /);
  expect(stderr).toBe('');
});
