import { HTTPValidationErrorSchema, ProblemSchema } from '@quartermaster/contracts/errors.ts';
import { type Operation, TAGS } from '@quartermaster/contracts/operation.ts';
import type { AnyTRPCRouter } from '@trpc/server';
import { generateOpenApiDocument, type OpenApiRouter } from 'trpc-to-openapi';
import { z } from 'zod';
import type {
  ZodOpenApiOperationObject,
  ZodOpenApiPathsObject,
  ZodOpenApiResponseObject,
  ZodOpenApiResponsesObject,
} from 'zod-openapi';
import { pascalCased, refusalsOf } from '../errors/declared-errors.ts';
import { withNumberFormats } from './document-formats.ts';
import { HEADERS, headerParametersOf, responseHeadersOf } from './documented-headers.ts';
import { FORM_MEDIA_TYPE } from '../messages/form.ts';
import { operationOf, operationsOf, proceduresOf, router } from '../trpc.ts';

type DocumentOptions = {
  router: AnyTRPCRouter;
  /** Operations that are not procedures of the router. */
  further?: readonly Operation[];
  /** The product's version. */
  version: string;
  serverUrl: string;
};

/**
 * Returns the OpenAPI 3.1.0 document. trpc-to-openapi's generator takes the routes from the router. It refuses duplicate routes,
 * unknown methods, and parameters of the path that the input does not have. What the document says about each route comes from
 * `paths`, which is made here from the contract and replaces what the generator made of the procedure: it would put the query of a
 * write into its body, leave out headers and optional bodies, and describe other error bodies.
 *
 * The same operations always give the same document.
 */
export function openApiDocument(options: DocumentOptions): object {
  const further = options.further ?? [];
  const operations = [...operationsOf(options.router), ...further];
  const byRoute = Object.entries(proceduresOf(options.router)).toSorted(([, one], [, other]) =>
    byPath(operationOf(one), operationOf(other)),
  );
  const paths: ZodOpenApiPathsObject = {};
  const shared: Shared = { pathParameters: sharedPathParameters(operations), responses: new Map() };
  for (const [, procedure] of byRoute) {
    const operation = operationOf(procedure);
    const object = operationObjectOf(operation, shared);
    paths[operation.path] = { ...paths[operation.path], [METHODS[operation.method]]: object };
  }
  for (const operation of further) {
    const object = operationObjectOf(operation, shared);
    paths[operation.path] = { ...paths[operation.path], [METHODS[operation.method]]: object };
  }
  const used = new Set<string>(operations.map(({ tag }) => tag));
  const document = generateOpenApiDocument(router(Object.fromEntries(byRoute)) as OpenApiRouter, {
    openApiVersion: '3.1.0',
    title: 'Quartermaster',
    description: DESCRIPTION,
    version: options.version,
    license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    baseUrl: options.serverUrl,
    paths,
    securitySchemes: SECURITY_SCHEMES,
  });
  return withNumberFormats({
    ...document,
    tags: Object.entries(TAGS)
      .filter(([name]) => used.has(name))
      .map(([name, description]) => ({ name, description })),
    components: { ...document.components, headers: usedHeaders(document) },
  });
}

const METHODS = { GET: 'get', POST: 'post', PUT: 'put', DELETE: 'delete' } as const;

const DESCRIPTION = `The administration plane of an AI-agent platform: who may act, what agents may use, what they really use, and what to do about the difference.

**Lists** return \`{ "items": [...], "nextCursor": ... }\`. To get the next page, send \`nextCursor\` as \`cursor\` with the same filters. An unknown value of an enum filter or an unknown query parameter is refused (422), so that a typing error does not look like an empty list. The operations that ignore unknown query parameters say so.

**Updates** change only the fields that the body names. A field that is left out keeps its value, and null clears it.

**Errors** are problem documents (RFC 9457) with a \`code\` that never changes. Only invalid values have another body: 422 with \`HTTPValidationError\`. Every answer has an \`X-Request-Id\`.

**Repeated requests**: a write that is repeated with the same \`Idempotency-Key\` is carried out once, and gets the same answer again.

**Conditional requests**: records have an \`ETag\`. Send it as \`If-Match\` to change a record only if it has not changed in the meantime, and as \`If-None-Match\` to read a record only if it has changed.

**Rate limits**: \`RateLimit\` says how many points of the limit remain. When none remain, the answer is 429 with \`Retry-After\`.`;

const SECURITY_SCHEMES = {
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
} as const;

type Schema = z.ZodType;

/** Objects that several operations share. zod-openapi recognizes a shared component by object identity. */
type Shared = { pathParameters: Map<string, Schema>; responses: Map<string, ZodOpenApiResponseObject> };

/** The error body of OTLP operations. */
const StatusSchema = z
  .object({
    code: z.int().optional().describe('The error code: a number of google.rpc.Code.'),
    message: z.string().optional().describe('What was wrong with the request, for people.'),
  })
  .meta({ id: 'Status', description: 'An error of OTLP/HTTP (google.rpc.Status).' });

function operationObjectOf(operation: Operation, shared: Shared): ZodOpenApiOperationObject {
  const { query } = operation;
  const path = pathParametersOf(operation, shared);
  const header = headerParametersOf(operation);
  const description = operation.description === undefined ? [] : [operation.description];
  if (operation.ignoresUnknownQuery) description.push('Unknown query parameters are ignored.');
  const parameters = { ...(path && { path }), ...(query && { query }), ...(header && { header }) };
  return {
    operationId: operation.operationId,
    summary: operation.summary,
    ...(description.length > 0 && { description: description.join(' ') }),
    tags: [operation.tag],
    security: securityOf(operation),
    ...(Object.keys(parameters).length > 0 && { requestParams: parameters }),
    ...bodyOf(operation),
    responses: responsesOf(operation, shared),
  };
}

/** Parameters that would have the name of a schema. */
const PARAMETER_IDS: Readonly<Record<string, string>> = { provider: 'ProviderReference' };

/** The path parameters that several operations have, by name. A name means the same in every path. */
function sharedPathParameters(operations: readonly Operation[]): Map<string, Schema> {
  const fields = operations.flatMap(({ params }) => Object.entries(params?.shape ?? {}) as [string, Schema][]);
  const repeated = fields.filter(([name]) => fields.filter(([other]) => other === name).length > 1);
  return new Map(
    repeated.map(([name, schema]) => [
      name,
      schema.meta({ ...schema.meta(), param: { id: PARAMETER_IDS[name] ?? pascalCased(name) } }),
    ]),
  );
}

function pathParametersOf({ params }: Operation, { pathParameters }: Shared): z.ZodObject | undefined {
  if (!params) return undefined;
  const fields = Object.entries(params.shape as Record<string, Schema>).map(([name, schema]) => {
    const shared = pathParameters.get(name);
    return [name, shared?.description === schema.description ? shared : schema];
  });
  return z.object(Object.fromEntries(fields));
}

/** Callers use one of the two schemes. Each lists the scope that the credential must hold. */
function securityOf({ scope, transport }: Operation): Record<string, string[]>[] {
  if (scope === 'public') return transport === 'decision' ? [{ bearerAuth: [] }] : [];
  const scopes = scope === null ? [] : [scope];
  return [{ bearerAuth: scopes }, { apiKeyAuth: [...scopes] }];
}

function bodyOf({ body, bodyOptional, form, transport }: Operation): Pick<ZodOpenApiOperationObject, 'requestBody'> {
  if (transport === 'otlp') {
    const description = `An ${body?.meta()?.id ?? 'OTLP request'}, with gzip, deflate or zstd, or without compression.`;
    return { requestBody: { required: true, description, content: inBothEncodings({ type: 'object' }) } };
  }
  if (!body) return {};
  const schema = bodyOptional ? body.nullable() : body;
  const content = { ...json(schema), ...(form && { [FORM_MEDIA_TYPE]: { schema } }) };
  return { requestBody: { required: !bodyOptional, content } };
}

function responsesOf(operation: Operation, shared: Shared): ZodOpenApiResponsesObject {
  const otlp = operation.transport === 'otlp';
  const output = operation.output as unknown as Schema;
  const success = otlp ? inBothEncodings(output) : json(output);
  const responses: ZodOpenApiResponsesObject = {};
  for (const status of operation.successStatuses) {
    responses[`${status}`] = {
      description: output.description ?? operation.summary,
      headers: responseHeadersOf(operation, status),
      ...(output instanceof z.ZodNull ? {} : { content: success }),
    };
  }
  if (operation.method === 'GET' && operation.record) {
    const description = 'The record has one of the entity tags in `If-None-Match`.';
    responses['304'] = sharedResponse(shared, 'NotModified', {
      description,
      headers: responseHeadersOf(operation, 304),
    });
  }
  for (const { status, component, description } of refusalsOf(operation)) {
    const content = otlp
      ? inBothEncodings(StatusSchema)
      : status === 422
        ? json(HTTPValidationErrorSchema)
        : { 'application/problem+json': { schema: ProblemSchema } };
    const response = { description, headers: responseHeadersOf(operation, status), content };
    responses[`${status as 400}`] = component === undefined ? response : sharedResponse(shared, component, response);
  }
  return responses;
}

function sharedResponse({ responses }: Shared, id: string, response: ZodOpenApiResponseObject) {
  const first = responses.get(id) ?? { id, ...response };
  responses.set(id, first);
  return first;
}

/** Only the headers that the document refers to, because Redocly warns about unused components. */
function usedHeaders(document: object): object {
  const text = JSON.stringify(document);
  return Object.fromEntries(Object.entries(HEADERS).filter(([name]) => text.includes(`#/components/headers/${name}"`)));
}

function json(schema: Schema) {
  return { 'application/json': { schema } };
}

/** The two encodings of OTLP. Only JSON has a schema; protobuf is described as bytes. */
function inBothEncodings(schema: Schema | { type: 'object' }) {
  return {
    'application/json': { schema },
    'application/x-protobuf': { schema: { type: 'string', format: 'binary' } as const },
  };
}

function byPath(a: Operation, b: Operation): number {
  return a.path === b.path ? rank(a) - rank(b) : a.path < b.path ? -1 : 1;
}

function rank({ method }: Operation): number {
  return Object.keys(METHODS).indexOf(method);
}
