import { expect, test } from 'vitest';
import type { Part } from '../src/part.ts';
import { PARTS } from '../src/parts.ts';

/** The suite of the API proves the same as the short form of these parts, without processes of their own. */
const TESTED_ELSEWHERE = new Set([
  // test/audit-chain: every kind of tampering, and a process that is killed while it seals.
  'audit',
  // test/fuzz
  'fuzz',
  // test/rate-limits/shared-limits.test.ts: two servers on one database.
  'rate-limits',
]);

const parts = PARTS.filter(({ name }) => !TESTED_ELSEWHERE.has(name));

test.concurrent.for(parts.map((part): [string, Part] => [part.name, part]))('%s', async ([, part], { skip }) => {
  const findings = await part.run({ short: true, loops: null, seed: 20 });
  const faults = findings.flatMap(({ promise, faults: found }) => found.map((fault) => `${promise}: ${fault}`));
  expect(faults.join('\n')).toBe('');
  const ran = findings.filter(({ verdict }) => verdict !== 'not run');
  if (ran.length === 0) skip(findings.map(({ measured }) => measured).join('; '));
});
