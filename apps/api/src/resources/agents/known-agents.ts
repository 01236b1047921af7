import { inBatches } from '@quartermaster/db/batches.ts';
import type { Database } from '@quartermaster/db/database.ts';
import {
  type AgentAccount,
  type AgentManifest,
  type AgentSighting,
  listAgentAccounts,
  listAgentManifests,
  listAgentObservations,
} from '@quartermaster/db/repositories/agents.ts';
import { covers, type TenantPlace, type TenantScope } from '@quartermaster/db/tenancy.ts';
import { valueError } from '../../platform/errors.ts';

/** Usage series, observations and manifests that one request reads, each. */
const MAX_READ = 50_000;

/** Agents that are worked on before the event loop gets a turn. */
const AGENTS_AT_ONCE = 2000;

/** How many of these records a request reads for one point of the rate limits. */
const RECORDS_PER_POINT = 1000;

/** An agent is told apart by its place and its name. */
export type AgentName = TenantPlace & { name: string };

/** What is known of an agent, without its usage and the evidence of its observations. */
export type KnownAgent = AgentName & {
  declared: boolean;
  manifestId: string | null;
  observationIds: string[];
  /** When the agent itself was last observed. Its usage may be newer. */
  lastObservedAt: string | null;
  /** The accounts that reported its calls, by its usage. */
  accounts: AgentAccount[];
};

type ReadOptions = {
  /** Only agents of this name; null for all. */
  name: string | null;
  /** Where the caller may read manifests. Others only count for `declared`. */
  manifestReach: TenantScope;
  /** Takes points of the rate limits for what was read. */
  charge: (points: number) => Promise<void>;
};

/**
 * All agents in `scope`: those of manifests, observed agents, and the agents and services that usage names. In no particular
 * order.
 *
 * @throws 422 if there is too much to read
 */
export async function findKnownAgents(
  db: Database,
  scope: TenantScope,
  { name, manifestReach, charge }: ReadOptions,
): Promise<KnownAgent[]> {
  const accounts = await listAgentAccounts(db, scope, { agent: name, limit: MAX_READ });
  const observations = await listAgentObservations(db, scope, { name, limit: MAX_READ });
  // A manifest of the whole tenant also declares agents of its sub-tenants.
  const manifestScope = scope.map(({ tenantId, subTenantId }) => ({
    tenantId,
    subTenantId: tenantId === null ? subTenantId : null,
  }));
  const manifests = await listAgentManifests(db, manifestScope, { name, limit: MAX_READ });
  const series = accounts?.reduce((sum, one) => sum + one.series, 0);
  const read = [series, observations?.length, manifests?.length].reduce<number>(
    (sum, one) => sum + (one ?? MAX_READ),
    0,
  );
  // A request that is refused because there is too much to read is charged as well.
  await charge(Math.floor(read / RECORDS_PER_POINT));
  if (accounts === null || observations === null || manifests === null) {
    throw valueError(['query', 'tenant_id'], `there are more than ${MAX_READ} records to read: name a tenant`);
  }
  const known = new Map<string, Entry>();
  const entryOf = (of: AgentName) => {
    const key = agentKey(of);
    const entry = known.get(key) ?? { of, accounts: [], observations: [] };
    known.set(key, entry);
    return entry;
  };
  for await (const batch of inBatches(accounts, AGENTS_AT_ONCE)) {
    for (const one of batch) entryOf({ ...one, name: one.agent }).accounts.push(one);
  }
  for (const one of observations) entryOf(one).observations.push(one);
  for (const one of manifests) if (covers(scope, one)) entryOf(one);
  const manifestIds = new Map(manifests.map((manifest) => [agentKey(manifest), manifest]));
  const isShown = (manifest: AgentManifest) => covers(scope, manifest) && covers(manifestReach, manifest);
  const agents: KnownAgent[] = [];
  for await (const batch of inBatches(known.values(), AGENTS_AT_ONCE)) {
    agents.push(...batch.map((entry) => knownAgent(entry, { manifestIds, isShown })));
  }
  return agents;
}

type Entry = { of: AgentName; accounts: AgentAccount[]; observations: AgentSighting[] };

function knownAgent(
  { of, accounts, observations }: Entry,
  {
    manifestIds,
    isShown,
  }: { manifestIds: ReadonlyMap<string, AgentManifest>; isShown: (manifest: AgentManifest) => boolean },
): KnownAgent {
  const { tenantId, subTenantId, name } = of;
  const manifest =
    manifestIds.get(agentKey({ tenantId, subTenantId, name })) ??
    manifestIds.get(agentKey({ tenantId, subTenantId: null, name }));
  return {
    tenantId,
    subTenantId,
    name,
    declared: manifest !== undefined || observations.some(({ unknown }) => !unknown),
    manifestId: manifest !== undefined && isShown(manifest) ? manifest.id : null,
    observationIds: observations.map(({ id }) => id),
    lastObservedAt: latest(observations.map(({ lastSeenAt }) => lastSeenAt)),
    accounts,
  };
}

/** The latest of some times. */
export function latest(times: readonly (string | null)[]): string | null {
  return times.reduce((last, time) => (time !== null && (last === null || time > last) ? time : last), null);
}

/** The position of an agent in the list. */
export function sortKey({ tenantId, subTenantId, name }: AgentName): string {
  return `${tenantId}\n${subTenantId ?? ''}\n${name}`;
}

function agentKey({ tenantId, subTenantId, name }: AgentName): string {
  return JSON.stringify([tenantId, subTenantId ?? '', name]);
}

const ID_PREFIX = 'agt_';

/** The id of an agent: its place and name. */
export function agentIdOf(agent: AgentName): string {
  return ID_PREFIX + Buffer.from(agentKey(agent)).toString('base64url');
}

/** The place and name in an id; null if it is malformed. */
export function agentOfId(id: string): AgentName | null {
  if (!id.startsWith(ID_PREFIX)) return null;
  const agent = parsedKey(Buffer.from(id.slice(ID_PREFIX.length), 'base64url').toString('utf8'));
  // One agent has one id.
  return agent !== null && agentIdOf(agent) === id ? agent : null;
}

function parsedKey(text: string): AgentName | null {
  try {
    const [tenantId, subTenantId, name] = JSON.parse(text) as unknown[];
    if (typeof tenantId !== 'string' || typeof subTenantId !== 'string' || typeof name !== 'string') return null;
    return { tenantId, subTenantId: subTenantId === '' ? null : subTenantId, name };
  } catch {
    return null;
  }
}
