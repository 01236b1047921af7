import { VERSION } from '../config.ts';
import { openApiDocument } from '../http/openapi/openapi.ts';
import { DECISION_OPERATIONS } from '../resources/gateway-decisions/paths.ts';
import { appRouter } from './router.ts';

/** The OpenAPI document of the whole service. */
export function serviceDocument(serverUrl: string): object {
  return openApiDocument({ router: appRouter, further: DECISION_OPERATIONS, version: VERSION, serverUrl });
}
