import { expect, test } from 'vitest';
import { expectProblem } from '../endpoints/harness.ts';
import { accountWithKey } from '../support/people.ts';
import { limited, list, repeated, times } from './limited.ts';

test('a caller that ignores twenty refusals gets further ones a second late; others are not delayed', async () => {
  const server = await limited({ QM_RATE_LIMIT_PRINCIPAL: '30' });
  const { key } = await accountWithKey(server, { tenantId: 'acme' });
  expect(await times(50, () => list(server, { key }))).toEqual(repeated([30, 200], [20, 429]));
  const began = performance.now();
  const answered: string[] = [];
  const late = list(server, { key }).finally(() => answered.push('late'));
  expect((await list(server, server.admin)).status).toBe(200);
  answered.push('other');
  expectProblem(await late, 429, 'rate_limited');
  expect(answered).toEqual(['other', 'late']);
  expect(performance.now() - began).toBeGreaterThan(900);
});
