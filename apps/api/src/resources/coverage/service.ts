import type { Coverage, CoverageState } from '@quartermaster/contracts/coverage.ts';
import type { Page, PageRequest } from '@quartermaster/db/queries.ts';
import {
  findGovernedProviders,
  type SummedDecisions,
  sumDecisions,
} from '@quartermaster/db/repositories/decision-counts.ts';
import { findProviders } from '@quartermaster/db/repositories/providers.ts';
import type { TenantScope } from '@quartermaster/db/tenancy.ts';
import type { CallerContext } from '../../auth/context.ts';
import { reachOf } from '../../auth/principal.ts';
import { valueError } from '../../platform/errors.ts';
import { DAY_MS, HOUR_MS } from '../../telemetry/periods.ts';
import { type SummedGroup, sumUsage } from '../../telemetry/usage/read-usage.ts';

/** The maximum number of sums of decisions that one query reads. */
const MAX_SUMS = 50_000;

const MAX_AGENTS = 10;

type CoverageQuery = {
  days: number;
  state?: CoverageState | null | undefined;
  provider_id?: string | null | undefined;
  account?: string | null | undefined;
};

/** The calls and decisions of an account at a provider. */
type Compared = {
  tenantId: string;
  subTenantId: string | null;
  account: string;
  providerId: string;
  groups: SummedGroup[];
  decisions: SummedDecisions[];
};

/** Compares reported calls with decisions, for each account and provider, in the order of their names. */
export async function readCoverage(
  ctx: CallerContext,
  scope: TenantScope,
  { days, state = null, provider_id: providerId, account }: CoverageQuery,
  { limit, after }: PageRequest,
): Promise<Page<Coverage> & { range: { from: string; to: string } }> {
  const { db, now } = ctx.services;
  const time = now();
  const end = Math.ceil(time.getTime() / HOUR_MS) * HOUR_MS;
  const range = { from: new Date(end - days * DAY_MS).toISOString(), to: new Date(end).toISOString() };
  const filter = { providerId, account };
  const usage = { groupBy: ['provider', 'account', 'agent', 'sub_tenant'] as const, filter };
  const { groups } = await sumUsage(db, scope, { ...usage, ...range }, ctx.charge, time);
  const decisions = await sumDecisions(db, scope, { from: range.from, ...filter }, MAX_SUMS + 1);
  if (decisions.length > MAX_SUMS) {
    throw valueError(['query', 'days'], `this query would read more than ${MAX_SUMS} sums of decisions. Use a filter`);
  }
  const compared = compare(groups, decisions);
  const governed = await governedProviders(ctx, compared);
  const ids = [...new Set(compared.map((one) => one.providerId))].filter((id) => id !== '');
  const found = await findProviders(db, reachOf(ctx.principal, 'providers:read'), ids);
  const names = new Map(found.map((provider) => [provider.id, provider.name]));
  const rows = compared
    .map((one) =>
      toCoverage(one, {
        isGoverned: governed(one),
        provider: names.get(one.providerId) ?? null,
        recentFrom: new Date(end - HOUR_MS).toISOString(),
      }),
    )
    .filter((row) => state === null || row.state === state)
    .map((row) => ({ row, key: sortKeyOf(row) }))
    .toSorted((a, b) => (a.key < b.key ? -1 : 1));
  const rest = after === null ? rows : rows.filter(({ key }) => key > (after[0] ?? ''));
  const last = rest[limit - 1];
  return {
    range,
    items: rest.slice(0, limit).map(({ row }) => row),
    next: last && rest.length > limit ? [last.key, ''] : null,
  };
}

function compare(groups: readonly SummedGroup[], decisions: readonly SummedDecisions[]): Compared[] {
  const all = new Map<string, Compared>();
  type Named = { tenantId: string; subTenantId: string | null; account: string | null; providerId: string | null };
  const get = ({ tenantId, subTenantId, account, providerId }: Named): Compared => {
    const names = { tenantId, subTenantId, account: account ?? '', providerId: providerId ?? '' };
    const key = JSON.stringify(Object.values(names));
    const one = all.get(key) ?? { ...names, groups: [], decisions: [] };
    all.set(key, one);
    return one;
  };
  for (const group of groups) get(group.usage).groups.push(group);
  for (const decision of decisions) get(decision).decisions.push(decision);
  return [...all.values()];
}

async function governedProviders(
  ctx: CallerContext,
  compared: readonly Compared[],
): Promise<(one: Compared) => boolean> {
  const governed = new Map<string, ReadonlySet<string>>();
  for (const [tenantId, ofTenant] of Map.groupBy(compared, (one) => one.tenantId)) {
    const ids = [...new Set(ofTenant.map((one) => one.providerId))];
    governed.set(tenantId, await findGovernedProviders(ctx.services.db, { tenantId }, ids));
  }
  return ({ tenantId, providerId }) => governed.get(tenantId)?.has(providerId) ?? false;
}

function toCoverage(
  { groups, decisions, ...names }: Compared,
  { isGoverned, provider, recentFrom }: { isGoverned: boolean; provider: string | null; recentFrom: string },
): Coverage {
  const calls = groups.reduce((sum, { usage }) => sum + usage.calls, 0);
  const decided = decisions.reduce((sum, one) => sum + one.decisions, 0);
  const stopped = decisions.filter(({ outcome }) => outcome === 'denied').reduce((sum, one) => sum + one.decisions, 0);
  const denied = decisions.filter(({ outcome }) => outcome !== 'allowed').reduce((sum, one) => sum + one.decisions, 0);
  const last = decisions.toSorted((a, b) => (a.lastAt < b.lastAt ? 1 : -1))[0];
  const lastCall = groups.reduce((latest, { lastAt }) => Math.max(latest, lastAt), 0);
  const lastCallAt = lastCall === 0 ? null : new Date(lastCall).toISOString();
  const agents = groups
    .toSorted((a, b) => b.usage.calls - a.usage.calls)
    .flatMap(({ usage }) => (usage.agent === null || usage.agent === '' ? [] : usage.agent));
  return {
    ...names,
    agents: [...new Set(agents)].slice(0, MAX_AGENTS),
    provider,
    state: stateOf({ calls, lastCallAt, last, isGoverned, recentFrom }),
    mode: last?.mode ?? null,
    points: [...new Set(decisions.map(({ point }) => point))].toSorted(),
    calls,
    decisions: decided,
    denied,
    unasked: Math.max(0, calls - (decided - stopped)),
    lastDecisionAt: last?.lastAt ?? null,
    lastCallAt,
  };
}

function stateOf({
  calls,
  lastCallAt,
  last,
  isGoverned,
  recentFrom,
}: {
  calls: number;
  lastCallAt: string | null;
  last: SummedDecisions | undefined;
  isGoverned: boolean;
  recentFrom: string;
}): CoverageState {
  if (last === undefined) return isGoverned ? 'bypassed' : 'ungoverned';
  if (lastCallAt !== null && lastCallAt >= recentFrom && last.lastAt < recentFrom) return 'silent';
  if (calls === 0) return 'no_telemetry';
  return last.mode === 'enforce' ? 'enforced' : 'observed_only';
}

/** By names, which do not change while pages are read, as states and counts do. */
function sortKeyOf({ tenantId, subTenantId, account, providerId }: Coverage): string {
  return [tenantId, subTenantId ?? '', account, providerId].join(' ');
}
