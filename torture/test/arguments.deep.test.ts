import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const run = (...args: string[]) =>
  spawnSync(process.execPath, [join(import.meta.dirname, '../src/run.ts'), ...args], { encoding: 'utf8' });

test('--help prints the usage', () => {
  const { status, stdout, stderr } = run('--help');
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(stdout).toMatch(/^usage: npm run torture /);
});

test.for([['--unknown'], ['--only', 'none'], ['--loops', '0'], ['--seed', 'x']])(
  '%o is refused in one line with the usage',
  (args) => {
    const { status, stdout, stderr } = run(...args);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toMatch(/^[^\n]+: usage: npm run torture [^\n]+\n$/);
  },
);
