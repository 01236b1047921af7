import type { QueryClient } from '@tanstack/react-query';
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
  retainSearchParams,
} from '@tanstack/react-router';
import { parseSearch, stringifySearch, type UrlState } from '../data/url-state.ts';
import { RouteFailed, RouteMissing } from './route-states.tsx';
import { Shell } from './shell.tsx';

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
  component: lazyRouteComponent(loadInbox, 'InboxScreen'),
});
const providers = createRoute({
  getParentRoute: () => root,
  path: '/providers',
  component: lazyRouteComponent(() => import('../screens/providers/providers-screen.tsx'), 'ProvidersScreen'),
});
const provider = createRoute({
  getParentRoute: () => root,
  path: '/providers/$providerId',
  component: lazyRouteComponent(() => import('../screens/providers/provider-screen.tsx'), 'ProviderScreen'),
});
const plan = createRoute({
  getParentRoute: () => root,
  path: '/providers/$providerId/plan',
  component: lazyRouteComponent(() => import('../screens/plan/plan-screen.tsx'), 'PlanScreen'),
});
const traces = createRoute({
  getParentRoute: () => root,
  path: '/traces',
  component: lazyRouteComponent(() => import('../screens/traces/traces-screen.tsx'), 'TracesScreen'),
});
const trace = createRoute({
  getParentRoute: () => root,
  path: '/traces/$traceId',
  component: lazyRouteComponent(() => import('../screens/trace/trace-screen.tsx'), 'TraceScreen'),
});
const agents = createRoute({
  getParentRoute: () => root,
  path: '/agents',
  component: lazyRouteComponent(() => import('../screens/agents/agents-screen.tsx'), 'AgentsScreen'),
});
const agent = createRoute({
  getParentRoute: () => root,
  path: '/agents/$agentId',
  component: lazyRouteComponent(() => import('../screens/agents/agent-screen.tsx'), 'AgentScreen'),
});
const map = createRoute({
  getParentRoute: () => root,
  path: '/map',
  component: lazyRouteComponent(() => import('../screens/map/map-screen.tsx'), 'MapScreen'),
});
const accounts = createRoute({
  getParentRoute: () => root,
  path: '/accounts',
  component: lazyRouteComponent(() => import('../screens/accounts/accounts-screen.tsx'), 'AccountsScreen'),
});
const account = createRoute({
  getParentRoute: () => root,
  path: '/accounts/$accountId',
  component: lazyRouteComponent(() => import('../screens/accounts/account-screen.tsx'), 'AccountScreen'),
});
const gateways = createRoute({
  getParentRoute: () => root,
  path: '/gateways',
  component: lazyRouteComponent(() => import('../screens/gateways/gateways-screen.tsx'), 'GatewaysScreen'),
});
const gateway = createRoute({
  getParentRoute: () => root,
  path: '/gateways/$gatewayId',
  component: lazyRouteComponent(() => import('../screens/gateways/gateway-screen.tsx'), 'GatewayScreen'),
});
const tasks = createRoute({
  getParentRoute: () => root,
  path: '/tasks',
  component: lazyRouteComponent(() => import('../screens/tasks/tasks-screen.tsx'), 'TasksScreen'),
});
const changes = createRoute({
  getParentRoute: () => root,
  path: '/changes',
  component: lazyRouteComponent(() => import('../screens/changes/changes-screen.tsx'), 'ChangesScreen'),
});
const people = createRoute({
  getParentRoute: () => root,
  path: '/people',
  component: lazyRouteComponent(() => import('../screens/people/people-screen.tsx'), 'PeopleScreen'),
});
const access = createRoute({
  getParentRoute: () => root,
  path: '/access',
  component: lazyRouteComponent(() => import('../screens/access/access-screen.tsx'), 'AccessScreen'),
});
const audit = createRoute({
  getParentRoute: () => root,
  path: '/audit',
  component: lazyRouteComponent(() => import('../screens/audit/audit-screen.tsx'), 'AuditScreen'),
});
const tenants = createRoute({
  getParentRoute: () => root,
  path: '/tenants',
  component: lazyRouteComponent(() => import('../screens/tenants/tenants-screen.tsx'), 'TenantsScreen'),
});
const tenant = createRoute({
  getParentRoute: () => root,
  path: '/tenants/$tenantId',
  component: lazyRouteComponent(() => import('../screens/tenants/tenant-screen.tsx'), 'TenantScreen'),
});
const manifests = createRoute({
  getParentRoute: () => root,
  path: '/manifests',
  component: lazyRouteComponent(() => import('../screens/manifests/manifests-screen.tsx'), 'ManifestsScreen'),
});
const manifest = createRoute({
  getParentRoute: () => root,
  path: '/manifests/$manifestId',
  component: lazyRouteComponent(() => import('../screens/manifests/manifest-screen.tsx'), 'ManifestScreen'),
});
const profile = createRoute({
  getParentRoute: () => root,
  path: '/profile',
  component: lazyRouteComponent(() => import('../screens/profile/profile-screen.tsx'), 'ProfileScreen'),
});

const routeTree = root.addChildren([
  home,
  inbox,
  providers,
  provider,
  plan,
  traces,
  trace,
  agents,
  agent,
  map,
  accounts,
  account,
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
    basepath: '/console',
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
