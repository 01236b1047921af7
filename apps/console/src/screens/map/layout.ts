import type { Graph } from '@quartermaster/client';
import type { Meaning } from '../../components/marks.tsx';
import { type CoverageOf, type MarkedState, worseOf } from './coverage.ts';

export type MapNode = {
  id: string;
  column: 'agent' | 'provider' | 'item';
  label: string;
  /** Below the label, smaller. */
  note: string;
  meaning: Meaning;
  calls: number;
  /** Millionths of a dollar, by list prices. Null: nothing of it has a price. */
  microUsd: number | null;
  y: number;
  /** What the address says when the map is limited to this node; null: it stands for several. */
  focus: { agent: string } | { provider: string } | { observation: string | null };
};

export type MapLink = {
  id: string;
  from: MapNode;
  to: MapNode;
  calls: number;
  meaning: Meaning;
  /** Whether gateways decide about the calls of an agent at a provider. Null: not known, or a link to an item. */
  coverage: MarkedState | null;
};

export type MapLayout = { nodes: MapNode[]; links: MapLink[]; height: number };

const ROW_HEIGHT = 30;
const TOP = 36;

/** How many items of a provider are drawn before the rest becomes one node. */
const MAX_ITEMS = 6;
const MAX_ITEMS_FOCUSED = 60;

const WEIGHT: Record<Meaning, number> = { declared: 0, unknown: 1, blocked: 2 };

/** Keys are made of parts that may contain any character. */
const keyOf = (...parts: string[]) => JSON.stringify(parts);

type Options = {
  /** Only items with this meaning. */
  meaning: Meaning | null;
  agent: string | undefined;
  provider: string | undefined;
  coverageOf: CoverageOf;
};

/** Three columns, agents, providers and items, ordered so that few lines cross. */
export function layoutOf(graph: Graph, { meaning, agent, provider, coverageOf }: Options): MapLayout {
  const states = new Map(
    graph.items.map((item) => [keyOf(item.tenantId, item.providerId, item.kind, item.name), item] as const),
  );
  const stateOf = (edge: Graph['edges'][number]): Meaning =>
    states.get(keyOf(edge.tenantId, edge.providerId, edge.kind, edge.name))?.state ?? 'unknown';
  const edges = graph.edges.filter(
    (edge) =>
      (meaning === null || stateOf(edge) === meaning) &&
      (agent === undefined || edge.agent === agent) &&
      (provider === undefined || edge.providerId === provider),
  );
  const providersById = new Map(graph.providers.map((each) => [keyOf(each.tenantId, each.id), each] as const));
  const nodes = new Map<string, MapNode>();
  const links = new Map<string, MapLink>();
  const limit = agent === undefined && provider === undefined ? MAX_ITEMS : MAX_ITEMS_FOCUSED;
  const shownItems = largestItems(edges, limit);

  const add = (
    node: Omit<MapNode, 'y' | 'calls' | 'microUsd'>,
    { calls, cost }: Pick<Graph['edges'][number], 'calls' | 'cost'>,
  ): MapNode => {
    const known = nodes.get(node.id);
    const microUsd = cost?.microUsd ?? null;
    if (known === undefined) {
      const made = { ...node, calls, microUsd, y: 0 };
      nodes.set(node.id, made);
      return made;
    }
    known.calls += calls;
    if (microUsd !== null) known.microUsd = (known.microUsd ?? 0) + microUsd;
    if (WEIGHT[node.meaning] > WEIGHT[known.meaning]) known.meaning = node.meaning;
    return known;
  };
  type Linked = { calls: number; state: Meaning; coverage: MarkedState | null };
  const link = (from: MapNode, to: MapNode, { calls, state, coverage }: Linked) => {
    const id = keyOf(from.id, to.id);
    const known = links.get(id);
    if (known === undefined) links.set(id, { id, from, to, calls, meaning: state, coverage });
    else {
      known.calls += calls;
      known.coverage = known.coverage && coverage ? worseOf(known.coverage, coverage) : (known.coverage ?? coverage);
      if (WEIGHT[state] > WEIGHT[known.meaning]) known.meaning = state;
    }
  };
  for (const edge of edges) {
    const { tenantId, providerId, kind, name, calls } = edge;
    const state = stateOf(edge);
    const from = add(
      {
        id: keyOf('agent', tenantId, edge.agent),
        column: 'agent',
        label: edge.agent,
        note: tenantId,
        meaning: state,
        focus: { agent: edge.agent },
      },
      edge,
    );
    const known = providersById.get(keyOf(tenantId, providerId));
    const middle = add(
      {
        id: keyOf('provider', tenantId, providerId),
        column: 'provider',
        label: known?.displayName ?? known?.name ?? (providerId === '' ? 'other providers' : providerId),
        note: known?.status === 'discovered' ? 'not declared' : (known?.kind ?? ''),
        meaning: known?.status === 'discovered' ? 'unknown' : 'declared',
        focus: { provider: providerId },
      },
      edge,
    );
    const itemKey = keyOf('item', tenantId, providerId, kind, name);
    const isShown = shownItems.has(keyOf(tenantId, providerId, kind, name));
    const observation = states.get(keyOf(tenantId, providerId, kind, name))?.observationIds[0] ?? null;
    const to = isShown
      ? add({ id: itemKey, column: 'item', label: name, note: kind, meaning: state, focus: { observation } }, edge)
      : add(
          {
            id: keyOf('rest', tenantId, providerId, state),
            column: 'item',
            label: `more ${state}`,
            note: 'open the provider',
            meaning: state,
            focus: { provider: providerId },
          },
          edge,
        );
    link(from, middle, { calls, state, coverage: coverageOf(edge) });
    link(middle, to, { calls, state, coverage: null });
  }
  return placed([...nodes.values()], [...links.values()]);
}

/** The items of each provider with the most calls. Those that are not declared come first: they are what one looks for. */
function largestItems(edges: Graph['edges'], limit: number): Set<string> {
  const byProvider = Map.groupBy(edges, ({ tenantId, providerId }) => keyOf(tenantId, providerId));
  const shown = new Set<string>();
  for (const own of byProvider.values()) {
    const calls = new Map<string, number>();
    for (const { tenantId, providerId, kind, name, calls: count } of own) {
      const key = keyOf(tenantId, providerId, kind, name);
      calls.set(key, (calls.get(key) ?? 0) + count);
    }
    const largest = [...calls].toSorted((a, b) => b[1] - a[1]).slice(0, limit);
    for (const [key] of largest) shown.add(key);
  }
  return shown;
}

/** Puts each column in the order of what it is connected to. */
function placed(nodes: MapNode[], links: MapLink[]): MapLayout {
  const columns = (['agent', 'provider', 'item'] as const).map((column) =>
    nodes.filter((node) => node.column === column),
  );
  const [agents = [], providers = [], items = []] = columns;
  agents.sort((a, b) => b.calls - a.calls);
  spread(agents, 0);
  const into = Map.groupBy(links, ({ to }) => to);
  const pull = (node: MapNode) => {
    const incoming = into.get(node) ?? [];
    return incoming.reduce((sum, { from }) => sum + from.y, 0) / Math.max(1, incoming.length);
  };
  const order = (column: MapNode[]) => {
    const pulls = new Map(column.map((node) => [node, pull(node)]));
    column.sort(
      (a, b) =>
        (pulls.get(a) ?? 0) - (pulls.get(b) ?? 0) ||
        Number(isRest(a)) - Number(isRest(b)) ||
        WEIGHT[b.meaning] - WEIGHT[a.meaning] ||
        b.calls - a.calls,
    );
    spread(column, 0);
  };
  order(providers);
  order(items);
  const rows = Math.max(agents.length, providers.length, items.length);
  const height = TOP + rows * ROW_HEIGHT + 8;
  // The shorter columns are stretched over the height of the longest one.
  for (const column of [agents, providers]) spread(column, height);
  return { nodes, links: links.toSorted((a, b) => WEIGHT[a.meaning] - WEIGHT[b.meaning]), height };
}

/** Whether a node stands for the smaller items of a provider. It is below the others. */
function isRest({ column, focus }: MapNode): boolean {
  return column === 'item' && 'provider' in focus;
}

function spread(column: MapNode[], height: number): void {
  const step = Math.max(ROW_HEIGHT, (height - TOP) / Math.max(1, column.length));
  column.forEach((node, index) => {
    node.y = TOP + (index + 0.5) * step;
  });
}
