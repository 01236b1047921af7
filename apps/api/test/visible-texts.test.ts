import { hidesText, visibleLine, visibleText } from '@quartermaster/contracts/visible-text.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { unique } from './support/people.ts';
import { startTestServer, type TestServer } from './support/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

/** A text that overrides the direction, clears a terminal, hides a word and imitates a new line. */
const HIDDEN = 'Ada\u202e\u001b[2J\u200b\u{e0041}\u2028root';
const SHOWN = 'Ada\\u{202e}\\u{1b}[2J\\u{200b}\\u{e0041}\\u{2028}root';
const LINES = `one\n\ttwo ${HIDDEN}`;
const LINES_SHOWN = `one\n\ttwo ${SHOWN}`;

test.each([
  ['plain text', 'plain text'],
  ['Crème brûlée, 日本語　です, \u00a0', 'Crème brûlée, 日本語　です, \u00a0'],
  [
    '\u2764\ufe0f \u{1f469}\u200d\u{1f4bb} \u{1f1eb}\u{1f1f7}',
    '\u2764\ufe0f \u{1f469}\u200d\u{1f4bb} \u{1f1eb}\u{1f1f7}',
  ],
  ['a\u200db', 'a\\u{200d}b'],
  ['x\u061cy\u00ad', 'x\\u{61c}y\\u{ad}'],
  ['one\ntwo', 'one\\u{a}two'],
  [HIDDEN, SHOWN],
])('a line shows its invisible characters: %j', (text, shown) => {
  expect(visibleLine(text)).toBe(shown);
  expect(visibleLine(shown)).toBe(shown);
  expect([hidesText(text), hidesText(shown)]).toEqual([text !== shown, false]);
});

test('a text of several lines keeps its lines and tabs', () => {
  expect(visibleText(`${LINES}\r\n\rx`)).toBe(`${LINES_SHOWN}\r\n\\u{d}x`);
});

const CREATED: [string, object, object][] = [
  [
    '/v1/providers',
    { kind: 'llm', displayName: HIDDEN, description: LINES },
    { displayName: SHOWN, description: LINES_SHOWN },
  ],
  ['/v1/gateways', { displayName: HIDDEN }, { displayName: SHOWN }],
  [
    '/v1/service-accounts',
    { displayName: HIDDEN, description: LINES },
    { displayName: SHOWN, description: LINES_SHOWN },
  ],
];

test.each(CREATED)(
  'regression: %s stores display names and descriptions with invisible characters escaped',
  async (path, fields, shown) => {
    const name = unique('seen');
    const id = path === '/v1/service-accounts' ? { id: name } : {};
    const made = await server.ok('POST', path, { as: server.admin, body: { ...id, name, ...fields } });
    expect(made).toMatchObject(shown);
    const one = `${path}/${made.id}${path === '/v1/service-accounts' ? `?tenant_id=${made.tenantId}` : ''}`;
    expect(await server.ok('GET', one, { as: server.admin })).toMatchObject(shown);
    // The stored text can be written again.
    expect(await server.ok('PUT', one, { as: server.admin, body: shown })).toMatchObject(shown);
    expect(await server.ok('PUT', one, { as: server.admin, body: fields })).toMatchObject(shown);
  },
);

test('regression: a registration is stored with invisible characters escaped', async () => {
  const email = `${unique('stranger')}@example.com`;
  const user = { email, displayName: HIDDEN, terms: { termsVersion: HIDDEN } };
  const made = await server.ok('POST', '/v1/onboarding/register', { body: { user, source: HIDDEN } });
  expect(made.user.displayName).toBe(SHOWN);
  const found = await server.ok('GET', `/v1/users?email=${encodeURIComponent(email)}`, { as: server.admin });
  expect(found.items).toMatchObject([{ displayName: SHOWN, source: SHOWN, terms: { termsVersion: SHOWN } }]);
});

test('regression: texts of tenants and inventory items are stored with invisible characters escaped', async () => {
  const as = server.admin;
  const tenant = await server.ok('POST', '/v1/tenants', { as, body: { id: unique('t'), displayName: HIDDEN } });
  expect(tenant.displayName).toBe(SHOWN);
  const provider = await server.ok('POST', '/v1/providers', { as, body: { name: unique('p'), kind: 'mcp' } });
  const body = { kind: 'tool', name: 'search', title: HIDDEN, description: LINES };
  const item = await server.ok('POST', `/v1/providers/${provider.id}/inventory`, { as, body });
  expect(item).toMatchObject({ title: SHOWN, description: LINES_SHOWN });
});

test('regression: the attributes of an item and the owner of a manifest are stored with invisible characters escaped', async () => {
  const as = server.admin;
  const provider = await server.ok('POST', '/v1/providers', { as, body: { name: unique('p'), kind: 'mcp' } });
  const path = `/v1/providers/${provider.id}/inventory`;
  const attributes = { annotations: { title: HIDDEN, [HIDDEN]: [1, null, LINES] } };
  const shown = { annotations: { title: SHOWN, [SHOWN]: [1, null, LINES_SHOWN] } };
  const item = await server.ok('POST', path, { as, body: { kind: 'tool', name: 'search', attributes } });
  expect(item.attributes).toEqual(shown);
  const changed = { other: HIDDEN };
  const updated = await server.ok('PUT', `${path}/${item.id}`, { as, body: { attributes: changed } });
  expect(updated.attributes).toEqual({ other: SHOWN });
  const long = { kind: 'tool', name: 'long', attributes: { note: '\u200b'.repeat(3000) } };
  const refused = await server.call('POST', path, { as, body: long });
  expect([refused.status, refused.body.detail[0].loc]).toEqual([422, ['body', 'attributes']]);
  const manifest = { kind: 'agent', name: unique('m'), spec: { owner: HIDDEN } };
  expect((await server.ok('POST', '/v1/manifests', { as, body: manifest })).spec).toEqual({ owner: SHOWN });
});

test('a text that is too long after escaping is refused', async () => {
  const body = { name: unique('long'), kind: 'llm', displayName: '\u200b'.repeat(100) };
  const { status, body: answer } = await server.call('POST', '/v1/providers', { as: server.admin, body });
  expect([status, answer.detail[0].type, answer.detail[0].loc]).toEqual([
    422,
    'string_too_long',
    ['body', 'displayName'],
  ]);
});

test.each(['\u061c', '\u00ad', '\u{e0041}', '\u2028', '\u2800', '\u180e'])(
  'regression: names and addresses with an invisible character are refused: %#',
  async (character) => {
    const as = server.admin;
    for (const [path, fields] of [
      ['/v1/providers', { name: `a${character}b`, kind: 'llm' }],
      ['/v1/providers', { name: unique('url'), kind: 'llm', baseUrl: `https://example.com/a${character}b` }],
      ['/v1/gateways', { name: `a${character}b` }],
      ['/v1/gateways', { name: unique('url'), url: `https://example.com/a${character}b` }],
    ] as const) {
      const { status, body } = await server.call('POST', path, { as, body: fields });
      expect([status, body.detail?.length], JSON.stringify(fields)).toEqual([422, 1]);
    }
  },
);
