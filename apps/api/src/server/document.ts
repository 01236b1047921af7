import { VERSION } from '../config.ts';
import { openApiDocument } from '../http/openapi/openapi.ts';
import { DIALECT_OPERATIONS } from '../resources/gateway-decisions/dialect-paths.ts';
import { DECISION_OPERATIONS } from '../resources/gateway-decisions/paths.ts';
import { appRouter } from './router.ts';

/** The OpenAPI document of the whole service. */
export function serviceDocument(serverUrl: string): object {
  const further = [...DECISION_OPERATIONS, ...DIALECT_OPERATIONS];
  return openApiDocument({ router: appRouter, further, version: VERSION, serverUrl });
}
