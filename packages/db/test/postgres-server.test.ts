import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';

const MODULE = new URL('../testing/postgres-server.ts', import.meta.url).href;

test.each([0, 1, 3])('regression: a process that imports the PostgreSQL test server keeps its exit code %i', (code) => {
  const program = `await import('${MODULE}'); process.exitCode = ${code};`;
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
    encoding: 'utf8',
  });
  expect(status, stderr).toBe(code);
});
