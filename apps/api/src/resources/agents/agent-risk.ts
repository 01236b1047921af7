import { type AgentRisk, MAX_RISK_CAUSES } from '@quartermaster/contracts/agents.ts';
import { highestRisk, type RuntimeObservation } from '@quartermaster/contracts/runtime-observations.ts';
import { inBatches } from '@quartermaster/db/batches.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { type AgentSeries, findRisksInPlace, type ObservedRisk } from '@quartermaster/db/repositories/agents.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';

/** Subjects whose risks are read before the event loop gets a turn. */
const SUBJECTS_AT_ONCE = 1000;

type Observed = Pick<RuntimeObservation, 'id' | 'providerId' | 'kind' | 'name' | 'risk'>;

/** The observations of everything that some agents use, each at the place of the agent. */
export async function findUsedObservations<Agent extends TenantPlace>(
  db: Database,
  agents: readonly Agent[],
  usesOf: (agent: Agent) => readonly AgentSeries[],
): Promise<Map<Agent, Observed[]>> {
  const used = new Map<Agent, Observed[]>();
  const places = Map.groupBy(agents, ({ tenantId, subTenantId }) => JSON.stringify([tenantId, subTenantId]));
  for (const placeAgents of places.values()) {
    const [place] = placeAgents;
    if (place === undefined) continue;
    const subjects = new Map(placeAgents.flatMap(usesOf).map((one) => [subjectOf(one), one]));
    const found = new Map<string, ObservedRisk>();
    for await (const batch of inBatches([...subjects.values()], SUBJECTS_AT_ONCE)) {
      const wanted = batch.map(({ providerId, kind, nameKey }) => ({ providerId, kind, nameKey }));
      for (const one of await findRisksInPlace(db, place, wanted)) found.set(subjectOf(one), one);
    }
    for (const agent of placeAgents) {
      const keys = new Set(usesOf(agent).map(subjectOf));
      used.set(
        agent,
        [...keys].flatMap((key) => found.get(key) ?? []),
      );
    }
  }
  return used;
}

function subjectOf({ providerId, kind, nameKey }: Pick<ObservedRisk, 'providerId' | 'kind' | 'nameKey'>): string {
  return JSON.stringify([providerId, kind, nameKey]);
}

/** The highest risk of some observations, and those that have it. Null without observations. */
export function worstRisk(observations: readonly Observed[]): AgentRisk | null {
  const distinct = [...new Map(observations.map((one) => [one.id, one])).values()];
  const level = highestRisk(distinct.map(({ risk }) => risk.level));
  if (level === undefined) return null;
  const worst = level === 'low' ? [] : distinct.filter(({ risk }) => risk.level === level);
  const causes = worst
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .slice(0, MAX_RISK_CAUSES)
    .map(({ id, providerId, kind, name, risk }) => ({
      observationId: id,
      providerId,
      kind,
      name,
      factors: risk.factors,
    }));
  return { level, causes };
}
