import { isChannelName } from '@quartermaster/contracts/manifest-specs.ts';
import type { ReadSource } from '../reading/dialect.ts';
import type { Facts } from '../reading/facts.ts';

/**
 * The attributes in which frameworks name the channel of a run: the Microsoft Agent 365 SDK, OpenClaw and Vercel's eve. OpenTelemetry's
 * conventions have no attribute for it yet.
 */
export const CHANNEL_ATTRIBUTES = ['microsoft.channel.name', 'openclaw.channel', 'agent.channel.kind'] as const;

/** The agent of a run, and the channel that the run names. */
export type NamedChannel = { agent: string; channel: string };

type ReadSpan = { parentSpanId: string | null; serviceName: string | null; facts: Pick<Facts, 'agent' | 'operation'> };

/** The channel that the span of an agent's run names. Only attributes count that say so: a channel is never guessed from tools. */
export function channelOf({ attributes }: Pick<ReadSource, 'attributes'>, span: ReadSpan): NamedChannel | null {
  if (!isRun(span)) return null;
  const agent = span.facts.agent ?? span.serviceName;
  if (agent === null) return null;
  for (const name of CHANNEL_ATTRIBUTES) {
    const value = attributes[name];
    if (typeof value !== 'string') continue;
    const channel = value.toLowerCase();
    if (isChannelName(channel)) return { agent, channel };
  }
  return null;
}

/** Whether a span is the run of an agent: the root of its trace, or a span that runs the agent inside of another service's span. */
export function isRun({ facts, parentSpanId }: Pick<ReadSpan, 'facts' | 'parentSpanId'>): boolean {
  return parentSpanId === null || facts.operation === 'invoke_agent';
}
