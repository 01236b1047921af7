import type { AgentChannel, ChannelOfAgent, ChannelState } from '@quartermaster/contracts/channels.ts';
import { firstInOrder } from '@quartermaster/db/first-in-order.ts';
import type { Page, PageRequest } from '@quartermaster/db/queries.ts';
import {
  type ChannelManifest,
  listChannelManifests,
  listSeenChannels,
  type SeenChannel,
} from '@quartermaster/db/repositories/agent-channels.ts';
import { covers, scopeOf, type TenantPlace, type TenantScope } from '@quartermaster/db/tenancy.ts';
import type { CallerContext } from '../../auth/context.ts';
import { reachOf } from '../../auth/principal.ts';
import { valueError } from '../../platform/errors.ts';

/** Seen channels, and manifests with channels, that one request reads. */
const MAX_SEEN = 10_000;
const MAX_MANIFESTS = 2000;

/** How many channels a request reads for one point of the rate limits. */
const CHANNELS_PER_POINT = 1000;

type ChannelQuery = { agent?: string | null | undefined; state?: ChannelState | null | undefined };

/** One page of the channels of agents. @throws 422 if there is too much to read */
export async function listChannels(
  ctx: CallerContext,
  scope: TenantScope,
  { agent, state }: ChannelQuery,
  { limit, after }: PageRequest,
): Promise<Page<AgentChannel>> {
  const { seen, manifests } = await readChannels(ctx, scope, agent ?? null);
  const agents = new Map<string, AgentName>();
  for (const one of seen) agents.set(agentKey(one), one);
  for (const one of manifests.values()) if (covers(scope, one)) agents.set(agentKey(one), one);
  const listed = mergedChannels(agents.values(), { seen, manifests })
    .map((one) => ({ one, key: sortKey(one) }))
    .filter(({ one, key }) => (state == null || one.state === state) && (after === null || key > after[1]));
  const rest = await firstInOrder(listed, limit + 1, (a, b) => a.key < b.key);
  const shown = rest.slice(0, limit);
  const isShown = manifestFilter(ctx, scope);
  const last = shown.at(-1);
  return {
    items: shown.map(({ one: { manifest, ...channel } }) => ({
      ...channel,
      manifestId: manifest !== undefined && isShown(manifest) ? manifest.id : null,
    })),
    next: rest.length > limit && last !== undefined ? ['', last.key] : null,
  };
}

/** The channels of one agent, by name. */
export async function channelsOfAgent(
  ctx: CallerContext,
  { tenantId, subTenantId, name }: TenantPlace & { name: string },
): Promise<ChannelOfAgent[]> {
  const agent = { tenantId, subTenantId, agent: name };
  const read = await readChannels(ctx, scopeOf(agent), name);
  return [...mergedChannels([agent], read)]
    .map(({ channel, state, firstSeenAt, lastSeenAt }) => ({ channel, state, firstSeenAt, lastSeenAt }))
    .toSorted((a, b) => (a.channel < b.channel ? -1 : 1));
}

type AgentName = TenantPlace & { agent: string };
type Read = { seen: SeenChannel[]; manifests: Map<string, ChannelManifest> };
type MergedChannel = AgentName & ChannelOfAgent & { manifest: ChannelManifest | undefined };

async function readChannels(ctx: CallerContext, scope: TenantScope, agent: string | null): Promise<Read> {
  const { db } = ctx.services;
  const seen = await listSeenChannels(db, scope, { agent, limit: MAX_SEEN });
  // A manifest of the whole tenant also declares the channels of agents in its sub-tenants.
  const manifestScope = scope.map(({ tenantId, subTenantId }) => ({
    tenantId,
    subTenantId: tenantId === null ? subTenantId : null,
  }));
  const manifests = await listChannelManifests(db, manifestScope, { agent, limit: MAX_MANIFESTS });
  const declared = manifests?.reduce((sum, { channels }) => sum + channels.length, 0);
  // A request that is refused because there is too much to read is charged as well.
  await ctx.charge(Math.floor(((seen?.length ?? MAX_SEEN) + (declared ?? MAX_MANIFESTS)) / CHANNELS_PER_POINT));
  if (seen === null || manifests === null) {
    const limits = `${MAX_SEEN} seen channels or ${MAX_MANIFESTS} manifests with channels`;
    throw valueError(['query', 'tenant_id'], `there are more than ${limits} to read: name a tenant or an agent`);
  }
  return { seen, manifests: new Map(manifests.map((one) => [agentKey(one), one])) };
}

/** What is declared or seen of each agent. In no particular order. */
function* mergedChannels(agents: Iterable<AgentName>, { seen, manifests }: Read): Generator<MergedChannel, void> {
  const seenByAgent = Map.groupBy(seen, agentKey);
  for (const { tenantId, subTenantId, agent } of agents) {
    const key = agentKey({ tenantId, subTenantId, agent });
    const manifest = manifests.get(key) ?? manifests.get(agentKey({ tenantId, subTenantId: null, agent }));
    const declared = new Set(manifest?.channels);
    const seenOfAgent = new Map((seenByAgent.get(key) ?? []).map((one) => [one.channel, one]));
    for (const channel of new Set([...declared, ...seenOfAgent.keys()])) {
      const sight = seenOfAgent.get(channel);
      const declaredState = sight === undefined ? 'declared_and_silent' : 'declared_and_seen';
      yield {
        tenantId,
        subTenantId,
        agent,
        channel,
        state: declared.has(channel) ? declaredState : 'seen_and_undeclared',
        firstSeenAt: sight?.firstSeenAt ?? null,
        lastSeenAt: sight?.lastSeenAt ?? null,
        manifest,
      };
    }
  }
}

/** Whether the caller may see a manifest. Others only count for the state. */
function manifestFilter(ctx: CallerContext, scope: TenantScope): (manifest: ChannelManifest) => boolean {
  const reach = reachOf(ctx.principal, 'manifests:read');
  return (manifest) => covers(scope, manifest) && covers(reach, manifest);
}

function agentKey({ tenantId, subTenantId, agent }: AgentName): string {
  return JSON.stringify([tenantId, subTenantId ?? '', agent]);
}

function sortKey({ tenantId, subTenantId, agent, channel }: AgentName & { channel: string }): string {
  return [tenantId, subTenantId ?? '', agent, channel].join('\n');
}
