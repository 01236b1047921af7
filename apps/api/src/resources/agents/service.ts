import {
  type Agent,
  type AgentDetail,
  type AgentUse,
  MAX_AGENT_ACCOUNTS,
  MAX_AGENT_USES,
} from '@quartermaster/contracts/agents.ts';
import type { Page, PageKey, PageRequest } from '@quartermaster/db/queries.ts';
import { caseFolded } from '@quartermaster/naming/case-folded.ts';
import type { RuntimeObservation } from '@quartermaster/contracts/runtime-observations.ts';
import { inBatches } from '@quartermaster/db/batches.ts';
import { findManifest } from '@quartermaster/db/repositories/manifests.ts';
import { findProviders } from '@quartermaster/db/repositories/providers.ts';
import { findObservationsByIds, findObservationsInPlace } from '@quartermaster/db/repositories/runtime-observations.ts';
import { covers, scopeOf, type TenantScope } from '@quartermaster/db/tenancy.ts';
import { useStateOf } from '../../governance/observations/use-state.ts';
import { reachOf } from '../../auth/principal.ts';
import type { CallerContext } from '../../auth/context.ts';
import { notFound, valueError } from '../../platform/errors.ts';
import { firstInOrder } from '@quartermaster/db/first-in-order.ts';
import { CostSum } from '../../telemetry/pricing/token-price.ts';
import { type SummedUsage, sumUsage } from '../../telemetry/usage/read-usage.ts';
import { rangesOf, type TimeRange, timeRange } from '../../telemetry/usage/time-range.ts';
import { channelsOfAgent } from '../channels/service.ts';
import { findUsedObservations, worstRisk } from './agent-risk.ts';
import { addSums, type AgentActivity, noSums, readActivity } from './agent-usage.ts';
import { agentIdOf, agentOfId, findKnownAgents, type KnownAgent, latest, sortKey } from './known-agents.ts';

/** Usage series that are read to sort agents by their usage. */
const MAX_SORTED_SERIES = 10_000;

const MAX_OBSERVATIONS_SHOWN = 20;
const OBSERVATIONS_PER_STATEMENT = 100;

/** Observations with their evidence that a request reads for one point of the rate limits. */
const OBSERVATIONS_PER_POINT = 100;

type TimeQuery = { from?: string | null | undefined; to?: string | null | undefined };
type SortedByUsage = 'last_seen_at' | 'calls' | 'errors' | 'tokens' | 'cost';
type AgentQuery = TimeQuery & {
  declared?: boolean | null | undefined;
  text?: string | null | undefined;
  sort?: 'name' | SortedByUsage | null | undefined;
};

/** One page of all agents, with their usage in a time range. @throws 422 if there is too much to read or to sort */
export async function listAgents(
  ctx: CallerContext,
  scope: TenantScope,
  { declared, text, sort, ...times }: AgentQuery,
  { limit, after }: PageRequest,
): Promise<Page<Agent> & { range: TimeRange }> {
  const { db, now } = ctx.services;
  const range = timeRange('all', times, now());
  const ranges = rangesOf('all', range);
  const known = await findKnownAgents(db, scope, readOptions(ctx, null));
  const part = text == null ? null : caseFolded(text);
  const matching = known.filter(
    (agent) =>
      (declared == null || agent.declared === declared) && (part === null || caseFolded(agent.name).includes(part)),
  );
  const activitiesOf = (agents: readonly KnownAgent[]) => readActivity(db, agents, { ranges, charge: ctx.charge });
  const all = sort == null || sort === 'name' ? null : { sort, activities: await activitiesOf(sortable(matching)) };
  const keyOf = (agent: KnownAgent): PageKey =>
    all === null ? ['', sortKey(agent)] : [rankOf(agent, all.activities.get(agent), all.sort), sortKey(agent)];
  const listed = matching
    .values()
    .map((agent) => ({ agent, key: keyOf(agent) }))
    .filter(({ key }) => after === null || isBefore(after, key));
  const rest = await firstInOrder(listed, limit + 1, (a, b) => isBefore(a.key, b.key));
  const shown = rest.slice(0, limit).map(({ agent }) => agent);
  const activities = all?.activities ?? (await activitiesOf(shown));
  const observations = await observationsOf(ctx, shown);
  const used = await findUsedObservations(db, shown, (agent) => activities.get(agent)?.uses ?? []);
  return {
    range,
    items: shown
      .filter((agent) => isKnown(agent, activities.get(agent)))
      .map((agent) => toAgent(agent, { observations, used: used.get(agent), activity: activities.get(agent) })),
    next: rest.length > limit ? (rest[limit - 1]?.key ?? null) : null,
  };
}

/** The agents, if their usage can be read to sort them. @throws 422 */
function sortable(agents: KnownAgent[]): KnownAgent[] {
  const series = agents.flatMap(({ accounts }) => accounts).reduce((sum, account) => sum + account.series, 0);
  if (series <= MAX_SORTED_SERIES) return agents;
  const advice = 'filter by tenant or text';
  throw valueError(['query', 'sort'], `the agents have more than ${MAX_SORTED_SERIES} usage series: ${advice}`);
}

/** A text that is greater for an agent that comes earlier in the list. */
function rankOf(agent: KnownAgent, activity: AgentActivity | undefined, sort: SortedByUsage): string {
  if (sort === 'last_seen_at') return latest([agent.lastObservedAt, activity?.lastCallAt ?? null]) ?? '';
  const { calls, errors, inputTokens, outputTokens } = activity?.sums ?? noSums();
  const cost = activity?.cost.rank() ?? 0;
  const value = { calls, errors, tokens: inputTokens + outputTokens, cost }[sort];
  return String(value).padStart(17, '0');
}

/** Whether a position comes before another one: the greater rank first, then by place and name. */
function isBefore(a: PageKey, b: PageKey): boolean {
  return a[0] === b[0] ? a[1] < b[1] : a[0] > b[0];
}

/** An agent with what it used in a time range. @throws 404 */
export async function getAgent(ctx: CallerContext, id: string, times: TimeQuery): Promise<AgentDetail> {
  const { db, now } = ctx.services;
  const named = agentOfId(id);
  if (named === null || !covers(ctx.reach, named)) throw notFound('agent_not_found');
  const scope = scopeOf(named);
  const found = await findKnownAgents(db, scope, readOptions(ctx, named.name));
  // The scope of a whole tenant also covers agents of this name in its sub-tenants.
  const agent = found.find(({ subTenantId }) => subTenantId === named.subTenantId);
  if (!agent) throw notFound('agent_not_found');
  const range = timeRange('all', times, now());
  const activities = await readActivity(db, [agent], { ranges: rangesOf('all', range), charge: ctx.charge });
  if (!isKnown(agent, activities.get(agent))) throw notFound('agent_not_found');
  const groupBy = ['sub_tenant', 'provider', 'kind', 'name', 'account'] as const;
  const { groups } = await sumUsage(db, scope, { groupBy, filter: { agent: agent.name }, ...times }, ctx.charge, now());
  const agentGroups = groups.filter(({ usage }) => usage.subTenantId === agent.subTenantId);
  const uses = await usesOf(ctx, agent, agentGroups);
  const manifest = agent.manifestId === null ? undefined : await findManifest(db, ctx.reach, agent.manifestId);
  const activity = activities.get(agent);
  const observations = await observationsOf(ctx, [agent]);
  const used = await findUsedObservations(db, [agent], () => activity?.uses ?? []);
  return {
    ...toAgent(agent, { observations, used: used.get(agent), activity }),
    ...range,
    uses: uses.slice(0, MAX_AGENT_USES),
    omittedUses: Math.max(0, uses.length - MAX_AGENT_USES),
    declares: (manifest?.spec.declares ?? []).map(({ provider, kind, name }) => ({ provider, kind, name })),
    channels: await channelsOfAgent(ctx, agent),
  };
}

/** The items that an agent used, those with the most calls first. */
async function usesOf(ctx: CallerContext, place: KnownAgent, groups: SummedUsage['groups']): Promise<AgentUse[]> {
  const { db } = ctx.services;
  const items = Map.groupBy(groups, ({ usage: { providerId, kind }, nameKey }) =>
    JSON.stringify([providerId, kind, nameKey]),
  );
  const subjects = [...items.values()].flatMap(([first]) => {
    if (!first) return [];
    const { providerId, kind } = first.usage;
    return providerId === null || kind === null ? [] : [{ providerId, kind, nameKey: first.nameKey ?? '' }];
  });
  const observed = await findObservationsInPlace(db, place, subjects);
  const observations = new Map(observed.map((one) => [JSON.stringify([one.providerId, one.kind, one.nameKey]), one]));
  const ids = [...new Set(subjects.map(({ providerId }) => providerId))].filter((one) => one !== '');
  const providers = new Map(
    (await findProviders(db, reachOf(ctx.principal, 'providers:read'), ids)).map(({ id, name }) => [id, name]),
  );
  const uses = [...items].flatMap(([key, group]): AgentUse[] => {
    const [first] = group;
    const { providerId = null, kind = null, name = null } = first?.usage ?? {};
    if (providerId === null || kind === null || name === null) return [];
    const observation = observations.get(key);
    const sums = noSums();
    const costSum = new CostSum();
    for (const { usage, cost } of group) {
      addSums(sums, usage);
      costSum.merge(cost);
    }
    const accounts = new Set(group.flatMap(({ usage }) => usage.account ?? []));
    return [
      {
        providerId,
        providerName: providers.get(providerId) ?? null,
        kind,
        name,
        state: useStateOf(observation ? [observation] : []),
        observationId: observation?.id ?? null,
        firstSeenAt: observation?.firstSeenAt ?? null,
        lastSeenAt: observation?.lastSeenAt ?? null,
        accounts: [...accounts].toSorted().slice(0, MAX_AGENT_ACCOUNTS),
        ...sums,
        cost: costSum.toCost(),
      },
    ];
  });
  return uses.toSorted((a, b) => b.calls - a.calls || (a.name < b.name ? -1 : 1));
}

type ObservationsById = ReadonlyMap<string, RuntimeObservation>;

/** The observations of some agents themselves. */
async function observationsOf(ctx: CallerContext, agents: readonly KnownAgent[]): Promise<ObservationsById> {
  const byId = new Map<string, RuntimeObservation>();
  for (const [tenantId, tenantAgents] of Map.groupBy(agents, (agent) => agent.tenantId)) {
    const ids = tenantAgents.flatMap(({ observationIds }) => observationIds);
    for await (const batch of inBatches(ids, OBSERVATIONS_PER_STATEMENT)) {
      for (const one of await findObservationsByIds(ctx.services.db, { tenantId }, batch)) byId.set(one.id, one);
    }
  }
  await ctx.charge(Math.floor(byId.size / OBSERVATIONS_PER_POINT));
  return byId;
}

/** Whether anything is left of an agent. If later spans move its calls to another agent, only series without sums remain for a while. */
function isKnown({ declared, observationIds }: KnownAgent, activity: AgentActivity | undefined): boolean {
  return declared || observationIds.length > 0 || activity?.lastCallAt != null;
}

type Seen = {
  observations: ObservationsById;
  /** The observations of what it uses. */
  used: Parameters<typeof worstRisk>[0] | undefined;
  activity: AgentActivity | undefined;
};

function toAgent(agent: KnownAgent, { observations: byId, used = [], activity }: Seen): Agent {
  const { tenantId, subTenantId, name, declared, manifestId } = agent;
  const observations = agent.observationIds.toSorted().flatMap((id) => byId.get(id) ?? []);
  const accounts = [
    ...agent.accounts.map(({ account }) => account),
    ...observations.flatMap(({ evidence }) => evidence.accounts),
  ];
  const times = [...agent.accounts, ...observations].map(({ firstSeenAt }) => firstSeenAt);
  // Accounts have the time of receipt, which can be long after the calls. It stays when the usage is removed.
  if (activity?.firstCallAt != null) times.push(activity.firstCallAt);
  const seen = observations.map(({ lastSeenAt }) => lastSeenAt);
  return {
    id: agentIdOf(agent),
    tenantId,
    subTenantId,
    name,
    declared,
    manifestId,
    observations: observations
      .slice(0, MAX_OBSERVATIONS_SHOWN)
      .map(({ id, providerId, unknown, status, risk }) => ({ id, providerId, unknown, status, risk })),
    risk: worstRisk([...observations, ...used]),
    accounts: [...new Set(accounts)].toSorted().slice(0, MAX_AGENT_ACCOUNTS),
    firstSeenAt: times.toSorted()[0] ?? null,
    lastSeenAt: latest([...seen, activity?.lastCallAt ?? null]),
    usage: { ...(activity?.sums ?? noSums()), cost: activity?.cost.toCost() ?? null },
  };
}

function readOptions(ctx: CallerContext, name: string | null) {
  return { name, manifestReach: reachOf(ctx.principal, 'manifests:read'), charge: ctx.charge };
}
