import type { Database } from '@quartermaster/db/database.ts';
import { type AgentSeries, findActiveTimes, findSeriesOfAgents } from '@quartermaster/db/repositories/agents.ts';
import type { RollupRange, UsageSums } from '@quartermaster/db/repositories/usage-rollups.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import { Pricer } from '../../telemetry/pricing/pricer.ts';
import { CostSum } from '../../telemetry/pricing/token-price.ts';
import { addCost, readPricedSums } from '../../telemetry/usage/priced-sums.ts';

/** Series that a request reads for one point of the rate limits. */
const SERIES_PER_POINT = 200;

type AgentSums = Pick<UsageSums, 'calls' | 'errors' | 'inputTokens' | 'outputTokens'>;

/** The usage of one agent, when its first and its last call began, and everything that it was ever counted to use. */
export type AgentActivity = {
  sums: AgentSums;
  cost: CostSum;
  firstCallAt: string | null;
  lastCallAt: string | null;
  uses: AgentSeries[];
};

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
  const pricer = new Pricer(db);
  let read = 0;
  for (const [tenantId, tenantAgents] of Map.groupBy(agents, (agent) => agent.tenantId)) {
    const wanted = tenantAgents.map(({ subTenantId, name }) => ({ subTenantId, agent: name }));
    const byName = new Map(tenantAgents.map((agent) => [`${agent.subTenantId ?? ''}\n${agent.name}`, agent]));
    const series = await findSeriesOfAgents(db, { tenantId }, wanted);
    read += series.length;
    for await (const { series: batch, sums } of readPricedSums(db, pricer, {
      tenantId,
      series,
      ranges,
      each: 'series',
    })) {
      const seriesById = new Map(batch.map((one) => [one.id, one]));
      const activityOf = new Map(
        batch.flatMap((one) => {
          const agent = byName.get(`${one.subTenantId ?? ''}\n${one.agent}`);
          const activity = agent && activities.get(agent);
          return activity ? [[one.id, activity] as const] : [];
        }),
      );
      const ids = [...activityOf.keys()];
      for (const row of sums) {
        const activity = activityOf.get(row.series.id);
        if (activity === undefined) continue;
        addSums(activity.sums, row);
        addCost(activity.cost, row);
      }
      for (const { seriesId, firstCallAt, lastCallAt } of await findActiveTimes(db, { tenantId }, ids)) {
        const activity = activityOf.get(seriesId);
        const used = seriesById.get(seriesId);
        if (!activity || !used) continue;
        activity.uses.push(used);
        if (activity.firstCallAt === null || firstCallAt < activity.firstCallAt) activity.firstCallAt = firstCallAt;
        if (activity.lastCallAt === null || lastCallAt > activity.lastCallAt) activity.lastCallAt = lastCallAt;
      }
    }
  }
  await charge(Math.floor(read / SERIES_PER_POINT));
  return activities;
}

function noActivity(): AgentActivity {
  return { sums: noSums(), cost: new CostSum(), firstCallAt: null, lastCallAt: null, uses: [] };
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
