import type { Operation } from '@quartermaster/contracts/operation.ts';
import type { Arbitrary } from 'fast-check';
import * as fc from 'fast-check';
import { document } from '../support/contract-check.ts';
import { junkTexts, type Mutation, mutations } from './mutations.ts';
import { type Schema, valuesOf } from './schema-values.ts';

/** Who sends a request: the owner, or one of the callers that must be refused. */
export type Caller = 'owner' | 'anonymous' | 'stranger' | 'powerless' | 'garbage';

/** The value of a path parameter: the id of an existing record, the id of a deleted one, or any text. */
type PathValue = 'live' | 'dead' | { text: string };

/** A request as data. Its placeholders get their ids when it is sent. */
export type Request = {
  caller: Caller;
  /** The index of the operation's record that it is about. */
  record: number;
  path: PathValue[];
  /** Whether it has the query that the operation needs, and the parameters that are added. */
  query: { own: boolean; more: [string, unknown][] };
  headers: Record<string, string>;
  body: RequestBody;
};

export type RequestBody =
  | { as: 'none' }
  /** The valid body of the fixture or one generated from the schema, and its mutations. */
  | { as: 'json'; value: { own: true } | { made: unknown }; mutations: Mutation[]; contentType: string }
  /** A text that may be invalid JSON. */
  | { as: 'text'; text: string; contentType: string };

type Parameter = { name: string; in: string; schema: Schema };
type Documented = { parameters?: Parameter[]; requestBody?: { content: Record<string, { schema: Schema }> } };

/** Requests for an operation, generated from the document. About half of them are valid. */
export function requestsFor({ operationId, method, path }: Operation): Arbitrary<Request> {
  const documented = document.paths[path]?.[method.toLowerCase()] as unknown as Documented | undefined;
  if (!documented) throw new Error(`the document has no ${operationId}`);
  const parameters = documented.parameters ?? [];
  const placed = (where: string) => parameters.filter((parameter) => parameter.in === where);
  const schema = documented.requestBody?.content['application/json']?.schema;
  return fc.record({
    caller: fc.oneof(
      { weight: 16, arbitrary: fc.constant('owner' as const) },
      { weight: 4, arbitrary: fc.constantFrom<Caller>('anonymous', 'stranger', 'powerless', 'garbage') },
    ),
    record: fc.nat({ max: 999 }),
    path: fc.tuple(...placed('path').map(() => pathValues)),
    query: queriesOf(placed('query')),
    headers: headersOf(placed('header')),
    body: schema ? bodiesOf(schema) : fc.oneof({ weight: 9, arbitrary: noBodies }, rawBodies),
  });
}

/** A valid request for one of the operation's records. */
export function validRequest({ path, body }: Operation, record: number): Request {
  return {
    caller: 'owner',
    record,
    query: { own: true, more: [] },
    headers: {},
    path: Array.from(path.matchAll(/\{\w+\}/g), () => 'live' as const),
    body: body ? { as: 'json', value: { own: true }, mutations: [], contentType: JSON_TYPE } : { as: 'none' },
  };
}

const pathValues: Arbitrary<PathValue> = fc.oneof(
  { weight: 10, arbitrary: fc.constant('live' as const) },
  { weight: 1, arbitrary: fc.constant('dead' as const) },
  { weight: 1, arbitrary: fc.record({ text: junkTexts }) },
);

/** Most parameters are left out, because a query in which a filter matches nothing proves little. */
function queriesOf(parameters: Parameter[]): Arbitrary<Request['query']> {
  const given = parameters.map(({ name, schema }) =>
    fc.option(fc.tuple(fc.constant(name), valuesOf(schema, name)), { freq: name === 'cursor' ? 20 : 3, nil: null }),
  );
  const spoiled = fc.oneof(
    { weight: 5, arbitrary: fc.constant<[string, unknown][]>([]) },
    {
      weight: 1,
      arbitrary: fc.array(
        fc.tuple(
          parameters.length === 0
            ? junkTexts
            : fc.oneof(fc.constantFrom(...parameters.map(({ name }) => name)), junkTexts),
          junkTexts as Arbitrary<unknown>,
        ),
        { minLength: 1, maxLength: 3 },
      ),
    },
  );
  return fc.record({
    own: fc.oneof({ weight: 9, arbitrary: fc.constant(true) }, fc.constant(false)),
    more: fc
      .tuple(fc.tuple(...given), spoiled)
      .map(([some, others]) => [...some.filter((one) => one !== null), ...others] as [string, unknown][]),
  });
}

/** Values that Node can send in a header. */
const headerTexts = fc.string({ maxLength: 40 }).map((text) => text.trim());

function headersOf(parameters: Parameter[]): Arbitrary<Record<string, string>> {
  const declared = Object.fromEntries(
    parameters.map(({ name, schema }) => [
      name,
      fc.oneof(
        valuesOf(schema).map((value) => String(value).replace(/[^\x20-\x7e]/g, '_')),
        headerTexts,
      ),
    ]),
  );
  const others = {
    'x-request-id': headerTexts,
    accept: fc.constantFrom('*/*', 'text/html', 'application/xml;q=1', ''),
    'content-encoding': fc.constantFrom('gzip', 'identity', 'br'),
    'accept-language': headerTexts,
    range: fc.constant('bytes=0-1'),
    'if-none-match': fc.constantFrom('*', '"x"'),
    'x-http-method-override': fc.constantFrom('DELETE', 'PUT'),
  };
  const some = fc.record({ ...declared, ...others }, { requiredKeys: [] });
  return fc.oneof({ weight: 4, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: some });
}

const JSON_TYPE = 'application/json';
const contentTypes = fc.oneof(
  { weight: 10, arbitrary: fc.constant(JSON_TYPE) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      '',
      'text/plain',
      'application/json; charset=utf-8',
      'application/json; charset=utf-16',
      'application/xml',
      'multipart/form-data',
      'application/x-www-form-urlencoded',
      'application/merge-patch+json',
      'a/b/c',
      ';',
      'application/x-protobuf',
    ),
  },
);

const texts = fc.oneof(
  fc.constantFrom(
    '',
    'null',
    '[]',
    '{}',
    '"text"',
    '0',
    '{',
    '{"a":1}x',
    '{"a":1,"a":2}',
    '\ufeff{}',
    'a=b&c',
    "{'a':1}",
  ),
  fc.constantFrom('['.repeat(5_000), `${'{"a":'.repeat(65)}1${'}'.repeat(65)}`, '{"a":1e999}', '{"a":-0}', '\0'),
  fc.string({ unit: 'binary', maxLength: 60 }),
);

function bodiesOf(schema: Schema): Arbitrary<RequestBody> {
  const json = fc.record({
    as: fc.constant('json' as const),
    value: fc.oneof(
      fc.constant<{ own: true }>({ own: true }),
      valuesOf(schema).map((made) => ({ made })),
    ),
    mutations: fc.oneof(fc.constant<Mutation[]>([]), mutations),
    contentType: contentTypes,
  });

  return fc.oneof({ weight: 12, arbitrary: json }, { weight: 1, arbitrary: rawBodies }, noBodies);
}

const noBodies: Arbitrary<RequestBody> = fc.constant({ as: 'none' });
const rawBodies: Arbitrary<RequestBody> = fc.record({
  as: fc.constant('text' as const),
  text: texts,
  contentType: contentTypes,
});
