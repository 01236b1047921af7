import { type Coverage, type CoveragePage, type CoverageState, type Graph, listCoverage } from '@quartermaster/client';
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import type { useTenantFilter } from '../../data/tenant.ts';
import { STATES } from '../coverage/states.ts';

/** What a mark on a connection says. The other states say nothing about the calls that it stands for. */
export const MARKED = ['bypassed', 'silent', 'observed_only', 'enforced'] as const satisfies readonly CoverageState[];
export type MarkedState = (typeof MARKED)[number];

export type CoverageOf = (
  edge: Pick<Graph['edges'][number], 'tenantId' | 'agent' | 'providerId'>,
) => MarkedState | null;

/** Pages of 100 accounts that are read. Each page compares the whole range again. Further accounts have no marks. */
const MAX_PAGES = 5;

/** How far back coverage looks, by the period of the map: `hours` in the address. */
const DAYS: Record<string, number> = { 24: 1, 168: 7 };

/** Finds the coverage of what agents call at providers. Several accounts may run an agent: then the worst of their states. */
export function useCoverageOf(filter: ReturnType<typeof useTenantFilter>, hours: string | undefined): CoverageOf {
  const query = { ...filter, days: DAYS[hours ?? ''] ?? 30 };
  const { data } = useQuery({
    queryKey: ['coverage-of-map', query],
    queryFn: async ({ signal }) => {
      const items: Coverage[] = [];
      let cursor: string | null = null;
      for (let pages = 0; pages < MAX_PAGES && (pages === 0 || cursor !== null); pages += 1) {
        const page: CoveragePage = (
          await listCoverage({
            query: { ...query, limit: 100, ...(cursor !== null && { cursor }) },
            signal,
            throwOnError: true,
          })
        ).data;
        items.push(...page.items);
        cursor = page.nextCursor;
      }
      return items;
    },
  });
  return useMemo(() => {
    const states = new Map<string, MarkedState>();
    for (const { tenantId, providerId, agents, state } of data ?? []) {
      const marked = MARKED.find((one) => one === state);
      if (marked === undefined) continue;
      for (const agent of agents) {
        const key = keyOf({ tenantId, providerId, agent });
        states.set(key, worseOf(states.get(key) ?? marked, marked));
      }
    }
    return (edge) => states.get(keyOf(edge)) ?? null;
  }, [data]);
}

/** What to read beside a mark. */
export function wordsOf(state: MarkedState): string {
  return STATES[state].label;
}

export function worseOf(a: MarkedState, b: MarkedState): MarkedState {
  return MARKED.indexOf(a) < MARKED.indexOf(b) ? a : b;
}

function keyOf({ tenantId, providerId, agent }: Parameters<CoverageOf>[0]): string {
  return JSON.stringify([tenantId, providerId, agent]);
}
