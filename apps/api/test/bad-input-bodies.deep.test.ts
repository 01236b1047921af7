import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { MAX_DEPTH } from '../src/http/messages/limits.ts';
import { document } from './support/contract-check.ts';
import { makeRecords, OPERATIONS, pathWith, unchanged } from './support/records.ts';
import { type Body, startTestServer, type TestServer } from './support/server.ts';

/** Every operation with a body, except those of the OTLP receiver, which has its own errors. */
const WITH_BODY = OPERATIONS.filter(({ operation }) => operation.body && operation.transport === 'rest');
const REQUIRED = WITH_BODY.filter(({ operation }) => !operation.bodyOptional);

let server: TestServer;
let records: Record<string, string>;

beforeAll(async () => {
  // Its jobs would write while a test compares the database.
  server = await startTestServer({}, { noHousekeeping: true });
  records = await makeRecords(server);
});
afterAll(() => server.stop());

type Raw = string | Uint8Array<ArrayBuffer>;
type Target = (typeof WITH_BODY)[number];

function rest(
  { operation }: Target,
  raw: Raw,
  headers: Record<string, string> = { 'content-type': 'application/json' },
) {
  const { method } = operation;
  return server.call(method, pathWith(operation, records), { as: server.admin, raw, headers });
}

/** The same body over tRPC: the JSON text is put into the input unchanged. */
function trpc({ operation, procedure }: Target, body: string) {
  const path = JSON.stringify(
    Object.fromEntries(Object.keys(operation.params?.shape ?? {}).map((name) => [name, records[name]])),
  );
  const raw = `{"path":${path},"body":${body}}`;
  return server.call('POST', `/trpc/${procedure}`, {
    as: server.admin,
    raw,
    headers: { 'content-type': 'application/json' },
  });
}

function locs(body: Body): string[] {
  return (body.detail as Body[]).map(({ loc, type }) => `${type} ${JSON.stringify(loc)}`);
}

const MALFORMED: [string, Raw][] = [
  ['an open brace', '{'],
  ['a missing value', '{"name":}'],
  ['an open list', '[1,'],
  ['single quotes', "{'name':1}"],
  ['an incomplete literal', 'nul'],
  ['text after the end', '{}x'],
  ['two documents', '{}{}'],
  ['a trailing comma', '{"name":"x",}'],
  ['an open string', '{"name":"x'],
  ['a bad escape', '{"name":"\\x41"}'],
  ['a raw control character', '{"name":"\u0001"}'],
  ['NaN', '{"name":NaN}'],
  ['a comment', '{/**/}'],
  ['invalid UTF-8', new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
  ['a surrogate in UTF-8', new Uint8Array([0x22, 0xed, 0xa0, 0x80, 0x22])],
  ['UTF-16', new Uint8Array([0xff, 0xfe, 0x7b, 0x00, 0x7d, 0x00])],
  ['10,000 open lists', '['.repeat(10_000)],
];

test.each(MALFORMED)('malformed JSON is only 422 json_invalid for every operation: %s', async (_, raw) => {
  await unchanged(server, async () => {
    for (const target of WITH_BODY) {
      const answer = await rest(target, raw);
      expect(answer.status, target.operation.operationId).toBe(422);
      expect(answer.body.detail).toEqual([
        {
          type: 'json_invalid',
          loc: ['body', expect.any(Number)],
          msg: 'JSON decode error',
          input: {},
          ctx: { error: expect.any(String) },
        },
      ]);
    }
  });
});

test.each(['[]', '"text"', '1', 'true', '[{"name":"x"}]'])(
  'a body that is not an object is 422 at the body: %s',
  async (raw) => {
    await unchanged(server, async () => {
      for (const target of WITH_BODY) {
        for (const answer of [await rest(target, raw), await trpc(target, raw)]) {
          expect(answer.status, target.operation.operationId).toBe(422);
          const { body } = answer;
          expect(locs(body.error?.data ?? body)).toEqual(['model_attributes_type ["body"]']);
        }
      }
    });
  },
);

test.each(['', 'null'])('a required body that is missing is 422 missing at the body: %j', async (raw) => {
  await unchanged(server, async () => {
    for (const target of REQUIRED) expect(locs((await rest(target, raw)).body)).toEqual(['missing ["body"]']);
  });
});

test('a body larger than the limit is 413, over REST and tRPC, with or without Content-Length', async () => {
  const large = JSON.stringify({ name: 'x'.repeat(10 * 1024 * 1024) });
  await unchanged(server, async () => {
    // One operation of each limit. The test below tries every operation just beyond its own limit.
    const byLimit = new Map(WITH_BODY.map((target) => [target.operation.bodyMaxBytes, target]));
    for (const target of byLimit.values()) {
      const answer = await rest(target, large);
      expect([answer.status, answer.body.code]).toEqual([413, 'body_too_large']);
    }
    const [create] = REQUIRED;
    if (!create) throw new Error('no operation has a body');
    const answer = await trpc(create, large);
    expect([answer.status, answer.body.error.data.code]).toEqual([413, 'body_too_large']);
    const stream = new Blob([large]).stream();
    const sent = { method: 'POST', headers: { 'x-api-key': server.admin.key, 'content-type': 'application/json' } };
    const chunked = await fetch(`${server.url}/v1/service-accounts`, { ...sent, body: stream, duplex: 'half' });
    expect(chunked.status).toBe(413);
  });
});

test('each operation accepts bodies up to its own limit, over REST and tRPC', async () => {
  await unchanged(server, async () => {
    for (const target of WITH_BODY) {
      const { bodyMaxBytes, operationId } = target.operation;
      // Spaces are not part of values.
      const within = `{${' '.repeat(bodyMaxBytes - 9)}"x":1}`;
      expect((await rest(target, within)).status, operationId).toBe(422);
      expect((await rest(target, `${within}   `)).status, operationId).toBe(413);
      expect((await trpc(target, within)).status, operationId).toBe(422);
      expect((await trpc(target, `${within}${' '.repeat(5000)}`)).status, operationId).toBe(413);
    }
  });
});

test('regression: a body with very many members or items is refused before they are parsed, over REST and tRPC', async () => {
  await unchanged(server, async () => {
    for (const target of WITH_BODY) {
      const { bodyMaxBytes, operationId } = target.operation;
      const most = Math.floor(bodyMaxBytes / 16);
      const items = Array.from({ length: most + 300 }, () => '0').join(',');
      const members = Array.from({ length: most + 300 }, (_, index) => `"${index.toString(36)}":0`).join(',');
      for (const raw of [`[${items}]`, `{"metadata":[${items}]}`, `{${members}}`]) {
        const answer = await rest(target, raw);
        expect(locs(answer.body), operationId).toEqual(['value_error ["body"]']);
        expect(answer.body.detail[0].msg).toBe(
          `Value error, body should have at most ${most} members and items in total`,
        );
        const { status, body } = await trpc(target, raw);
        expect([status, locs(body.error.data)]).toEqual([422, ['value_error ["body"]']]);
      }
    }
  });
});

test('regression: the answer to many or long unknown members is bounded in number and bytes', async () => {
  const register = WITH_BODY.filter(({ operation }) => operation.operationId === 'create_manifest');
  const [target] = register;
  if (!target) throw new Error('there is no such operation');
  const long = Array.from({ length: 500 }, (_, index) => `"${index}${'k'.repeat(1900)}":"${'v'.repeat(40)}"`).join(',');
  const answer = await rest(target, `{${long}}`);
  expect(answer.status).toBe(422);
  expect(answer.text.length).toBeLessThan(70_000);
  expect(answer.body.detail.length).toBeLessThanOrEqual(100);
  expect(Math.max(...answer.body.detail.map(({ loc }: Body) => String(loc.at(-1)).length))).toBe(129);
});

test('regression: registration accepts 16 KiB, and refuses thousands of members', async () => {
  const members = Array.from({ length: 85_000 }, (_, index) => `"${index.toString(36)}":0`).join(',');
  const register = (raw: string) => {
    const headers = { 'content-type': 'application/json' };
    return server.call('POST', '/v1/onboarding/register', { raw, headers });
  };
  expect((await register(`{${members}}`)).status).toBe(413);
  expect((await register(`{${members.slice(0, 15_000)}":0}`)).body.detail).toMatchObject([{ type: 'value_error' }]);
});

const DEEP: [string, string][] = [
  ['lists', '['.repeat(5000) + ']'.repeat(5000)],
  ['objects', '{"a":'.repeat(2000) + '1' + '}'.repeat(2000)],
  ['metadata', `{"metadata":${'{"a":['.repeat(1500)}${']}'.repeat(1500)}}`],
  ['one level too many', `{"metadata":${'['.repeat(MAX_DEPTH)}${']'.repeat(MAX_DEPTH)}}`],
];

test.each(DEEP)('JSON that is nested too deeply is 422 for every operation: %s', async (_, raw) => {
  await unchanged(server, async () => {
    for (const target of WITH_BODY) {
      const answer = await rest(target, raw);
      expect(answer.status, target.operation.operationId).toBe(422);
      expect(answer.body.detail[0].msg).toBe(`Value error, input should have at most ${MAX_DEPTH} nested levels`);
      expect((await trpc(target, raw)).status).toBe(422);
    }
  });
});

const VALUES: [string, string, string][] = [
  ['NUL in a value', '{"name":"a\\u0000b"}', '["body","name"]'],
  ['NUL in a value deep inside', '{"metadata":{"a":[{"b":"\\u0000"}]}}', '["body","metadata","a",0,"b"]'],
  ['NUL in a key', '{"metadata":{"a\\u0000":1}}', '["body","metadata","a\uFFFD"]'],
  ['a lone high surrogate', '{"name":"\\ud800"}', '["body","name"]'],
  ['a lone low surrogate', '{"description":"\\udfff!"}', '["body","description"]'],
  ['surrogates in the wrong order', '{"name":"\\udc00\\ud800"}', '["body","name"]'],
  ['a lone surrogate in a key', '{"metadata":{"\\ud83d":1}}', '["body","metadata","\uFFFD"]'],
  ['__proto__ at the top', '{"__proto__":{"platformAdministrator":true}}', '["body","__proto__"]'],
  ['__proto__ in metadata', '{"metadata":{"__proto__":{"x":1}}}', '["body","metadata","__proto__"]'],
  ['__proto__ in a list', '{"metadata":{"a":[{"__proto__":null}]}}', '["body","metadata","a",0,"__proto__"]'],
];

test.each(VALUES)('a value that no record may hold is 422 at its place: %s', async (_, raw, loc) => {
  await unchanged(server, async () => {
    for (const target of WITH_BODY) {
      for (const answer of [await rest(target, raw), await trpc(target, raw)]) {
        expect(answer.status, target.operation.operationId).toBe(422);
        expect(locs(answer.body.error?.data ?? answer.body)).toEqual([`value_error ${loc}`]);
      }
    }
  });
});

describe('unknown fields', () => {
  const STRANGE = ['zzz', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'tenant_id', 'Name', ''];

  test.each(WITH_BODY.map((target) => [target.operation.operationId, target] as const))(
    '%s refuses each with the names that are allowed',
    async (_, target) => {
      const { operation } = target;
      const described = document.paths[operation.path]?.[operation.method.toLowerCase()];
      const allowed = propertiesOf(described);
      expect(allowed.length).toBeGreaterThan(0);
      await unchanged(server, async () => {
        const raw = `{${STRANGE.map((name) => `${JSON.stringify(name)}:1`).join()}}`;
        for (const answer of [await rest(target, raw), await trpc(target, raw)]) {
          expect(answer.status).toBe(422);
          const details = (answer.body.error?.data ?? answer.body).detail as Body[];
          const refused = details.filter(({ type }) => type === 'extra_forbidden');
          expect(refused.map(({ loc }) => loc)).toEqual(STRANGE.map((name) => ['body', name]));
          for (const { ctx } of refused) expect(ctx.allowed.toSorted()).toEqual(allowed.toSorted());
        }
      });
    },
  );

  test('in nested objects are refused at their place', async () => {
    const body = { user: { email: 'a@example.com', nickname: 'x', terms: { accepted: true, constructor: 1 } } };
    await unchanged(server, async () => {
      const answer = await server.call('POST', '/v1/onboarding/register', { body });
      expect(locs(answer.body)).toEqual([
        'extra_forbidden ["body","user","terms","constructor"]',
        'extra_forbidden ["body","user","nickname"]',
      ]);
    });
  });
});

test('keys named like members of Object.prototype are ordinary keys in metadata, and pollute no prototype', async () => {
  const metadata = { constructor: { prototype: { polluted: true } }, prototype: { polluted: true }, toString: 1 };
  const body = { id: 'unpolluted', name: 'unpolluted', metadata };
  const made = await server.ok('POST', '/v1/service-accounts', { as: server.admin, body });
  expect(made.metadata).toEqual(metadata);
  const found = await server.ok('POST', '/v1/service-accounts/search', {
    as: server.admin,
    body: { metadata: { toString: 1, prototype: { polluted: true } } },
  });
  expect(found.items.map(({ id }: Body) => id)).toEqual(['unpolluted']);
  expect(Object.keys(found.items[0].metadata)).toEqual(Object.keys(metadata));
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  expect(Object.prototype.toString.call([])).toBe('[object Array]');
});

const FORM = 'application/x-www-form-urlencoded';

test.each(['text/plain', 'multipart/form-data; boundary=x', FORM, 'application/jsonx', 'json'])(
  'a required body of another media type is 415: %s',
  async (type) => {
    await unchanged(server, async () => {
      for (const target of REQUIRED) {
        const { form } = target.operation;
        if (form && type === FORM) continue;
        const answer = await rest(target, '{}', { 'content-type': type });
        expect([answer.status, answer.body.code]).toEqual([415, 'media_type_unsupported']);
        expect(answer.headers.get('accept')).toBe(form ? `application/json, ${FORM}` : 'application/json');
      }
    });
  },
);

test.each([
  { 'content-type': 'application/json; charset=latin1' },
  { 'content-type': 'application/json', 'content-encoding': 'gzip' },
  { 'content-type': 'application/json', 'content-encoding': 'br, identity' },
])('a body of another charset or coding is 415: %j', async (headers) => {
  await unchanged(server, async () => {
    for (const target of WITH_BODY) expect((await rest(target, '{}', headers)).status).toBe(415);
  });
});

test('regression: metadata with an integer that JSON.parse rounds is 422, not stored with another value', async () => {
  const targets = WITH_BODY.filter(({ operation: { operationId, path, method } }) => {
    const described = document.paths[path]?.[method.toLowerCase()];
    return !operationId.startsWith('search_') && propertiesOf(described).includes('metadata');
  });
  expect(targets.length).toBeGreaterThan(5);
  await unchanged(server, async () => {
    for (const target of targets) {
      for (const id of ['12345678901234567890', '-9007199254740993']) {
        const { body } = await rest(target, `{"metadata":{"ids":[{"id":${id}}]}}`);
        expect(locs(body), target.operation.operationId).toContain('value_error ["body","metadata"]');
      }
      const { body } = await rest(target, '{"metadata":{"id":9007199254740991,"share":0.1},"x":1}');
      expect(locs(body), target.operation.operationId).not.toContain('value_error ["body","metadata"]');
    }
  });
});

test('the OTLP receiver never fails on odd bodies: they are refused or contain no span', async () => {
  const headers = { 'content-type': 'application/json', 'x-api-key': records['worker_key'] ?? '' };
  await unchanged(server, async () => {
    const texts = [...MALFORMED, ...DEEP, ...VALUES].map(([, raw]) => raw);
    for (const raw of [...texts, '[]', '""', '{"resourceSpans":[[]]}', '{"resourceSpans":[{"scopeSpans":[null]}]}']) {
      const { status } = await server.call('POST', '/v1/traces', { raw, headers });
      expect([200, 400]).toContain(status);
    }
  });
});

type Schema = { $ref?: string; properties?: object; anyOf?: Schema[] };

function propertiesOf(described: unknown): string[] {
  const { requestBody } = described as { requestBody: { content: Record<string, { schema: Schema }> } };
  const resolve = (schema: Schema | undefined): Schema[] => {
    if (schema?.$ref !== undefined) return resolve(document.components.schemas[schema.$ref.split('/').at(-1) ?? '']);
    return schema?.anyOf ? schema.anyOf.flatMap(resolve) : [schema ?? {}];
  };
  return resolve(requestBody.content['application/json']?.schema).flatMap(({ properties }) =>
    Object.keys(properties ?? {}),
  );
}
