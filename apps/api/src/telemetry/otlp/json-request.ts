import { LIMITS } from './assemble.ts';
import { boundAttributes, boundScope } from './bounds.ts';
import { type Json, list, object, optional, readResource, readScope } from './json-values.ts';
import type { Attributes, OtlpSpan } from './span.ts';

/** The names that the levels of a request have in a signal. */
type Levels = { resources: string; scopes: string; records: string };

/** Where a record stands. `path` is for errors. */
type Place = { path: string; scope: OtlpSpan['scope']; resource: Attributes };

/**
 * Walks a request of any signal in OTLP's JSON form: resources, in each its scopes, in each its records.
 *
 * @param body what JSON.parse made of the request
 * @throws OtlpDecodeError naming the place where a known field has another shape than it should
 */
export function walkJsonRequest(body: unknown, levels: Levels, readRecord: (json: Json, place: Place) => void): void {
  const request = object(body, 'The body');
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
