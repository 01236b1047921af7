import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { TAGS } from '@quartermaster/contracts/operation.ts';
import { expect, test } from 'vitest';
import { openApiDocument } from '../../src/http/openapi/openapi.ts';
import { withSharedParts } from '../support/shared-parts.ts';
import { widgets } from './widgets.ts';

const REDOCLY = fileURLToPath(new URL('../../node_modules/.bin/redocly', import.meta.url));

type Content = Record<string, { schema: unknown }>;
type Described = {
  operationId: string;
  security: object[];
  parameters?: { in: string; name: string; required?: boolean; description?: string }[];
  requestBody?: { required: boolean; content: Content };
  responses: Record<string, { description: string; headers: object; content: Content }>;
};
type Document = {
  info: object;
  servers: object[];
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, Described>>;
  components: { schemas: Record<string, Record<string, unknown>>; securitySchemes: object };
};

function generate(): Document {
  return openApiDocument({ router: widgets, version: '0.1.0', serverUrl: 'https://qm' }) as Document;
}

const document = generate();
const { paths } = withSharedParts(document);

function described(method: string, path: string): Described {
  const found = paths[path]?.[method];
  if (!found) throw new Error(`${method} ${path} is not in the document`);
  return found;
}

test('the document passes the recommended rules of Redocly without a warning', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'openapi-'));
  try {
    const file = join(folder, 'openapi.json');
    await writeFile(file, JSON.stringify(document));
    const { stdout } = await promisify(execFile)(
      REDOCLY,
      ['lint', '--extends', 'recommended', '--format', 'json', file],
      { cwd: folder, env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' } },
    );
    expect(JSON.parse(stdout)).toMatchObject({ totals: { errors: 0, warnings: 0 } });
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('the document is deterministic', () => {
  expect(JSON.stringify(generate())).toBe(JSON.stringify(document));
});

test('the document contains product, version, licence and server', () => {
  expect(document).toMatchObject({
    openapi: '3.1.0',
    info: {
      title: 'Quartermaster',
      version: '0.1.0',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: 'https://qm' }],
  });
  expect(document.tags.map(({ name }) => name)).toEqual(['Providers', 'Traces', 'Users']);
  for (const { name, description } of document.tags) expect(TAGS[name as keyof typeof TAGS]).toBe(description);
});

test('every operation has both security schemes with its scope, and public operations have none', () => {
  expect(document.components.securitySchemes).toEqual({
    bearerAuth: {
      type: 'http',
      scheme: 'bearer',
      bearerFormat: 'JWT',
      description: 'OIDC access token for users and CLI clients',
    },
    apiKeyAuth: {
      type: 'apiKey',
      in: 'header',
      name: 'X-API-Key',
      description: 'Scoped service-account API key for external agents and runtime clients',
    },
  });
  const scoped = (scope: string) => [{ bearerAuth: [scope] }, { apiKeyAuth: [scope] }];
  expect(described('get', '/v1/widgets').security).toEqual(scoped('providers:read'));
  expect(described('post', '/v1/widgets').security).toEqual(scoped('providers:write'));
  expect(described('get', '/v1/widgets/by-size').security).toEqual([{ bearerAuth: [] }, { apiKeyAuth: [] }]);
  expect(described('post', '/v1/register').security).toEqual([]);
  expect(described('post', '/v1/traces').security).toEqual(scoped('traces:write'));
});

test('each operation declares all statuses that it can answer', () => {
  const statuses = (method: string, path: string) => Object.keys(described(method, path).responses).map(Number);
  expect(statuses('get', '/v1/widgets')).toEqual([200, 400, 401, 403, 422, 429, 500, 503]);
  expect(statuses('get', '/v1/widgets/{widget_id}')).toEqual([200, 400, 401, 403, 404, 422, 429, 500, 503]);
  expect(statuses('post', '/v1/widgets')).toEqual([200, 400, 401, 403, 409, 413, 415, 422, 429, 500, 503]);
  expect(statuses('post', '/v1/register')).toEqual([200, 409, 413, 415, 422, 429, 500, 503]);
  expect(statuses('post', '/v1/traces')).toEqual([200, 400, 401, 403, 413, 415, 429, 500, 503]);
});

test('an error response declares its codes, headers and body', () => {
  const { responses } = described('get', '/v1/widgets/{widget_id}');
  expect(responses['404']).toEqual({
    description: '`route_not_found` (Path not found), `provider_not_found` (Provider not found).',
    headers: {
      'X-Request-Id': { $ref: '#/components/headers/RequestId' },
      'RateLimit-Policy': { $ref: '#/components/headers/RateLimitPolicy' },
      RateLimit: { $ref: '#/components/headers/RateLimit' },
    },
    content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
  });
  expect(responses['422']?.content).toEqual({
    'application/json': { schema: { $ref: '#/components/schemas/HTTPValidationError' } },
  });
  expect(Object.keys(responses['503']?.headers ?? {})).toEqual([
    'X-Request-Id',
    'RateLimit-Policy',
    'RateLimit',
    'Retry-After',
  ]);
});

test('a 415 response declares the headers that say what the operation reads', () => {
  for (const path of ['/v1/widgets', '/v1/register', '/v1/traces']) {
    expect(Object.keys(described('post', path).responses['415']?.headers ?? {}).slice(3)).toEqual([
      'Accept',
      'Accept-Encoding',
    ]);
  }
});

test('parts that several operations share are components, and other parts are inline', () => {
  const { parameters, responses } = document.paths['/v1/widgets/{widget_id}']?.['get'] ?? {};
  expect(parameters).toEqual([{ $ref: '#/components/parameters/WidgetId' }]);
  expect(responses?.['404']).toEqual({ $ref: '#/components/responses/ProviderNotFound' });
  expect(responses?.['429']).toEqual({ $ref: '#/components/responses/TooManyRequests' });
  const { responses: ofOtlp } = document.paths['/v1/traces']?.['post'] ?? {};
  // OTLP operations share responses only with each other, because their bodies differ.
  expect(ofOtlp?.['429']).toEqual({ $ref: '#/components/responses/OtlpTooManyRequests' });
  const shared = JSON.stringify(ofOtlp).match(/components\/responses\/\w+/g) ?? [];
  expect(shared.filter((name) => !name.startsWith('components/responses/Otlp'))).toEqual([]);
});

test('an optional body may be null, a required one may not', () => {
  expect(described('post', '/v1/widgets/search').requestBody).toEqual({
    required: false,
    content: {
      'application/json': {
        schema: { anyOf: [{ $ref: '#/components/schemas/SearchWidgetsInput' }, { type: 'null' }] },
      },
    },
  });
  expect(described('post', '/v1/widgets').requestBody).toEqual({
    required: true,
    content: { 'application/json': { schema: { $ref: '#/components/schemas/CreateWidgetInput' } } },
  });
});

test('parameters have a place, a description, and say whether they are required', () => {
  const parameters = described('get', '/v1/widgets').parameters ?? [];
  expect(parameters.map(({ name }) => name)).toEqual(['tenant_id', 'unknown', 'status', 'limit', 'ratio', 'ids']);
  expect(parameters.every(({ required }) => !required)).toBe(true);
  expect(parameters[1]).toMatchObject({ in: 'query', description: 'Only undeclared ones.' });
  expect(described('get', '/v1/widgets/by-size').parameters).toMatchObject([{ name: 'width', required: true }]);
  expect(described('get', '/v1/widgets/{widget_id}').parameters).toMatchObject([
    { in: 'path', name: 'widget_id', required: true, description: 'The widget.' },
  ]);
});

test('strict objects have additionalProperties: false, and a schema of requests and answers has one name', () => {
  const { schemas } = document.components;
  expect(schemas.CreateWidgetInput).toMatchObject({ additionalProperties: false, description: 'A new widget.' });
  expect(Object.keys(schemas).filter((name) => name.endsWith('Output'))).toEqual([]);
});

test('the OTLP operation accepts and answers both encodings, with google.rpc.Status for errors', () => {
  const { requestBody, responses } = described('post', '/v1/traces');
  expect(Object.keys(requestBody?.content ?? {})).toEqual(['application/json', 'application/x-protobuf']);
  expect(responses['400']?.content['application/json']).toEqual({ schema: { $ref: '#/components/schemas/Status' } });
});
