import type { Graph } from '@quartermaster/contracts/graph.ts';
import { inBatches } from '@quartermaster/db/batches.ts';
import { findProviders } from '@quartermaster/db/repositories/providers.ts';
import {
  findObservationsOfSubjects,
  type KeyedObservation,
  type ObservationSubject,
} from '@quartermaster/db/repositories/runtime-observations.ts';
import { OTHER, type UsageFilter } from '@quartermaster/db/repositories/usage-series.ts';
import { covers, type TenantScope } from '@quartermaster/db/tenancy.ts';
import { firstInOrder } from '@quartermaster/db/first-in-order.ts';
import { reachOf } from '../../auth/principal.ts';
import { useStateOf } from '../../governance/observations/use-state.ts';
import type { CallerContext } from '../../auth/context.ts';
import { CostSum } from '../../telemetry/pricing/token-price.ts';
import { type SummedGroup, sumUsage } from '../../telemetry/usage/read-usage.ts';

const MAX_OBSERVATIONS_OF_ITEM = 100;

/** Items whose observations are read before the event loop gets a turn. One observation may have 25 KB of evidence. */
const OBSERVED_AT_ONCE = 64;

type GraphQuery = {
  from: string | null | undefined;
  to: string | null | undefined;
  filter: UsageFilter;
  maxEdges: number;
};

/** `sortKey` orders edges with the same number of calls. */
type Edge = Omit<Graph['edges'][number], 'cost'> & { cost: CostSum; nameKey: string; sortKey: string };

/** Which agents used which items of which providers: the edges with the most calls, and what they touch. */
export async function readGraph(
  ctx: CallerContext,
  scope: TenantScope,
  { from, to, filter, maxEdges }: GraphQuery,
): Promise<Graph> {
  const { services, charge } = ctx;
  const { range, groups } = await sumUsage(
    services.db,
    scope,
    { groupBy: ['provider', 'kind', 'name', 'agent'], from, to, filter },
    charge,
    services.now(),
  );
  const edges = groups.values().map(edgeOf);
  const shown = await firstInOrder(edges, maxEdges, hasMoreCalls);
  const omittedCalls =
    groups.reduce((sum, { usage }) => sum + usage.calls, 0) - shown.reduce((sum, one) => sum + one.calls, 0);
  return {
    ...range,
    agents: sumsBy(shown, ({ tenantId, agent }) => ({ tenantId, name: agent })),
    providers: await providersOf(ctx, shown),
    items: await itemsOf(ctx, scope, shown),
    edges: shown.map(({ nameKey: _nameKey, sortKey: _sortKey, ...edge }) => ({ ...edge, cost: edge.cost.toCost() })),
    omittedEdges: groups.length - shown.length,
    omittedCalls: Math.min(omittedCalls, Number.MAX_SAFE_INTEGER),
  };
}

function edgeOf({ usage, cost, nameKey: key }: SummedGroup): Edge {
  const { tenantId, agent, providerId, kind, name, calls, errors, inputTokens, outputTokens } = usage;
  // The query groups by all of them.
  if (agent === null || providerId === null || kind === null || name === null) throw new Error('usage is not grouped');
  const nameKey = key ?? '';
  const sortKey = JSON.stringify([tenantId, agent, providerId, kind, nameKey]);
  const subject = { tenantId, agent, providerId, kind, name, nameKey, sortKey };
  return { ...subject, calls, errors, inputTokens, outputTokens, cost };
}

function hasMoreCalls(a: Edge, b: Edge): boolean {
  return a.calls === b.calls ? a.sortKey < b.sortKey : a.calls > b.calls;
}

/** Adds up the edges that touch each node. The nodes with the most calls come first. */
function sumsBy<Node extends object>(edges: readonly Edge[], nodeOf: (edge: Edge) => Node) {
  const groups = Map.groupBy(edges, (edge) => JSON.stringify(nodeOf(edge)));
  const nodes = [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (!first) return [];
    const calls = group.reduce((sum, edge) => sum + edge.calls, 0);
    const errors = group.reduce((sum, edge) => sum + edge.errors, 0);
    const cost = new CostSum();
    for (const edge of group) cost.merge(edge.cost);
    return [{ ...nodeOf(first), calls, errors, cost: cost.toCost() }];
  });
  return nodes.toSorted((a, b) => b.calls - a.calls);
}

async function providersOf(ctx: CallerContext, edges: readonly Edge[]): Promise<Graph['providers']> {
  const nodes = sumsBy(edges, ({ tenantId, providerId }) => ({ tenantId, id: providerId }));
  const ids = nodes.flatMap(({ id }) => (id === '' ? [] : [id]));
  const found =
    ids.length === 0 ? [] : await findProviders(ctx.services.db, reachOf(ctx.principal, 'providers:read'), ids);
  const providers = new Map(found.map((provider) => [provider.id, provider]));
  return nodes.map(({ tenantId, id, calls, errors, cost }) => {
    const provider = providers.get(id);
    return {
      tenantId,
      id,
      name: provider?.name ?? null,
      displayName: provider?.displayName ?? null,
      kind: provider?.kind ?? null,
      status: provider?.status ?? null,
      calls,
      errors,
      cost,
    };
  });
}

async function itemsOf(
  { services, principal }: CallerContext,
  scope: TenantScope,
  edges: readonly Edge[],
): Promise<Graph['items']> {
  const readable = reachOf(principal, 'runtime_observations:read');
  const names = new Map(edges.map((edge) => [itemKey(edge), edge.name]));
  const nodes = sumsBy(edges, ({ tenantId, providerId, kind, nameKey }) => ({ tenantId, providerId, kind, nameKey }));
  const observations = new Map<string, Pick<KeyedObservation, 'id' | 'unknown' | 'risk'>[]>();
  for (const [tenantId, tenantNodes] of Map.groupBy(nodes, (node) => node.tenantId)) {
    const subjects: ObservationSubject[] = tenantNodes.filter(({ nameKey }) => nameKey !== OTHER);
    for await (const batch of inBatches(subjects, OBSERVED_AT_ONCE)) {
      const found = await findObservationsOfSubjects(services.db, { tenantId }, batch);
      const inReach = found.filter((observation) => covers(scope, observation) && covers(readable, observation));
      for (const [key, group] of Map.groupBy(inReach, itemKey)) {
        observations.set(
          key,
          group.map(({ id, unknown, risk }) => ({ id, unknown, risk })),
        );
      }
    }
  }
  return nodes.map((node) => {
    const seen = observations.get(itemKey(node)) ?? [];
    const { tenantId, providerId, kind, calls, errors, cost } = node;
    return {
      tenantId,
      providerId,
      kind,
      name: names.get(itemKey(node)) ?? '',
      state: useStateOf(seen),
      observationIds: seen.slice(0, MAX_OBSERVATIONS_OF_ITEM).map(({ id }) => id),
      calls,
      errors,
      cost,
    };
  });
}

function itemKey({ tenantId, providerId, kind, nameKey }: ObservationSubject & { tenantId: string }): string {
  return JSON.stringify([tenantId, providerId, kind, nameKey]);
}
