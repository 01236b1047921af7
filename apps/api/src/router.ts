import { auditEventsRouter } from './audit-events/router.ts';
import { credentialsRouter } from './credentials/router.ts';
import { derivedAccessRouter } from './derived-access/router.ts';
import { gatewaySessionsRouter } from './gateway-sessions/router.ts';
import { gatewaysRouter } from './gateways/router.ts';
import type { Procedures } from './http/rest.ts';
import { inventoryRouter } from './inventory/router.ts';
import { inventorySyncsRouter } from './inventory-sync/router.ts';
import { manifestsRouter } from './manifests/router.ts';
import { membershipsRouter } from './memberships/router.ts';
import { onboardingRouter } from './onboarding/router.ts';
import { operatorTasksRouter } from './operator-tasks/router.ts';
import { providerCredentialsRouter } from './provider-credentials/router.ts';
import { providersRouter } from './providers/router.ts';
import { recommendationsRouter } from './recommendations/router.ts';
import { runtimeObservationsRouter } from './runtime-observations/router.ts';
import { serviceAccountKeysRouter } from './service-account-keys/router.ts';
import { serviceAccountsRouter } from './service-accounts/router.ts';
import { tenantsRouter } from './tenants/router.ts';
import { logsRouter } from './telemetry/logs/router.ts';
import { metricsRouter } from './telemetry/metrics/router.ts';
import { tracesRouter } from './telemetry/traces/router.ts';
import { usageRouter } from './telemetry/usage/router.ts';
import { router } from './trpc.ts';
import { usersRouter } from './users/router.ts';

/** Every procedure, by its resource. REST paths and the document are made from what stands here. */
export const appRouter = router({
  serviceAccounts: serviceAccountsRouter,
  derivedAccess: derivedAccessRouter,
  serviceAccountKeys: serviceAccountKeysRouter,
  providers: providersRouter,
  providerCredentials: providerCredentialsRouter,
  inventory: inventoryRouter,
  inventorySyncs: inventorySyncsRouter,
  runtimeObservations: runtimeObservationsRouter,
  recommendations: recommendationsRouter,
  gateways: gatewaysRouter,
  gatewaySessions: gatewaySessionsRouter,
  manifests: manifestsRouter,
  operatorTasks: operatorTasksRouter,
  traces: tracesRouter,
  logs: logsRouter,
  metrics: metricsRouter,
  usage: usageRouter,
  credentials: credentialsRouter,
  users: usersRouter,
  onboarding: onboardingRouter,
  tenants: tenantsRouter,
  memberships: membershipsRouter,
  auditEvents: auditEventsRouter,
});

export type AppRouter = typeof appRouter;

/** The same, flat: tRPC keeps them by their dotted paths, whatever its types say. */
export const procedures = appRouter._def.procedures as unknown as Procedures;
