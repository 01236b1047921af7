import { LIMITS } from './assemble.ts';
import { boundAttributes, boundScope } from './bounds.ts';
import { type Json, list, object, optional, readResource, readScope } from './json-values.ts';
import type { Attributes, OtlpSpan } from './span.ts';

/** The field names of a signal's levels. */
type Levels = { resources: string; scopes: string; records: string };

/** The position of a record. `path` is for error messages. */
type Place = { path: string; scope: OtlpSpan['scope']; resource: Attributes };

/**
 * Walks a request of any signal in OTLP's JSON form: resources, their scopes, and the records of each scope.
 *
 * @param body the parsed JSON of the request
 * @throws OtlpDecodeError with the path of a known field that has the wrong type
 */
export function walkJsonRequest(body: unknown, levels: Levels, readRecord: (json: Json, place: Place) => void): void {
  const request = withJsonNames(object(body, 'The body'), levels.resources);
  for (const [resourceRecords, path] of list(request[levels.resources], levels.resources)) {
    const resource = readResource(resourceRecords, path);
    boundAttributes(resource, LIMITS.resourceBytes);
    for (const [scopeRecords, scopePath] of list(resourceRecords[levels.scopes], `${path}.${levels.scopes}`)) {
      const scope = readScope(optional(scopeRecords.scope, `${scopePath}.scope`), `${scopePath}.scope`);
      boundScope(scope);
      for (const [record, recordPath] of list(scopeRecords[levels.records], `${scopePath}.${levels.records}`)) {
        readRecord(record, { path: recordPath, scope, resource });
      }
    }
  }
}

const MAX_DEPTH = 100;

/**
 * The request with the names of OTLP's JSON form. Some senders write the names of the protobuf definition, `resource_spans`,
 * which the OpenTelemetry Collector accepts as well. Keys of attributes are values in this form, so they do not change.
 */
function withJsonNames(request: Json, resources: string): Json {
  const isJsonForm = resources in request || !(snakeCase(resources) in request);
  return isJsonForm ? request : (camelCaseNames(request, 0) as Json);
}

function camelCaseNames(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return value;
  if (Array.isArray(value)) return value.map((item) => camelCaseNames(item, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [camelCase(name), camelCaseNames(inner, depth + 1)]),
  );
}

function camelCase(name: string): string {
  return name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
