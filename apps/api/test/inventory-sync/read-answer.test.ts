import { expect, test } from 'vitest';
import { readAnswer } from '../../src/resources/inventory-sync/read-answer.ts';

const QUESTION = { providerName: 'server', room: 100, request: { id: 1, method: 'tools/list' } };

/** An answer with two tools, the second one with this text as the value of a member. */
function answerWith(value: string, id = '1'): string {
  const tools = `[{"name":"good","inputSchema":{"type":"object"}},{"name":"odd","inputSchema":{"type":"object","default":${value}}}]`;
  return `{"jsonrpc":"2.0","id":${id},"result":{"tools":${tools}}}`;
}

test.each([
  ['a number beyond the range of a double', '1e999'],
  ['half of a surrogate pair', String.raw`"\ud83d"`],
])('a tool whose definition has %s is reported, and the other tools are read', (_what, value) => {
  const answer = readAnswer(answerWith(value), QUESTION);
  expect(answer).toMatchObject({
    items: [
      { name: 'good', schemaDigest: expect.any(String) },
      { name: 'odd', fault: 'its definition has a number or a character that cannot be stored' },
    ],
  });
});

test.each([['{"toString":1}'], [`${'['.repeat(5000)}${']'.repeat(5000)}`], ['null'], ['true']])(
  'a message with the id %.20s is not the answer',
  (id) => {
    const answer = readAnswer(answerWith('1', id), QUESTION);
    expect('items' in answer ? answer.items : []).toEqual([]);
  },
);
