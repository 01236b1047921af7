import { expect, test } from 'vitest';
import { killLoops } from '../src/kill/loops.ts';
import { openPostgresStore, openSqliteStore } from '../src/stores.ts';

test.concurrent.for([killLoops('SQLite', openSqliteStore), killLoops('PostgreSQL', openPostgresStore)])(
  'after kill -9 of the service on $name every acknowledged write is there',
  async ({ run }) => {
    const findings = await run({ short: true, loops: 1, seed: 20 });
    expect(findings.flatMap(({ faults }) => faults)).toEqual([]);
    expect(findings.map(({ verdict }) => verdict)).not.toContain('not run');
  },
);
