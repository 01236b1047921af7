import {
  applyProviderRecommendations,
  listGatewaySessions,
  listGateways,
  listManifests,
  listMemberships,
  listOperatorTasks,
  listProviderRecommendations,
  listProviders,
  listRuntimeObservations,
  listTenants,
  listTraces,
  listUsers,
  type Provider,
  searchCredentials,
  searchServiceAccounts,
} from '@quartermaster/client';
import type { Client } from '@quartermaster/client/client/index.ts';
import { dataOf, readAllPages } from './calls.ts';
import { TENANTS } from './company.ts';
import { type Context, DAY_MS } from './context.ts';
import { Failure } from './failure.ts';
import { inventoryOf } from './reads.ts';

/** How many of each kind of record there are. */
export type Counts = Record<string, number>;

/** What some servers cannot do: sync the seed's own MCP server, and let people sign in. */
type Expected = { isDriftExpected: boolean; isSignedIn: boolean };

/**
 * Reads back the created data.
 *
 * @throws {Failure} that names each missing state
 */
export async function requireEverything(context: Context, expected: Expected): Promise<Counts> {
  const records = await readRecords(context.admin);
  const found = {
    ...statesOf(records, context),
    'an undone recommendation': await countUndone(context.admin, records),
  };
  const optional = [...(expected.isDriftExpected ? [] : NEED_SYNC), ...(expected.isSignedIn ? [] : NEED_SIGN_IN)];
  const missing = Object.entries(found).filter(([what, count]) => count === 0 && !optional.includes(what));
  if (missing.length > 0) throw new Failure(`The seed did not make ${missing.map(([what]) => what).join(', ')}.`);
  return countsOf(records);
}

const NEED_SYNC = ['a drifted item', 'a missing item', 'an observation with drift', 'a failing provider'];
const NEED_SIGN_IN = ['an accepted membership', 'a disabled user'];

type Records = Awaited<ReturnType<typeof readRecords>>;

async function readRecords(client: Client) {
  const ids = new Set(TENANTS.map(({ id }) => id));
  const ours = <T extends { tenantId: string | null }>(all: T[]) =>
    all.filter(({ tenantId }) => tenantId !== null && ids.has(tenantId));
  const all = await readAllPages((query) => listProviders({ client, query }));
  const deleted = await readAllPages((page) => listProviders({ client, query: { status: 'deleted', ...page } }));
  const providers = ours([...all, ...deleted]);
  const gateways = ours(await readAllPages((query) => listGateways({ client, query })));
  return {
    tenants: (await readAllPages((query) => listTenants({ client, query }))).filter(({ id }) => ids.has(id)),
    users: await readAllPages((query) => listUsers({ client, query })),
    memberships: await each(TENANTS, ({ id }) =>
      readAllPages((query) => listMemberships({ client, path: { tenant_id: id }, query })),
    ),
    accounts: ours(await readAllPages((body) => searchServiceAccounts({ client, body }))),
    credentials: ours(await readAllPages((body) => searchCredentials({ client, body }))),
    providers,
    items: await each(live(providers), ({ id }) => inventoryOf(client, id)),
    manifests: ours(await readAllPages((query) => listManifests({ client, query }))),
    gateways,
    sessions: await each(gateways, ({ id }) =>
      readAllPages((query) => listGatewaySessions({ client, path: { gateway_id: id }, query })),
    ),
    traces: ours(await readAllPages((query) => listTraces({ client, query }))),
    observations: ours(await readAllPages((query) => listRuntimeObservations({ client, query }))),
    recommendations: await each(live(providers), ({ id }) =>
      readAllPages((query) => listProviderRecommendations({ client, path: { provider_id: id }, query })),
    ),
    tasks: ours(await readAllPages((query) => listOperatorTasks({ client, query }))),
  };
}

function live(providers: Provider[]): Provider[] {
  return providers.filter(({ status }) => status !== 'deleted');
}

async function each<T, R>(items: readonly T[], read: (item: T) => Promise<R[]>): Promise<R[]> {
  const all: R[] = [];
  for (const item of items) all.push(...(await read(item)));
  return all;
}

/** How often each required state occurs. */
function statesOf(records: Records, { now }: Context): Counts {
  const { tenants, users, memberships, accounts, credentials, providers, items } = records;
  const { manifests, gateways, sessions, traces, observations, recommendations, tasks } = records;
  const inAWeek = new Date(now.getTime() + 7 * DAY_MS).toISOString();
  const keys = credentials.filter(({ kind }) => kind === 'api_key');
  const endsSoon = keys.filter(({ status, expiresAt }) => status === 'expiring' && (expiresAt ?? '') < inAWeek);
  const rotated = keys.filter(({ rotationCount }) => rotationCount > 0);
  const withRisk = (factor: string, kind?: string) =>
    observations.filter((one) => (kind ?? one.kind) === one.kind && one.risk.factors.some((f) => f.factor === factor));
  return {
    ...count('a tenant', tenants, () => true),
    'a sub-tenant': tenants.flatMap(({ subTenantIds }) => subTenantIds).length,
    ...countEach('a membership as', memberships, ({ role }) => role, ['owner', 'admin', 'operator', 'viewer']),
    ...count('an accepted membership', memberships, ({ status }) => status === 'active'),
    ...count('a pending membership', memberships, ({ status }) => status === 'pending'),
    ...count('a disabled user', users, ({ status }) => status === 'disabled'),
    ...count('a disabled service account', accounts, ({ status }) => status === 'disabled'),
    'a key that expires within a week': endsSoon.length,
    ...count('a revoked key', keys, ({ status }) => status === 'revoked'),
    'a rotated key': rotated.length,
    'a key whose overlap lasts': endsSoon.filter((one) => rotated.some(({ ownerId }) => ownerId === one.ownerId))
      .length,
    ...count('an expiring provider secret', credentials, (one) => one.kind !== 'api_key' && one.status === 'expiring'),
    ...countEach('a provider of kind', providers, ({ kind }) => kind, ['llm', 'mcp', 'agent_runtime', 'channel']),
    ...countEach('a provider that is', providers, ({ status }) => status, PROVIDER_STATUSES),
    ...count('a failing provider', providers, ({ health }) => health === 'failing'),
    ...countEach('an inventory', items, ({ kind }) => kind, ['model', 'tool', 'prompt', 'resource']),
    ...countEach('an item that is', items, ({ status }) => status, ['available', 'retired', 'blocked']),
    ...count('a missing item', items, ({ status }) => status === 'missing'),
    ...count('a drifted item', items, ({ drift }) => drift !== null),
    ...countEach('a manifest of kind', manifests, ({ kind }) => kind, ['agent', 'gateway', 'channel']),
    ...count('a superseded manifest', manifests, ({ status }) => status === 'superseded'),
    ...countEach('a gateway that is', gateways, ({ status }) => status, ['active', 'disabled']),
    ...countEach('a session that is', sessions, ({ status }) => status, ['active', 'revoked']),
    ...count('a trace with errors', traces, ({ errorCount }) => errorCount > 0),
    ...count('a trace of 1,000 spans', traces, ({ spanCount }) => spanCount >= 1000),
    ...count('a declared observation', observations, ({ unknown }) => !unknown),
    ...count('an unknown observation', observations, ({ unknown }) => unknown),
    ...countEach('an observation that is', observations, ({ status }) => status, OBSERVATION_STATUSES),
    ...count('an observation with drift', observations, ({ drift }) => drift !== null),
    'a blocked model that is used': withRisk('blocked_item', 'model').length,
    'a blocked tool that is used': withRisk('blocked_item', 'tool').length,
    'an observation that was rejected and seen again': withRisk('rejected_again').length,
    ...countEach('a recommendation to', recommendations, ({ kind }) => kind, RECOMMENDATION_KINDS),
    ...countEach('a recommendation that is', recommendations, ({ status }) => status, ['open', 'applied', 'dismissed']),
    ...count('a task about the use of a blocked item', tasks, ({ kind }) => kind === 'investigate_blocked_use'),
    ...countEach('a task that is', tasks, ({ status }) => status, ['open', 'claimed', 'succeeded', 'cancelled']),
  };
}

const PROVIDER_STATUSES = ['discovered', 'active', 'disabled', 'deleted'];
const OBSERVATION_STATUSES = ['open', 'approved', 'rejected', 'ignored', 'resolved'];
const RECOMMENDATION_KINDS = ['register_item', 'block_item', 'adopt_provider', 'rotate_credential'];

function count<T>(what: string, items: T[], matches: (item: T) => boolean): Counts {
  return { [what]: items.filter(matches).length };
}

function countEach<T>(what: string, items: T[], valueOf: (item: T) => string, values: string[]): Counts {
  return Object.fromEntries(
    values.map((value) => [`${what} ${value}`, items.filter((item) => valueOf(item) === value).length]),
  );
}

/** An undone recommendation is open again. Only a dry run shows that it was undone. */
async function countUndone(client: Client, { recommendations }: Records): Promise<number> {
  const open = recommendations.filter(({ status, kind }) => status === 'open' && kind === 'register_item');
  for (const id of new Set(open.map(({ providerId }) => providerId))) {
    const path = { provider_id: id };
    const { skipped } = await dataOf(applyProviderRecommendations({ client, path, body: { dryRun: true } }));
    const undone = skipped.filter(({ reason }) => reason === 'undone').length;
    if (undone > 0) return undone;
  }
  return 0;
}

function countsOf(records: Records): Counts {
  const { tenants } = records;
  const subTenants = tenants.flatMap(({ subTenantIds }) => subTenantIds).length;
  const spans = records.traces.reduce((sum, { spanCount }) => sum + spanCount, 0);
  const lengths = Object.entries(records).map(([noun, all]) => [noun, all.length] as const);
  return { ...Object.fromEntries(lengths), subTenants, spans };
}
