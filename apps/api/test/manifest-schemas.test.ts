import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectInvalid, expectProblem } from './endpoints/harness.ts';
import { accountWithKey, unique } from './support/people.ts';
import { startTestServer, type TestServer } from './support/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ QM_PUBLIC_URL: 'https://qm.example.com/base' });
});
afterAll(() => server.stop());

const KINDS = ['agent', 'gateway', 'channel'] as const;
type Kind = (typeof KINDS)[number];

const PATH = '/v1/manifests/schema';

const declared = { provider: 'openai', kind: 'model', name: 'gpt-5' };
const allowing = (...allow: unknown[]) => ({ allow });
const naming = (...names: unknown[]) => allowing({ provider: 'openai', names });
const times = <Value>(count: number, value: Value): Value[] => Array.from({ length: count }, () => value);

/** Specs, and the kinds of manifests for which they are valid. */
const SPECS: [spec: unknown, kinds: readonly Kind[]][] = [
  [{}, KINDS],
  [{ description: 'x'.repeat(2000), owner: 'team', 'x-anything': [1, { a: null }], 'x-': 1 }, KINDS],
  [{ description: 'x'.repeat(2001) }, []],
  [{ description: null }, []],
  [{ owner: 7 }, []],
  [{ owner: 'x'.repeat(201) }, []],
  [{ xteam: 1 }, []],
  [{ 'X-team': 1 }, []],
  [{ alow: [] }, []],
  [{ declares: [] }, KINDS],
  [{ declares: times(1000, declared) }, KINDS],
  [{ declares: times(1001, declared) }, []],
  [{ declares: [{ ...declared, name: '' }] }, []],
  [{ declares: [{ ...declared, name: 'x'.repeat(257) }] }, []],
  [{ declares: [{ ...declared, kind: 'car' }] }, []],
  [{ declares: [{ ...declared, 'x-why': 1 }] }, []],
  [{ declares: [{ provider: 'openai', kind: 'model' }] }, []],
  [{ declares: declared }, []],
  [{ channels: [] }, ['agent']],
  [{ channels: ['slack', 'e-mail', 'a.b_c1'] }, ['agent']],
  [{ channels: times(51, 'slack') }, []],
  [{ channels: ['Slack'] }, []],
  [{ channels: ['x'.repeat(65)] }, []],
  [{ channels: ['room1234567'] }, []],
  [{ channels: 'slack' }, []],
  [{ allow: [] }, ['gateway', 'channel']],
  [{ allow: null }, []],
  [{ allow: {} }, []],
  [allowing({}), []],
  [allowing({ provider: 'openai' }), ['gateway', 'channel']],
  [allowing({ provider: '' }), []],
  [allowing({ provider: 'x'.repeat(201) }), []],
  [allowing({ provider: 'openai', kind: 'tool' }), ['gateway', 'channel']],
  [allowing({ provider: 'openai', kind: null }), []],
  [allowing({ provider: 'openai', model: 'gpt-5' }), []],
  [naming(), ['gateway', 'channel']],
  [naming('gpt-5', 'gpt-5*', '*'), ['gateway', 'channel']],
  [naming(''), []],
  [naming('**'), []],
  [naming('*-mini'), []],
  [naming('a\n*'), ['gateway', 'channel']],
  [naming('a*\n'), []],
  [naming('x'.repeat(257)), ['gateway', 'channel']],
  [naming('x'.repeat(258)), []],
  [naming(...times(1000, 'a')), ['gateway', 'channel']],
  [naming(...times(1001, 'a')), []],
  [naming(5), []],
  [{ channel: { type: 'slack', address: '#support', 'x-id': 7 } }, ['channel']],
  [{ channel: { type: '' } }, []],
  [{ channel: { type: 'x'.repeat(65) } }, []],
  [{ channel: { address: 'a' } }, []],
  [{ channel: { type: 'web', room: 1 } }, []],
  [{ channel: 'web' }, []],
  [[], []],
  ['spec', []],
];

describe.each(KINDS)('get_manifest_schema of %s', (kind) => {
  let as: { key: string };
  let validate: ValidateFunction;
  beforeAll(async () => {
    as = await accountWithKey(server, { tenantId: unique('schemas') }, ['manifests:write']);
    validate = new Ajv2020({ strict: true, allErrors: true }).compile(
      await server.ok('GET', `${PATH}/${kind}`, { as }),
    );
  });

  test.each(SPECS)('and the server agree on %j', async (spec, kinds) => {
    const isTaken = kinds.includes(kind);
    expect(validate(spec), JSON.stringify(validate.errors)).toBe(isTaken);
    const body = { name: unique('manifest'), kind, spec };
    const answered = await server.call('POST', '/v1/manifests', { as, body });
    expect(answered.status, answered.text).toBe(isTaken ? 200 : 422);
    if (!isTaken) expect(answered.body.detail[0].loc.slice(0, 2)).toEqual(['body', 'spec']);
  });

  test('answers JSON Schema 2020-12 whose $id is its public address', async () => {
    expect(await server.ok('GET', `${PATH}/${kind}`, { as })).toMatchObject({
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      $id: `https://qm.example.com/base${PATH}/${kind}`,
    });
  });
});

test('get_manifest_schema answers every caller with a credential, without any scope', async () => {
  const as = await accountWithKey(server, { tenantId: unique('schemas') }, ['traces:write']);
  await server.ok('GET', `${PATH}/agent`, { as });
  expectProblem(await server.call('GET', `${PATH}/agent`), 401, 'credentials_missing');
});

test('get_manifest_schema answers 422 for an unknown kind', async () => {
  const answered = await server.call('GET', `${PATH}/fleet`, { as: server.admin });
  expectInvalid(answered, { loc: ['path', 'kind'], type: 'enum' });
});
