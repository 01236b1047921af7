// One row for each error type of pydantic that this API can produce.
//
// Not produced by this API:
// - `dict_type` at ["body"] for another content type: a body of another media type is 415 where one is required, and
//   read as JSON where it is optional (see readBody).
// - integers and booleans that pydantic would read out of strings, numbers or null in a body: bodies are strict, and
//   answer int_type and bool_type for what could have been read, int_parsing and bool_parsing for what could not.
// - loc ["header", ...]: no operation declares headers; credentials and media types have other statuses.
import { expect, test } from 'vitest';
import { type Sent, send, serve } from './server.ts';

type Row = [name: string, path: string, sent: Sent, detail: object[]];

const PATTERN = '^[a-z]+$';

const rows: Row[] = [
  row('a missing field', {}, { type: 'missing', loc: ['name'], msg: 'Field required', input: {} }, ''),
  query('a query parameter that is absent', '/v1/widgets/by-size', {
    type: 'missing',
    loc: ['query', 'width'],
    msg: 'Field required',
    input: null,
  }),
  row(
    'no string',
    { name: 3 },
    { type: 'string_type', loc: ['name'], msg: 'Input should be a valid string', input: 3 },
    '',
  ),
  row(
    'null instead of a string',
    { name: null },
    {
      type: 'string_type',
      loc: ['name'],
      msg: 'Input should be a valid string',
      input: null,
    },
    '',
  ),
  row(
    'a string that is not an integer',
    { count: 'abc' },
    {
      type: 'int_parsing',
      loc: ['count'],
      msg: 'Input should be a valid integer, unable to parse string as an integer',
      input: 'abc',
    },
  ),
  ...[null, [1], { a: 1 }, '25'].map((input) =>
    row(
      `${JSON.stringify(input)} instead of an integer`,
      { count: input },
      {
        type: 'int_type',
        loc: ['count'],
        msg: 'Input should be a valid integer',
        input,
      },
    ),
  ),
  row(
    'a fraction instead of an integer',
    { count: 1.5 },
    {
      type: 'int_from_float',
      loc: ['count'],
      msg: 'Input should be a valid integer, got a number with a fractional part',
      input: 1.5,
    },
  ),
  ...['maybe', 2].map((input) =>
    row(
      `${JSON.stringify(input)} instead of a boolean`,
      { active: input },
      {
        type: 'bool_parsing',
        loc: ['active'],
        msg: 'Input should be a valid boolean, unable to interpret input',
        input,
      },
    ),
  ),
  ...[[], {}, 0.5, 1, 'true', null].map((input) =>
    row(
      `${JSON.stringify(input)} instead of a boolean`,
      { active: input },
      {
        type: 'bool_type',
        loc: ['active'],
        msg: 'Input should be a valid boolean',
        input,
      },
    ),
  ),
  row(
    'a number too small',
    { count: 0 },
    {
      type: 'greater_than_equal',
      loc: ['count'],
      msg: 'Input should be greater than or equal to 1',
      input: 0,
      ctx: { ge: 1 },
    },
  ),
  row(
    'a number that is not greater than its limit',
    { ratio: 0 },
    {
      type: 'greater_than',
      loc: ['ratio'],
      msg: 'Input should be greater than 0',
      input: 0,
      ctx: { gt: 0 },
    },
  ),
  row(
    'a number too large',
    { count: 101 },
    {
      type: 'less_than_equal',
      loc: ['count'],
      msg: 'Input should be less than or equal to 100',
      input: 101,
      ctx: { le: 100 },
    },
  ),
  row(
    'an integer that a double cannot represent exactly',
    { count: 1e20 },
    {
      type: 'less_than_equal',
      loc: ['count'],
      msg: 'Input should be less than or equal to 100',
      input: 1e20,
      ctx: { le: 100 },
    },
  ),
  row(
    'a number that is not less than its limit',
    { ratio: 1 },
    {
      type: 'less_than',
      loc: ['ratio'],
      msg: 'Input should be less than 1',
      input: 1,
      ctx: { lt: 1 },
    },
  ),
  row(
    'a string too short',
    { name: 'a' },
    {
      type: 'string_too_short',
      loc: ['name'],
      msg: 'String should have at least 2 characters',
      input: 'a',
      ctx: { min_length: 2 },
    },
    '',
  ),
  row(
    'a string too long',
    { name: 'abcdefghi' },
    {
      type: 'string_too_long',
      loc: ['name'],
      msg: 'String should have at most 8 characters',
      input: 'abcdefghi',
      ctx: { max_length: 8 },
    },
    '',
  ),
  row(
    'a list too short',
    { tags: [] },
    {
      type: 'too_short',
      loc: ['tags'],
      msg: 'List should have at least 1 item after validation, not 0',
      input: [],
      ctx: { field_type: 'List', min_length: 1, actual_length: 0 },
    },
  ),
  row(
    'a list too long',
    { tags: ['a', 'b', 'c'] },
    {
      type: 'too_long',
      loc: ['tags'],
      msg: 'List should have at most 2 items after validation, not 3',
      input: ['a', 'b', 'c'],
      ctx: { field_type: 'List', max_length: 2, actual_length: 3 },
    },
  ),
  row(
    'a pattern',
    { code: 'A1' },
    {
      type: 'string_pattern_mismatch',
      loc: ['code'],
      msg: `String should match pattern '${PATTERN}'`,
      input: 'A1',
      ctx: { pattern: PATTERN },
    },
  ),
  row(
    'an email address',
    { email: 'nobody' },
    {
      type: 'value_error',
      loc: ['email'],
      msg: 'value is not a valid email address',
      input: 'nobody',
      ctx: { reason: 'value is not a valid email address' },
    },
  ),
  row(
    'an enumeration',
    { kind: 'd' },
    {
      type: 'enum',
      loc: ['kind'],
      msg: "Input should be 'a', 'b' or 'c'",
      input: 'd',
      ctx: { expected: "'a', 'b' or 'c'" },
    },
  ),
  row(
    'a literal',
    { version: 'v2' },
    {
      type: 'literal_error',
      loc: ['version'],
      msg: "Input should be 'v1'",
      input: 'v2',
      ctx: { expected: "'v1'" },
    },
  ),
  row(
    'an unknown key',
    { size: { width: 1, depth: 2 } },
    {
      type: 'extra_forbidden',
      loc: ['size', 'depth'],
      msg: 'Extra inputs are not permitted',
      input: 2,
      ctx: { allowed: ['width', 'height'] },
    },
  ),
  [
    'a body that is not an object',
    '/v1/widgets',
    { body: '[]' },
    [
      {
        type: 'model_attributes_type',
        loc: ['body'],
        msg: 'Input should be a valid dictionary or object to extract fields from',
        input: [],
      },
    ],
  ],
  row(
    'a value that is not an object, for a free-form object',
    { metadata: 3 },
    {
      type: 'dict_type',
      loc: ['metadata'],
      msg: 'Input should be a valid dictionary',
      input: 3,
    },
  ),
  row(
    'no list',
    { tags: 'a' },
    {
      type: 'list_type',
      loc: ['tags'],
      msg: 'Input should be a valid list',
      input: 'a',
    },
  ),
  row(
    'an element of a list',
    { tags: ['a', 3] },
    {
      type: 'string_type',
      loc: ['tags', 1],
      msg: 'Input should be a valid string',
      input: 3,
    },
  ),
  row(
    'a custom rule',
    { even: 3 },
    {
      type: 'value_error',
      loc: ['even'],
      msg: 'Value error, even should be even',
      input: 3,
      ctx: { error: 'even should be even' },
    },
  ),
  row(
    'a union, with the errors of its closest option',
    { note: 1.5 },
    {
      type: 'int_from_float',
      loc: ['note'],
      msg: 'Input should be a valid integer, got a number with a fractional part',
      input: 1.5,
    },
  ),
  row(
    'a tagged union with an unknown tag',
    { shape: { type: 'flat' } },
    {
      type: 'union_tag_invalid',
      loc: ['shape'],
      msg: "Input tag 'flat' found using 'type' does not match any of the expected tags: 'round', 'square'",
      input: { type: 'flat' },
      ctx: { discriminator: "'type'", tag: 'flat', expected_tags: "'round', 'square'" },
    },
  ),
  row(
    'a tagged union without its tag',
    { shape: {} },
    {
      type: 'union_tag_not_found',
      loc: ['shape'],
      msg: "Unable to extract tag using discriminator 'type'",
      input: {},
      ctx: { discriminator: "'type'" },
    },
  ),
  row(
    'a time',
    { startsAt: 'today' },
    {
      type: 'datetime_from_date_parsing',
      loc: ['startsAt'],
      msg: 'Input should be a valid datetime or date, input is too short',
      input: 'today',
      ctx: { error: 'input is too short' },
    },
  ),
  row(
    'a URL',
    { homepage: 'here' },
    {
      type: 'url_parsing',
      loc: ['homepage'],
      msg: 'Input should be a valid URL, relative URL without a base',
      input: 'here',
      ctx: { error: 'relative URL without a base' },
    },
  ),
  [
    'invalid JSON',
    '/v1/widgets',
    { body: '{"name": }' },
    [
      {
        type: 'json_invalid',
        loc: ['body', 9],
        msg: 'JSON decode error',
        input: {},
        ctx: { error: 'Value expected' },
      },
    ],
  ],
  ...['', 'null'].map(
    (body): Row => [
      `a required body ${body || 'empty'}`,
      '/v1/widgets',
      { method: 'POST', body },
      [{ type: 'missing', loc: ['body'], msg: 'Field required', input: null }],
    ],
  ),
  [
    'a missing required body',
    '/v1/widgets',
    { method: 'POST' },
    [{ type: 'missing', loc: ['body'], msg: 'Field required', input: null }],
  ],
  ...['', 'null', 'abc', '1.5', '1e2', '0x10'].map((text) =>
    query(`${text || 'nothing'} for an integer in the query`, `/v1/widgets/by-size?width=${text}`, {
      type: 'int_parsing',
      loc: ['query', 'width'],
      msg: 'Input should be a valid integer, unable to parse string as an integer',
      input: text,
    }),
  ),
  ...['', 'null', '2'].map((text) =>
    query(`${text || 'nothing'} for a boolean in the query`, `/v1/widgets?unknown=${text}`, {
      type: 'bool_parsing',
      loc: ['query', 'unknown'],
      msg: 'Input should be a valid boolean, unable to interpret input',
      input: text,
    }),
  ),
  query('a query value beyond its limit, with its text as it was sent', '/v1/widgets?limit=%200%20', {
    type: 'greater_than_equal',
    loc: ['query', 'limit'],
    msg: 'Input should be greater than or equal to 1',
    input: ' 0 ',
    ctx: { ge: 1 },
  }),
];

test.each(rows)('answers 422 with the error of pydantic for %s', async (_name, path, sent, detail) => {
  const server = await serve();
  const answer = await send(server, path, sent);
  expect(answer.body).toEqual({ detail });
  expect(answer.status).toBe(422);
  expect(answer.headers.get('content-type')).toBe('application/json');
  expect(answer.headers.get('x-request-id')).toBe('req-1');
});

test.each(['{}', 'null', ''])('an optional body may be %j, with or without any Content-Type', async (body) => {
  const server = await serve();
  for (const type of ['application/json', 'text/plain', 'application/x-www-form-urlencoded', '']) {
    const answer = await send(server, '/v1/widgets/search', {
      method: 'POST',
      body,
      headers: { 'content-type': type },
    });
    expect([answer.status, answer.body]).toEqual([200, { body: {} }]);
  }
});

test('one answer contains the errors of query and body, but only the first error of a field', async () => {
  const server = await serve();
  const sent = { method: 'PUT', body: '{"name":1,"count":"x","b":1,"a":2}' };
  const { body } = await send(server, '/v1/widgets/w?revision=x', sent);
  expect(body.detail.map(({ loc, type }: { loc: string[]; type: string }) => `${loc.join('.')} ${type}`)).toEqual([
    'query.revision int_parsing',
    'body.name string_type',
    'body.count int_parsing',
    'body.b extra_forbidden',
    'body.a extra_forbidden',
  ]);
});

test('invalid JSON is the only error, even if the query is invalid too', async () => {
  const server = await serve();
  const { body } = await send(server, '/v1/widgets/w?revision=x', { method: 'PUT', body: '{' });
  expect(body.detail).toHaveLength(1);
  expect(body.detail[0].type).toBe('json_invalid');
});

test('tRPC answers the same error details with status 422', async () => {
  const server = await serve();
  const { status, body } = await send(server, '/trpc/create', { body: '{"body":{"name":"abc","x":1}}' });
  expect(status).toBe(422);
  expect(body.error.data.detail[0]).toMatchObject({ type: 'extra_forbidden', loc: ['body', 'x'], input: 1 });
  expect(body.error.data.detail[0].ctx.allowed).toContain('homepage');
});

/** A create with one invalid field. `loc` is relative to the body. The name is valid unless it is the invalid field. */
function row(
  name: string,
  body: object,
  detail: { loc: (string | number)[]; [member: string]: unknown },
  given = 'abc',
): Row {
  const whole = given === '' ? body : { name: given, ...body };
  return [name, '/v1/widgets', { body: JSON.stringify(whole) }, [{ ...detail, loc: ['body', ...detail.loc] }]];
}

function query(name: string, path: string, detail: object): Row {
  return [name, path, {}, [detail]];
}
