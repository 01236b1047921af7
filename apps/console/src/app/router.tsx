import type { QueryClient } from '@tanstack/react-query';
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
  retainSearchParams,
} from '@tanstack/react-router';
import { BASE_PATH } from '../data/base-path.ts';
import { noteLoadError } from '../data/problem.ts';
import { parseSearch, stringifySearch, type UrlState } from '../data/url-state.ts';
import { RouteFailed, RouteMissing } from './route-states.tsx';
import { Shell } from './shell.tsx';

/**
 * A screen whose code is loaded when it is shown. The router reloads the page for an error of an import that it recognises. If the
 * server is away, that replaces the page by an error of the browser or of a proxy.
 */
function lazyScreen<Module extends Record<string, unknown>, Name extends keyof Module>(
  load: () => Promise<Module>,
  name: Name,
) {
  const loadScreen = () =>
    load().catch((cause: unknown) => {
      const error = new Error('A part of the page could not be loaded.', { cause });
      noteLoadError(error);
      throw error;
    });
  return lazyRouteComponent(loadScreen, name);
}

const root = createRootRouteWithContext<{ queryClient: QueryClient }>()({
  component: Shell,
  notFoundComponent: RouteMissing,
  validateSearch: (search: Record<string, unknown>): UrlState => search as UrlState,
  search: { middlewares: [retainSearchParams(['tenant'])] },
});

const home = createRoute({
  getParentRoute: () => root,
  path: '/',
  beforeLoad: ({ search }) => {
    throw redirect({ to: '/inbox', search });
  },
});

const loadInbox = () => import('../screens/inbox/inbox-screen.tsx');
const inbox = createRoute({
  getParentRoute: () => root,
  path: '/inbox',
  component: lazyScreen(loadInbox, 'InboxScreen'),
});
const connect = createRoute({
  getParentRoute: () => root,
  path: '/connect',
  component: lazyScreen(() => import('../screens/connect/connect-screen.tsx'), 'ConnectScreen'),
});
const providers = createRoute({
  getParentRoute: () => root,
  path: '/providers',
  component: lazyScreen(() => import('../screens/providers/providers-screen.tsx'), 'ProvidersScreen'),
});
const provider = createRoute({
  getParentRoute: () => root,
  path: '/providers/$providerId',
  component: lazyScreen(() => import('../screens/providers/provider-screen.tsx'), 'ProviderScreen'),
});
const plan = createRoute({
  getParentRoute: () => root,
  path: '/providers/$providerId/plan',
  component: lazyScreen(() => import('../screens/plan/plan-screen.tsx'), 'PlanScreen'),
});
const traces = createRoute({
  getParentRoute: () => root,
  path: '/traces',
  component: lazyScreen(() => import('../screens/traces/traces-screen.tsx'), 'TracesScreen'),
});
const trace = createRoute({
  getParentRoute: () => root,
  path: '/traces/$traceId',
  component: lazyScreen(() => import('../screens/trace/trace-screen.tsx'), 'TraceScreen'),
});
const agents = createRoute({
  getParentRoute: () => root,
  path: '/agents',
  component: lazyScreen(() => import('../screens/agents/agents-screen.tsx'), 'AgentsScreen'),
});
const agent = createRoute({
  getParentRoute: () => root,
  path: '/agents/$agentId',
  component: lazyScreen(() => import('../screens/agents/agent-screen.tsx'), 'AgentScreen'),
});
const map = createRoute({
  getParentRoute: () => root,
  path: '/map',
  component: lazyScreen(() => import('../screens/map/map-screen.tsx'), 'MapScreen'),
});
const usage = createRoute({
  getParentRoute: () => root,
  path: '/usage',
  component: lazyScreen(() => import('../screens/usage/usage-screen.tsx'), 'UsageScreen'),
});
const accounts = createRoute({
  getParentRoute: () => root,
  path: '/accounts',
  component: lazyScreen(() => import('../screens/accounts/accounts-screen.tsx'), 'AccountsScreen'),
});
const account = createRoute({
  getParentRoute: () => root,
  path: '/accounts/$accountId',
  component: lazyScreen(() => import('../screens/accounts/account-screen.tsx'), 'AccountScreen'),
});
const coverage = createRoute({
  getParentRoute: () => root,
  path: '/coverage',
  component: lazyScreen(() => import('../screens/coverage/coverage-screen.tsx'), 'CoverageScreen'),
});
const gateways = createRoute({
  getParentRoute: () => root,
  path: '/gateways',
  component: lazyScreen(() => import('../screens/gateways/gateways-screen.tsx'), 'GatewaysScreen'),
});
const gateway = createRoute({
  getParentRoute: () => root,
  path: '/gateways/$gatewayId',
  component: lazyScreen(() => import('../screens/gateways/gateway-screen.tsx'), 'GatewayScreen'),
});
const tasks = createRoute({
  getParentRoute: () => root,
  path: '/tasks',
  component: lazyScreen(() => import('../screens/tasks/tasks-screen.tsx'), 'TasksScreen'),
});
const changes = createRoute({
  getParentRoute: () => root,
  path: '/changes',
  component: lazyScreen(() => import('../screens/changes/changes-screen.tsx'), 'ChangesScreen'),
});
const people = createRoute({
  getParentRoute: () => root,
  path: '/people',
  component: lazyScreen(() => import('../screens/people/people-screen.tsx'), 'PeopleScreen'),
});
const access = createRoute({
  getParentRoute: () => root,
  path: '/access',
  component: lazyScreen(() => import('../screens/access/access-screen.tsx'), 'AccessScreen'),
});
const audit = createRoute({
  getParentRoute: () => root,
  path: '/audit',
  component: lazyScreen(() => import('../screens/audit/audit-screen.tsx'), 'AuditScreen'),
});
const tenants = createRoute({
  getParentRoute: () => root,
  path: '/tenants',
  component: lazyScreen(() => import('../screens/tenants/tenants-screen.tsx'), 'TenantsScreen'),
});
const tenant = createRoute({
  getParentRoute: () => root,
  path: '/tenants/$tenantId',
  component: lazyScreen(() => import('../screens/tenants/tenant-screen.tsx'), 'TenantScreen'),
});
const manifests = createRoute({
  getParentRoute: () => root,
  path: '/manifests',
  component: lazyScreen(() => import('../screens/manifests/manifests-screen.tsx'), 'ManifestsScreen'),
});
const manifest = createRoute({
  getParentRoute: () => root,
  path: '/manifests/$manifestId',
  component: lazyScreen(() => import('../screens/manifests/manifest-screen.tsx'), 'ManifestScreen'),
});
const profile = createRoute({
  getParentRoute: () => root,
  path: '/profile',
  component: lazyScreen(() => import('../screens/profile/profile-screen.tsx'), 'ProfileScreen'),
});

const routeTree = root.addChildren([
  home,
  inbox,
  connect,
  providers,
  provider,
  plan,
  traces,
  trace,
  agents,
  agent,
  map,
  usage,
  accounts,
  account,
  coverage,
  gateways,
  gateway,
  tasks,
  changes,
  people,
  access,
  audit,
  tenants,
  tenant,
  manifests,
  manifest,
  profile,
]);

export function createAppRouter(queryClient: QueryClient) {
  return createRouter({
    routeTree,
    basepath: `${BASE_PATH}/console`,
    context: { queryClient },
    parseSearch,
    stringifySearch,
    defaultErrorComponent: ({ error, reset }) => <RouteFailed error={error} retry={reset} />,
    defaultNotFoundComponent: RouteMissing,
    defaultPendingMs: 300,
  });
}

/** Starts to load the code of the first screen, and the rows of the inbox. The router does so only when it is drawn. */
export async function preloadScreen({
  getMatchedRoutes,
  latestLocation,
  loadRouteChunk,
  options,
}: AppRouter): Promise<void> {
  const [routes] = getMatchedRoutes(latestLocation.pathname);
  for (const route of routes) void loadRouteChunk(route);
  if (!routes.some((route) => route === inbox || route === home)) return;
  const { prefetchInbox } = await loadInbox();
  await prefetchInbox(options.context.queryClient, latestLocation.search);
}

type AppRouter = ReturnType<typeof createAppRouter>;

declare module '@tanstack/react-router' {
  interface Register {
    router: AppRouter;
  }
}
