import { expect, test } from 'vitest';
import { killLoops } from '../src/kill/loops.ts';
import { openSqliteStore } from '../src/stores.ts';

// The deep form kills services on PostgreSQL as well, and PostgreSQL itself.
test('after kill -9 of the service on SQLite every acknowledged write is there', async () => {
  const findings = await killLoops('SQLite', openSqliteStore).run({ short: true, loops: 1, seed: 20 });
  expect(findings.flatMap(({ faults }) => faults)).toEqual([]);
  expect(findings.map(({ verdict }) => verdict)).not.toContain('not run');
});
