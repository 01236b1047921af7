import { agentsRouter } from '../resources/agents/router.ts';
import { auditEventsRouter } from '../resources/audit-events/router.ts';
import { channelsRouter } from '../resources/channels/router.ts';
import { coverageRouter } from '../resources/coverage/router.ts';
import { credentialsRouter } from '../resources/credentials/router.ts';
import { derivedAccessRouter } from '../resources/derived-access/router.ts';
import { gatewaySessionsRouter } from '../resources/gateway-sessions/router.ts';
import { gatewaysRouter } from '../resources/gateways/router.ts';
import { graphRouter } from '../resources/graph/router.ts';
import { inventoryRouter } from '../resources/inventory/router.ts';
import { inventorySyncsRouter } from '../resources/inventory-sync/router.ts';
import { meRouter } from '../resources/me/router.ts';
import { manifestsRouter } from '../resources/manifests/router.ts';
import { membershipsRouter } from '../resources/memberships/router.ts';
import { onboardingRouter } from '../resources/onboarding/router.ts';
import { operatorTasksRouter } from '../resources/operator-tasks/router.ts';
import { pricesRouter } from '../resources/prices/router.ts';
import { providerCredentialsRouter } from '../resources/provider-credentials/router.ts';
import { providersRouter } from '../resources/providers/router.ts';
import { recommendationsRouter } from '../governance/recommendations/router.ts';
import { runtimeObservationsRouter } from '../governance/observations/router.ts';
import { serviceAccountKeysRouter } from '../resources/service-account-keys/router.ts';
import { serviceAccountsRouter } from '../resources/service-accounts/router.ts';
import { tenantsRouter } from '../resources/tenants/router.ts';
import { logsRouter } from '../telemetry/logs/router.ts';
import { telemetryHealthRouter } from '../telemetry/health/router.ts';
import { metricsRouter } from '../telemetry/metrics/router.ts';
import { tracesRouter } from '../telemetry/traces/router.ts';
import { usageRouter } from '../telemetry/usage/router.ts';
import { router } from '../http/trpc.ts';
import { usersRouter } from '../resources/users/router.ts';

/** All procedures, by resource. They are served over tRPC and over REST. The OpenAPI document is made from them. */
export const appRouter = router({
  serviceAccounts: serviceAccountsRouter,
  derivedAccess: derivedAccessRouter,
  serviceAccountKeys: serviceAccountKeysRouter,
  providers: providersRouter,
  providerCredentials: providerCredentialsRouter,
  inventory: inventoryRouter,
  inventorySyncs: inventorySyncsRouter,
  runtimeObservations: runtimeObservationsRouter,
  agents: agentsRouter,
  channels: channelsRouter,
  graph: graphRouter,
  recommendations: recommendationsRouter,
  gateways: gatewaysRouter,
  gatewaySessions: gatewaySessionsRouter,
  coverage: coverageRouter,
  manifests: manifestsRouter,
  operatorTasks: operatorTasksRouter,
  traces: tracesRouter,
  logs: logsRouter,
  metrics: metricsRouter,
  telemetryHealth: telemetryHealthRouter,
  usage: usageRouter,
  prices: pricesRouter,
  credentials: credentialsRouter,
  me: meRouter,
  users: usersRouter,
  onboarding: onboardingRouter,
  tenants: tenantsRouter,
  memberships: membershipsRouter,
  auditEvents: auditEventsRouter,
});

export type AppRouter = typeof appRouter;
