import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { rewrittenName } from '@quartermaster/naming/name-family.ts';
import { isSendersOwnHost } from '@quartermaster/naming/provider-names.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import { vendorOfHost } from '@quartermaster/naming/vendors.ts';
import { CacheByParts } from '../cache-by-parts.ts';
import type { Facts, Use } from '../reading/facts.ts';
import { type BatchLookup, lookUpBatch } from './batch-lookup.ts';
import { Discovery } from './discovery.ts';
import type { Match, MatchableSpan } from './match.ts';
import { matchModel } from './model-rules.ts';
import { Servers } from './servers.ts';
import { matchTool } from './tool-rules.ts';

/**
 * Finds the provider that a use belongs to, and the name that it has there. First match wins:
 * - a model: the provider at the span's address; the declared router that the model's name names; the vendor that it names, if
 *   that has the model; the span's vendor; the one declared provider that has the model; the vendor that is likely by the name;
 * - a tool: the MCP call among the span's children; the server at the span's address; the server that the span or the
 *   tool's name names; the one declared provider that has the tool, unless another vendor runs it; the vendor, if it runs the
 *   tool; the service;
 * - a prompt or a resource of MCP: its server; an agent and every other prompt: the service.
 *
 * A use that matches no known provider gets a discovered one. A vendor of models never owns tools, agents or prompts.
 * docs/matching.md has the whole list, `model-rules.ts` and `tool-rules.ts` have the rules.
 *
 * @returns a matcher for one batch. It collects the providers that it discovers in `newProviders`, and does not store them
 */
export async function providerMatcher(
  db: Database,
  place: TenantPlace,
  batch: readonly MatchableSpan[],
  now: Date,
): Promise<ProviderMatcher> {
  return matcherOf(await lookUpBatch(db, place, batch), place, batch, now);
}

/** The maximum number of MCP calls in each other that are followed. Senders choose the parents of spans, so these may form cycles. */
const MAX_NESTED_MCP_CALLS = 8;

type ProviderMatcher = { match: (span: MatchableSpan, use: Use) => Match; newProviders: ReadonlySet<Provider> };

/** {@link providerMatcher} with the look-ups that it needs. Adds the providers that it discovers to `lookup.providers`. */
export function matcherOf(
  lookup: BatchLookup,
  place: TenantPlace,
  batch: readonly MatchableSpan[],
  now: Date,
): ProviderMatcher {
  const servers = new Servers(lookup);
  const discovery = new Discovery(lookup.providers, place, now);
  const context = { lookup, servers, discovery };
  const callOf = innermostMcpCalls(batch);
  const blockOfTenant = tenantBlocks(lookup, servers, tenantMatcherOf(lookup, place, batch, now));
  // A cache. It also ensures that equal facts get the same provider, whatever is discovered in between.
  const matched = new CacheByParts<Match>();

  const newMatch = (span: MatchableSpan, { kind, name }: Use): Match => {
    if (kind === 'tool') return matchTool(context, span, name);
    if (kind === 'model') return matchModel(context, span, name);
    return { provider: ownerOf(context, span, kind), name };
  };
  return {
    newProviders: discovery.newProviders,
    match(span, use) {
      const call = use.kind === 'tool' ? callOf(span, use) : { span, use };
      const newMatchOf = () => blockOfTenant(call.span, call.use) ?? newMatch(call.span, call.use);
      const answer = lookup.tenantLookup && call.use.kind === 'model' ? call.span.facts.responseModel : null;
      return matched.get(matchKey(call.span, call.use, answer), newMatchOf);
    },
  };
}

/** The owner of an agent, a prompt or a resource: its MCP server, the server at the span's address, or the service. */
function ownerOf(
  { servers, discovery }: { servers: Servers; discovery: Discovery },
  span: MatchableSpan,
  kind: Use['kind'],
): Provider {
  const { mcpMethod, toolServer, serverAddress } = span.facts;
  const isOfMcp = mcpMethod !== null || (kind !== 'agent' && toolServer !== null);
  if (!isOfMcp) return servers.atAddress(span) ?? discovery.service(span);
  const known = servers.find(span);
  if (known) return known;
  const name = toolServer ?? serverAddress;
  return name === null ? discovery.mcpService(span) : discovery.discover([name], 'mcp');
}

/** A matcher that ignores the providers of the sub-tenant. Undefined if no use of the batch can belong to a provider of the sub-tenant. */
function tenantMatcherOf(
  { tenantLookup }: BatchLookup,
  { tenantId }: TenantPlace,
  batch: readonly MatchableSpan[],
  now: Date,
): ProviderMatcher | undefined {
  return tenantLookup && matcherOf(tenantLookup, { tenantId, subTenantId: null }, batch, now);
}

/**
 * Returns a function that finds a provider of the whole tenant that blocks a use, or the model that answered it. It is the provider to
 * which the use would belong if the sub-tenant had no providers. So a sub-tenant cannot hide a block of its tenant behind a provider of
 * its own. The exception is a call to an address that belongs only to the provider of the sub-tenant.
 */
function tenantBlocks(
  { providers, tenantLookup }: BatchLookup,
  servers: Servers,
  tenantMatcher: ProviderMatcher | undefined,
): (span: MatchableSpan, use: Use) => Match | undefined {
  if (tenantLookup === undefined || tenantMatcher === undefined) return () => undefined;

  /** Whether the address of a span belongs to a provider of the sub-tenant, and not to the given provider of the tenant. */
  const isAtSubTenantAddress = (span: MatchableSpan, { kind }: Use, tenantProvider: Provider): boolean => {
    const { serverAddress, serverPort } = span.facts;
    if (serverAddress === null || isSendersOwnHost(serverAddress)) return false;
    const atHost = kind === 'model' ? providers.findAtHost(serverAddress, serverPort) : servers.allAtAddress(span);
    const belongsToSubTenant = atHost.some(({ subTenantId }) => subTenantId !== null);
    const atAddress = tenantLookup.providers.findAtHost(serverAddress, serverPort);
    const vendor = vendorOfHost(serverAddress);
    const ofVendor = vendor === null ? [] : tenantLookup.providers.findOfVendor(vendor);
    return belongsToSubTenant && ![...atAddress, ...ofVendor].includes(tenantProvider);
  };

  return (span, use) => {
    const match = tenantMatcher.match(span, use);
    const blocks = (candidate: Match) =>
      tenantLookup.blocks(candidate, use.kind) && !isAtSubTenantAddress(span, use, candidate.provider);
    if (blocks(match)) return { ...match, isBlocked: use.kind === 'tool', isTenantBlock: true };
    const { responseModel } = span.facts;
    if (use.kind !== 'model' || responseModel === null) return undefined;
    const answer = tenantMatcher.match(span, { kind: 'model', name: responseModel });
    const owner = [match, answer].find(({ provider }) => blocks({ provider, name: answer.name }))?.provider;
    return owner && { provider: owner, name: match.name, isTenantBlock: true };
  };
}

type Call = { span: MatchableSpan; use: Use };

/** Returns a function that finds the innermost MCP call inside a span's call of a tool. Without any, it returns the call itself. */
function innermostMcpCalls(batch: readonly MatchableSpan[]): (span: MatchableSpan, use: Use) => Call {
  const ofMcp = batch.filter(({ facts }) => facts.mcpMethod !== null);
  const children = Map.groupBy(ofMcp, ({ traceId, parentSpanId }) => `${traceId} ${parentSpanId}`);

  const childOf = ({ span, use }: Call): Call | undefined => {
    for (const child of children.get(`${span.traceId} ${span.spanId}`) ?? []) {
      if (child.spanId === span.spanId || !namesServer(child.facts)) continue;
      const sameTool = child.uses.find(({ kind, name }) => kind === 'tool' && isSameTool(use.name, name));
      if (sameTool) return { span: child, use: sameTool };
    }
    return undefined;
  };

  return (span, use) => {
    let call = { span, use };
    if (children.size === 0) return call;
    for (let depth = 0; depth < MAX_NESTED_MCP_CALLS; depth += 1) {
      const child = childOf(call);
      if (!child) break;
      call = child;
    }
    return call;
  };
}

function namesServer({ serverAddress, toolServer }: Facts): boolean {
  return serverAddress !== null || toolServer !== null;
}

/** Whether the tool of an outer span is the tool of the MCP call inside it, with or without the server's name in front. */
function isSameTool(outer: string, inner: string): boolean {
  const [long, short] = [rewrittenName(outer), rewrittenName(inner)];
  return long === short || long.endsWith(`_${short}`);
}

/** Everything that a match depends on. @param answer the model that answered, if the match depends on it */
function matchKey({ facts, serviceName }: MatchableSpan, { kind, name }: Use, answer: string | null) {
  const { serverAddress, serverPort, vendor, toolServer, toolRunsAt, mcpMethod } = facts;
  const isMcp = mcpMethod === null ? 0 : 1;
  const names = answer === null ? [0, name] : [1, JSON.stringify([name, answer])];
  return [serviceName, vendor, serverAddress, serverPort, toolServer, toolRunsAt, isMcp, kind, ...names];
}
