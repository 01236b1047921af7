import type { AggregationLimits } from '../../governance/observations/aggregate.ts';
import type { Match } from '../matching/match.ts';
import type { InterpretedSpan } from './interpreted-span.ts';
import type { Use } from '../reading/facts.ts';
import { DAY_MS } from '../periods.ts';
import { FAILURE, REJECTION } from '../reading/operations.ts';
import { type CallSpan, type CallUse, MAX_DURATION_MS } from './call-span.ts';
import { certaintyOf } from './certainty.ts';

/** The upper bound for one call, so that no sender can overflow the sums of others. */
const MAX_TOKENS = 1_000_000_000;

/** The call span of an interpreted span. Null if the span reports no call, and no rejection or failure of a call. */
export function makeCallSpan(
  span: InterpretedSpan,
  matchOf: (use: Use) => Match,
  { now, limits }: { now: Date; limits: Pick<AggregationLimits, 'usageRetentionDays'> },
): CallSpan | null {
  const { facts, uses, spanId, parentSpanId, scope, spanName, serviceName, environment, start, end, failed } = span;
  const isAboutCall = facts.operation === REJECTION || (facts.operation === FAILURE && failed);
  if (uses.length === 0 && !isAboutCall) return null;
  const made = uses.map((use) => makeUse(span, use, matchOf(use)));
  const startMs = Math.floor(start / 1000);
  const retainedSince = now.getTime() - limits.usageRetentionDays * DAY_MS;
  const isRetained = startMs >= retainedSince && startMs <= now.getTime();
  return {
    spanId,
    parentSpanId,
    scope,
    spanName,
    serviceName,
    environment,
    start,
    end: Math.min(end, start + MAX_DURATION_MS * 1000),
    countedAt: isRetained ? startMs : now.getTime(),
    failed,
    agent: facts.agent,
    callId: facts.callId,
    inputTokens: tokens(facts.inputTokens),
    outputTokens: tokens(facts.outputTokens),
    cacheReadTokens: tokens(facts.cacheReadTokens),
    cacheWriteTokens: tokens(facts.cacheWriteTokens),
    reasoningTokens: tokens(facts.reasoningTokens),
    serverAddress: facts.serverAddress,
    operation: facts.operation ?? facts.mcpMethod,
    uses: made.filter(({ times }) => times > 0),
    tokensOf: made.find(({ times }) => times === 0) ?? null,
  };
}

function makeUse(
  span: InterpretedSpan,
  use: Use,
  { provider, name, isBlocked = false, isTenantBlock = false }: Match,
): CallUse {
  const { facts, serviceName } = span;
  const mayBeVendors = provider.kind === 'agent_runtime' || provider.kind === 'llm';
  const isUnnamedVendor = facts.toolRunsAt === 'vendor' && facts.vendor === null && mayBeVendors;
  const isService = provider.status === 'discovered' && provider.name === serviceName;
  return {
    kind: use.kind,
    name,
    written: use.name,
    responseModel: use.kind === 'model' ? facts.responseModel : null,
    provider: { id: provider.id, name: provider.name, kind: provider.kind },
    server: facts.toolServer ?? (isService ? null : provider.name),
    certainty: certaintyOf({ span, use, provider, isTenantBlock }),
    isMcp: facts.mcpMethod !== null,
    // A block is noticed only where it was declared.
    isOfModel: use.kind === 'tool' && isUnnamedVendor && !isBlocked,
    isCounted: false,
    isFailureCounted: false,
    times: use.times ?? 1,
  };
}

function tokens(count: number | null): number | null {
  return count === null ? null : Math.min(count, MAX_TOKENS);
}
