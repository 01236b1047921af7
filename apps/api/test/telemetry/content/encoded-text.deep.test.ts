import { createHash, randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { withoutEncodedId, withoutEncodedText } from '../../../src/telemetry/encoded-text.ts';

test('random ids are kept', () => {
  for (let count = 0; count < 20_000; count += 1) {
    // Digests of numbers, so that each run tests the same ids.
    const digest = createHash('sha256').update(String(count)).digest();
    for (const id of [digest.toString('hex'), `resp_${digest.toString('base64url')}`, digest.toString('base64')]) {
      expect(withoutEncodedText(id)).toBe(id);
    }
  }
  const id = randomUUID();
  expect(withoutEncodedId(id)).toBe(id);
});
