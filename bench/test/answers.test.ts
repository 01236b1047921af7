import { expect, test } from 'vitest';
import { type Answer, differences } from '../src/answers.ts';

const ID = '01jd3v6q8r0000000000000000';
const ours = answer({ items: [{ id: 'prov_1', name: 'a' }], nextCursor: null });

function answer(body: unknown, headers: [string, string][] = [['Content-Type', 'application/json']]): Answer {
  return { status: 200, headers, body: Buffer.from(JSON.stringify(body)) };
}

test.for([
  ['the same answer', ours],
  ['members in another order', answer({ nextCursor: null, items: [{ name: 'a', id: 'prov_1' }] })],
  ['headers in another order and case, and those that Node adds', { ...ours, headers: withDate() }],
] as const)('%s is the same', ([, floor]) => {
  expect(differences(ours, floor)).toEqual([]);
});

test.for([
  ['a status', { ...ours, status: 201 }, 'status 201, not 200'],
  ['a header that is missing', { ...ours, headers: [] }, 'without the header content-type: application/json'],
  [
    'a header with another value',
    { ...ours, headers: [['content-type', 'text/plain']] as [string, string][] },
    'with the header content-type: text/plain',
  ],
  ['an additional header', { ...ours, headers: [...ours.headers, ['x-more', '1']] as [string, string][] }, 'x-more: 1'],
  ['a value', answer({ items: [{ id: 'prov_1', name: 'b' }], nextCursor: null }), 'another body at character'],
  ['a member', answer({ items: [{ id: 'prov_1' }], nextCursor: null }), '45 bytes, not 56'],
  ['white space', { ...ours, body: Buffer.from(`${ours.body.toString()} `) }, '57 bytes, not 56'],
] as const)('%s is found', ([, floor, named]) => {
  expect(differences(ours, floor as Answer).join('; ')).toContain(named);
});

test('ignores values that differ for each response, but finds missing ones', () => {
  const made = (id: string, time: string) => answer({ id, createdAt: time, tenantId: 'acme' });
  const first = made(`sa_${ID}`, '2026-11-21T16:00:00.000Z');
  expect(differences(first, made(`sa_${ID.replace('3', '4')}`, '2026-11-21T16:00:01.234Z'))).toEqual([]);
  expect(differences(first, made(`ses_${ID.slice(1)}`, '2026-11-21T16:00:01.234Z'))).not.toEqual([]);
});

test('compares the claims of tokens', () => {
  const token = (claims: object) => {
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    return answer({ token: `${part({ alg: 'ES256' })}.${part(claims)}.${'x'.repeat(86)}` });
  };
  const claims = { aud: 'gw_1', jti: `ses_${ID}`, iat: 1763740800, exp: 1763744400 };
  expect(differences(token(claims), token({ ...claims, iat: 1763740801, exp: 1763744401 }))).toEqual([]);
  expect(differences(token(claims), token({ ...claims, aud: 'gw_2' }))).not.toEqual([]);
});

test('compares request ids by their length', () => {
  const with_ = (id: string) => ({ ...ours, headers: [['X-Request-Id', id]] as [string, string][] });
  expect(differences(with_('aaaa'), with_('bbbb'))).toEqual([]);
  expect(differences(with_('aaaa'), with_('bbbbb'))).not.toEqual([]);
});

function withDate(): [string, string][] {
  return [
    ['Date', 'Sat, 21 Nov 2026 16:00:00 GMT'],
    ['Connection', 'keep-alive'],
    ['content-type', 'application/json'],
  ];
}
