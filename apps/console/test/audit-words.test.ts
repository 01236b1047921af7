import { AUDIT_OPERATION_TITLES } from '@quartermaster/client/audit-operations.gen.ts';
import { expect, test } from 'vitest';
import { titleOf, whatHappened } from '../src/screens/audit/audit-words.ts';

const NOTHING = { decision: null, target: null } as const;
const about = (type: string) => ({ type, id: '1', name: null, parentId: null, deleted: false });

test('every operation has words: what it does, and what happened', () => {
  for (const operation of Object.keys(AUDIT_OPERATION_TITLES)) {
    expect(titleOf(operation), operation).toMatch(/^[A-Z][a-z]+ [^_]+$/);
    expect(whatHappened({ ...NOTHING, operation, outcome: 'success' }), operation).toMatch(
      /^([A-Z][a-z]+ed|Further|Made|Read|Set|Undid|Withdrew) [^_]+$/,
    );
  }
});

test.each([
  ['create_gateway', 'success', 'Created a gateway'],
  ['create_gateway', 'denied', 'Tried to create a gateway'],
  ['apply_provider_recommendations', 'success', 'Applied recommendations for a provider'],
  ['cancel_operator_task', 'success', 'Cancelled an operator task'],
  ['update_my_profile', 'success', 'Updated their own profile'],
  ['update_membership', 'success', 'Changed a membership'],
  ['ingest_traces', 'denied', 'Tried to send spans'],
  ['sign_in', 'success', 'Signed in'],
  ['further_refusals', 'denied', 'Further refusals'],
] as const)('%s with the outcome %s reads "%s"', (operation, outcome, words) => {
  expect(whatHappened({ ...NOTHING, operation, outcome })).toBe(words);
});

test('a review reads as what was decided, and a task as what it ended with', () => {
  const review = { operation: 'review_runtime_observation', outcome: 'success' } as const;
  expect(whatHappened({ ...review, decision: 'approved', target: about('runtime_observation') })).toBe('Approved');
  expect(whatHappened({ ...review, decision: 'withdrawn', target: null })).toBe('Withdrew the decision');
  const task = { operation: 'complete_operator_task', outcome: 'success', decision: 'rotated' } as const;
  expect(whatHappened({ ...task, target: about('operator_task') })).toBe('Completed an operator task: rotated');
});
