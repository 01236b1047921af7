import { expect, test } from 'vitest';
import type { Part } from '../src/part.ts';
import { PARTS } from '../src/parts.ts';

/** The tests of the API contain the short form of this part. */
const TESTED_ELSEWHERE = new Set(['fuzz']);

const parts = PARTS.filter(({ name }) => !TESTED_ELSEWHERE.has(name));

test.concurrent.for(parts.map((part): [string, Part] => [part.name, part]))('%s', async ([, part], { skip }) => {
  const findings = await part.run({ short: true, loops: null, seed: 20 });
  const faults = findings.flatMap(({ promise, faults: found }) => found.map((fault) => `${promise}: ${fault}`));
  expect(faults.join('\n')).toBe('');
  const ran = findings.filter(({ verdict }) => verdict !== 'not run');
  if (ran.length === 0) skip(findings.map(({ measured }) => measured).join('; '));
});
