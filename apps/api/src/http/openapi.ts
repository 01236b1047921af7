import { HTTPValidationErrorSchema, ProblemSchema } from '@quartermaster/contracts/errors.ts';
import { type Operation, TAGS } from '@quartermaster/contracts/operation.ts';
import { initTRPC } from '@trpc/server';
import { generateOpenApiDocument, type OpenApiMeta } from 'trpc-to-openapi';
import { z } from 'zod';
import type {
  ZodOpenApiOperationObject,
  ZodOpenApiPathsObject,
  ZodOpenApiResponseObject,
  ZodOpenApiResponsesObject,
} from 'zod-openapi';
import { pascalCased, refusalsOf } from './declared-errors.ts';
import { tidied } from './document-formats.ts';
import { HEADERS, headerParametersOf, responseHeadersOf } from './documented-headers.ts';
import { FORM_MEDIA_TYPE } from './form.ts';
import { type Procedures, proceduresByOperation } from './rest.ts';

type DocumentOptions = {
  procedures: Procedures;
  /** Operations without a procedure: those of the OTLP receiver. */
  operations?: readonly Operation[];
  /** The product's version. */
  version: string;
  serverUrl: string;
};

/**
 * The OpenAPI 3.1.0 document of all operations. It goes through trpc-to-openapi's generator, with operations made
 * here: what the generator makes of a procedure lacks the query of a write and an optional body, and its error bodies
 * are not ours. The same operations in the same order give the same document.
 */
export function openApiDocument(options: DocumentOptions): object {
  const operations = [
    ...proceduresByOperation(options.procedures).map(([operation]) => operation),
    ...(options.operations ?? []),
  ];
  const paths: ZodOpenApiPathsObject = {};
  const shared: Shared = { pathParameters: sharedPathParameters(operations), responses: new Map() };
  for (const operation of operations.toSorted(byPath)) {
    const method = METHODS[operation.method];
    const here = paths[operation.path];
    if (here?.[method]) throw new Error(`Two operations at ${operation.method} ${operation.path}`);
    paths[operation.path] = { ...here, [method]: described(operation, shared) };
  }
  const used = new Set<string>(operations.map(({ tag }) => tag));
  const document = generateOpenApiDocument(initTRPC.meta<OpenApiMeta>().create().router({}), {
    openApiVersion: '3.1.0',
    title: 'Quartermaster',
    description: DESCRIPTION,
    version: options.version,
    license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    baseUrl: options.serverUrl,
    paths,
    securitySchemes: SECURITY_SCHEMES,
  });
  return tidied({
    ...document,
    tags: Object.entries(TAGS)
      .filter(([name]) => used.has(name))
      .map(([name, description]) => ({ name, description })),
    components: { ...document.components, headers: usedHeaders(document) },
  });
}

const METHODS = { GET: 'get', POST: 'post', PUT: 'put', DELETE: 'delete' } as const;

const DESCRIPTION = `The administration plane of an AI-agent platform: who may act, what may be used, what was really used, and what to do about the difference.

Lists answer \`{ "items": [...], "nextCursor": ... }\`; hand the cursor in again, with the same filters, for the next page. A filter value that does not exist, or a query parameter that the operation does not know, is answered 422, so that a typing error is not mistaken for an empty list; a few operations that ignore unknown query parameters say so. Updates are by presence: what is left out stays, null clears. Values that break the contract are answered 422 with \`HTTPValidationError\`; every other error is a problem document (RFC 9457) whose \`code\` is stable. Every answer carries \`X-Request-Id\`.

A write that is sent again with the same \`Idempotency-Key\` is done once and answered alike. Records carry an \`ETag\`: send it as \`If-Match\` to change a record only as you know it, and as \`If-None-Match\` to read it only if it changed. \`RateLimit\` says what is left of the limit that a request counted against; beyond it, 429 with \`Retry-After\`.`;

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

/** What operations share, by its name among the document's components: zod-openapi tells components by identity. */
type Shared = { pathParameters: Map<string, Schema>; responses: Map<string, ZodOpenApiResponseObject> };

/** The errors of the OTLP path. */
const StatusSchema = z
  .object({
    code: z.int().optional().describe('A number of google.rpc.Code.'),
    message: z.string().optional().describe('What was wrong, for developers.'),
  })
  .meta({ id: 'Status', description: 'google.rpc.Status, as OTLP/HTTP has it.' });

function described(operation: Operation, shared: Shared): ZodOpenApiOperationObject {
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

/** The path parameters that several operations have, by name: an id means the same in every path. */
function sharedPathParameters(operations: readonly Operation[]): Map<string, Schema> {
  const fields = operations.flatMap(({ params }) => Object.entries(params?.shape ?? {}) as [string, Schema][]);
  const repeated = fields.filter(([name]) => fields.filter(([other]) => other === name).length > 1);
  return new Map(
    repeated.map(([name, schema]) => [name, schema.meta({ ...schema.meta(), param: { id: pascalCased(name) } })]),
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

/** Either scheme will do; the role that each lists is the scope that the credential must hold. */
function securityOf({ scope }: Operation): Record<string, string[]>[] {
  if (scope === 'public') return [];
  const scopes = scope === null ? [] : [scope];
  return [{ bearerAuth: scopes }, { apiKeyAuth: [...scopes] }];
}

function bodyOf({ body, bodyOptional, form, transport }: Operation): Pick<ZodOpenApiOperationObject, 'requestBody'> {
  if (transport === 'otlp') {
    const description = `An ${body?.meta()?.id ?? 'OTLP request'}, gzip or not.`;
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
  const responses: ZodOpenApiResponsesObject = {
    200: {
      description: output.description ?? operation.summary,
      headers: responseHeadersOf(operation, 200),
      content: success,
    },
  };
  if (operation.method === 'GET' && operation.record) {
    const description = 'The record has an entity tag of If-None-Match.';
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

/** Redocly warns of those that nothing refers to. */
function usedHeaders(document: object): object {
  const text = JSON.stringify(document);
  return Object.fromEntries(Object.entries(HEADERS).filter(([name]) => text.includes(`#/components/headers/${name}"`)));
}

function json(schema: Schema) {
  return { 'application/json': { schema } };
}

/** OTLP's two encodings: JSON has a schema, protobuf is bytes here. */
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
