import type { Database } from '@quartermaster/db/database.ts';
import { inBatches } from '@quartermaster/db/batches.ts';
import { findActiveTimes, findSeriesOfAgents } from '@quartermaster/db/repositories/agents.ts';
import { type RollupRange, readRollups, type UsageSums } from '@quartermaster/db/repositories/usage-rollups.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';

const SERIES_PER_STATEMENT = 100;

/** Series that a request reads for one point of the rate limits. */
const SERIES_PER_POINT = 200;

type AgentSums = Omit<UsageSums, 'durationUs'>;

/** The usage of one agent, and when its first and its last call began. */
export type AgentActivity = { sums: AgentSums; firstCallAt: string | null; lastCallAt: string | null };

/**
 * The usage of some agents.
 *
 * @param charge takes points of the rate limits for what was read
 */
export async function readActivity<Agent extends TenantPlace & { name: string }>(
  db: Database,
  agents: readonly Agent[],
  { ranges, charge }: { ranges: readonly RollupRange[]; charge: (points: number) => Promise<void> },
): Promise<Map<Agent, AgentActivity>> {
  const activities = new Map(agents.map((agent) => [agent, noActivity()]));
  let read = 0;
  for (const [tenantId, tenantAgents] of Map.groupBy(agents, (agent) => agent.tenantId)) {
    const wanted = tenantAgents.map(({ subTenantId, name }) => ({ subTenantId, agent: name }));
    const byName = new Map(tenantAgents.map((agent) => [`${agent.subTenantId ?? ''}\n${agent.name}`, agent]));
    const series = await findSeriesOfAgents(db, { tenantId }, wanted);
    read += series.length;
    for await (const batch of inBatches(series, SERIES_PER_STATEMENT)) {
      const activityOf = new Map(
        batch.flatMap((one) => {
          const agent = byName.get(`${one.subTenantId ?? ''}\n${one.agent}`);
          const activity = agent && activities.get(agent);
          return activity ? [[one.id, activity] as const] : [];
        }),
      );
      const ids = [...activityOf.keys()];
      for (const range of ranges) {
        for (const row of await readRollups(db, { tenantId }, ids, { ...range, each: 'series' })) {
          const activity = activityOf.get(row.seriesId);
          if (activity) addSums(activity.sums, row);
        }
      }
      for (const { seriesId, firstCallAt, lastCallAt } of await findActiveTimes(db, { tenantId }, ids)) {
        const activity = activityOf.get(seriesId);
        if (!activity) continue;
        if (activity.firstCallAt === null || firstCallAt < activity.firstCallAt) activity.firstCallAt = firstCallAt;
        if (activity.lastCallAt === null || lastCallAt > activity.lastCallAt) activity.lastCallAt = lastCallAt;
      }
    }
  }
  await charge(Math.floor(read / SERIES_PER_POINT));
  return activities;
}

function noActivity(): AgentActivity {
  return { sums: noSums(), firstCallAt: null, lastCallAt: null };
}

export function noSums(): AgentSums {
  return { calls: 0, errors: 0, inputTokens: 0, outputTokens: 0 };
}

/** Adds to sums. They stop at the largest number that JSON carries exactly. */
export function addSums(sums: AgentSums, added: AgentSums): void {
  for (const name of ['calls', 'errors', 'inputTokens', 'outputTokens'] as const) {
    sums[name] = Math.min(sums[name] + added[name], Number.MAX_SAFE_INTEGER);
  }
}
