import { operation } from '@quartermaster/contracts/operation.ts';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { checkAnswer } from '../../src/http/check-answer.ts';

const counted = operation({
  method: 'GET',
  path: '/v1/counted',
  operationId: 'count',
  scope: null,
  tag: 'Providers',
  summary: 'Count',
  output: z.object({ count: z.int(), note: z.string().default('none') }),
});

test.each([
  ['has a value of another type', { count: 'one', note: '' }],
  ['lacks a field', { note: '' }],
  ['has a field that the schema strips', { count: 1, note: '', more: true }],
  ['lacks a field that the schema fills in', { count: 1 }],
  ['is not JSON', undefined],
])('an answer that %s fails the check', (_what, answer) => {
  expect(() => checkAnswer(counted, answer)).toThrow('Output validation failed');
});

test('an answer that matches the schema passes the check', () => {
  expect(() => checkAnswer(counted, { count: 1, note: 'x' })).not.toThrow();
});
