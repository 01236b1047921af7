import { VERSION } from '../config.ts';
import { openApiDocument } from '../http/openapi/openapi.ts';
import { DIALECT_OPERATIONS } from '../resources/gateway-decisions/dialect-paths.ts';
import { DECISION_OPERATIONS } from '../resources/gateway-decisions/paths.ts';
import { appRouter } from './router.ts';

/** The operations that are no procedures of the router. */
export const FURTHER_OPERATIONS = [...DECISION_OPERATIONS, ...DIALECT_OPERATIONS];

/** The OpenAPI document of the whole service. */
export function serviceDocument(serverUrl: string): object {
  return openApiDocument({ router: appRouter, further: FURTHER_OPERATIONS, version: VERSION, serverUrl });
}
