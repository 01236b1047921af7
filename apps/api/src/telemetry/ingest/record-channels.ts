import { MAX_AGENT_CHANNELS } from '@quartermaster/contracts/manifest-specs.ts';
import type { Database } from '@quartermaster/db/database.ts';
import {
  countChannels,
  findChannelsOfAgents,
  insertChannels,
  touchChannels,
} from '@quartermaster/db/repositories/agent-channels.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import { isRun, type NamedChannel } from '../frameworks/channels.ts';
import type { PreparedSpan } from './prepare.ts';

/** How long the stored time of the last sight may be behind. */
const TOUCH_INTERVAL_MS = 3600 * 1000;

/** The maximum number of stored channels of a tenant. Further ones are not stored, because senders choose the names. */
const MAX_TENANT_CHANNELS = 5000;

type ChannelSpan = Pick<PreparedSpan, 'traceId' | 'spanId' | 'parentSpanId' | 'interpreted' | 'channel'>;

/**
 * Stores the channels that new spans name, in the transaction that stores the spans and holds the tenant's lock. Runs no
 * statement if they name none.
 *
 * @param batch the spans that arrived together, with those that were stored before
 */
export async function recordChannels(
  trx: Database,
  place: TenantPlace,
  { fresh, batch }: { fresh: readonly ChannelSpan[]; batch: readonly ChannelSpan[] },
  now: Date,
): Promise<void> {
  const named = namedChannels(fresh, batch);
  if (named.length === 0) return;
  const agents = [...new Set(named.map(({ agent }) => agent))];
  const stored = await findChannelsOfAgents(trx, place, agents);
  const lastSeen = new Map(stored.map((one) => [keyOf(one), one.lastSeenAt]));
  const touchBefore = new Date(now.getTime() - TOUCH_INTERVAL_MS).toISOString();
  const due = named.filter((one) => {
    const at = lastSeen.get(keyOf(one));
    return at !== undefined && at <= touchBefore;
  });
  if (due.length > 0) await touchChannels(trx, place, due, now);
  const added = agents.flatMap((agent) => {
    const room = MAX_AGENT_CHANNELS - stored.filter((one) => one.agent === agent).length;
    return named.filter((one) => one.agent === agent && !lastSeen.has(keyOf(one))).slice(0, Math.max(0, room));
  });
  if (added.length === 0) return;
  const room = Math.max(0, MAX_TENANT_CHANNELS - (await countChannels(trx, place)));
  if (room > 0) await insertChannels(trx, place, added.slice(0, room), now);
}

/** The channels of runs, each once. Left out are runs inside of another agent's run: people do not talk to those agents. */
function namedChannels(fresh: readonly ChannelSpan[], batch: readonly ChannelSpan[]): NamedChannel[] {
  const runs = fresh.filter(({ channel }) => channel !== null);
  if (runs.length === 0) return [];
  const spans = new Map(batch.map((span) => [`${span.traceId} ${span.spanId}`, span]));
  const outermost = runs.filter((span) => !isInsideOther(span, spans));
  const named = new Map(outermost.flatMap(({ channel }) => (channel === null ? [] : [[keyOf(channel), channel]])));
  // Every process writes rows in this order, which prevents deadlocks.
  return [...named].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, channel]) => channel);
}

/** The most enclosing spans of a run that are looked at. It also ends the search if parents form a circle. */
const MAX_DEPTH = 100;

function isInsideOther(
  { traceId, parentSpanId, channel }: ChannelSpan,
  spans: ReadonlyMap<string, ChannelSpan>,
): boolean {
  let parent = parentSpanId;
  for (let depth = 0; parent !== null && depth < MAX_DEPTH; depth += 1) {
    const around = spans.get(`${traceId} ${parent}`);
    if (around === undefined) return false;
    const { interpreted } = around;
    const agent = interpreted !== null && isRun(interpreted) ? interpreted.facts.agent : null;
    if (agent !== null && agent !== channel?.agent) return true;
    parent = around.parentSpanId;
  }
  return false;
}

function keyOf({ agent, channel }: NamedChannel): string {
  return `${channel}\n${agent}`;
}
