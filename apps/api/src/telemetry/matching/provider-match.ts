import type { Provider, ProviderKind } from '@quartermaster/contracts/providers.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { isRouter, splitRouters } from '@quartermaster/naming/model-name.ts';
import { rewrittenName } from '@quartermaster/naming/name-family.ts';
import { caseFoldedNames, isSendersOwnHost } from '@quartermaster/naming/provider-names.ts';
import { discoveredProvider } from '@quartermaster/db/repositories/discovered-providers.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import { canonicalVendor, vendorOfHost } from '@quartermaster/naming/vendors.ts';
import { CacheByParts } from '../cache-by-parts.ts';
import type { Facts, Use } from '../dialects/facts.ts';
import { isHost } from '../dialects/server-address.ts';
import { TOOLS_OF_VENDORS } from '../dialects/server-tools.ts';
import { type BatchLookup, discoveredNames, lookUpBatch, UNNAMED_SERVICE } from './batch-lookup.ts';
import { isOfOtherVendor } from '../../governance/declarations/known-providers.ts';
import type { Match, MatchableSpan } from './match.ts';
import { declaredTool, type Reading, readingOf, readingsAt, readToolName, type WrittenTool } from './tool-names.ts';
import { likelyVendor, vendorOfModel } from './vendor-of-model.ts';

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
 * docs/matching.md has the whole list.
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
  const { providers } = lookup;
  const ofMcp = batch.filter(({ facts }) => facts.mcpMethod !== null);
  const mcpSpansOf = Map.groupBy(ofMcp, ({ traceId, parentSpanId }) => `${traceId} ${parentSpanId}`);
  const newProviders = new Set<Provider>();
  const { ofWholeTenant } = lookup;
  const wholeTenant = { tenantId: place.tenantId, subTenantId: null };
  const tenantMatcher = ofWholeTenant && matcherOf(ofWholeTenant, wholeTenant, batch, now);
  // A cache. It also ensures that equal facts get the same provider, whatever is discovered in between.
  const matched = new CacheByParts<Match>();
  // Many servers may be at one host. Then a name is compared with each of them.
  const written = new CacheByParts<WrittenTool>();
  const families = new CacheByParts<ReadonlySet<string>>();

  return { match, newProviders };

  function match(span: MatchableSpan, use: Use): Match {
    const call = use.kind === 'tool' ? innermostMcpCall(span, use) : { span, use };
    const newMatchOf = () => tenantBlock(call.span, call.use) ?? newMatch(call.span, call.use);
    const answer = tenantMatcher && call.use.kind === 'model' ? call.span.facts.responseModel : null;
    return matched.get(matchKey(call.span, call.use, answer), newMatchOf);
  }

  /**
   * The provider of the whole tenant to which the use would belong without the providers of the sub-tenant, if it blocks the use, or
   * the model that answered it. A sub-tenant cannot hide a block of the tenant by a provider of its own, unless the call goes to an
   * address that is only this one's.
   */
  function tenantBlock(span: MatchableSpan, use: Use): Match | undefined {
    if (ofWholeTenant === undefined || tenantMatcher === undefined) return undefined;
    const match = tenantMatcher.match(span, use);
    const blocks = (one: Match) => ofWholeTenant.blocks(one, use.kind) && !isAtOwnAddress(span, use, one.provider);
    if (blocks(match)) return { ...match, isBlocked: use.kind === 'tool', isTenantBlock: true };
    const { responseModel } = span.facts;
    if (use.kind !== 'model' || responseModel === null) return undefined;
    const answer = tenantMatcher.match(span, { kind: 'model', name: responseModel });
    const owner = [match, answer].find(({ provider }) => blocks({ provider, name: answer.name }))?.provider;
    return owner && { provider: owner, name: match.name, isTenantBlock: true };
  }

  /** Whether the address of a span gives the use to a provider of the sub-tenant, and would not give it to this one of the tenant. */
  function isAtOwnAddress(span: MatchableSpan, { kind }: Use, ofTenant: Provider): boolean {
    const { serverAddress, serverPort } = span.facts;
    if (serverAddress === null || isSendersOwnHost(serverAddress)) return false;
    const atHost = kind === 'model' ? providers.findAtHost(serverAddress, serverPort) : serversAtAddress(span);
    const isOwn = atHost.some(({ subTenantId }) => subTenantId !== null);
    const atAddress = ofWholeTenant?.providers.findAtHost(serverAddress, serverPort) ?? [];
    const vendor = vendorOfHost(serverAddress);
    const ofVendor = vendor === null ? [] : (ofWholeTenant?.providers.findOfVendor(vendor) ?? []);
    return isOwn && ![...atAddress, ...ofVendor].includes(ofTenant);
  }

  /** The MCP call inside a span's call of a tool, the one inside that, and so on. Without such a call, the span's own. */
  function innermostMcpCall(span: MatchableSpan, use: Use): { span: MatchableSpan; use: Use } {
    let call = { span, use };
    for (let depth = 0; depth < MAX_NESTED_MCP_CALLS; depth += 1) {
      const child = mcpChild(call.span, call.use);
      if (!child) break;
      call = child;
    }
    return call;
  }

  function newMatch(span: MatchableSpan, { kind, name }: Use): Match {
    if (kind === 'tool') return matchTool(span, name);
    if (kind === 'model') return matchModel(span, name);
    return { provider: ownerOf(span, kind), name };
  }

  function ownerOf(span: MatchableSpan, kind: Use['kind']): Provider {
    const { mcpMethod, toolServer } = span.facts;
    if (mcpMethod !== null || (kind !== 'agent' && toolServer !== null))
      return mcpServer(span) ?? discovered(serviceNames(span), 'mcp');
    return serverAtAddress(span) ?? service(span);
  }

  /** The model behind a router is the model, wherever the router is. */
  function matchModel(span: MatchableSpan, written: string): Match {
    const { vendor } = span.facts;
    const { routers, model } = splitRouters(vendor !== null && isRouter(vendor) ? `${vendor}/${written}` : written);
    return { provider: ownerOfModel(span, model, routers), name: model };
  }

  function ownerOfModel({ facts, serviceName }: MatchableSpan, model: string, routers: readonly string[]): Provider {
    const { serverAddress: address, serverPort } = facts;
    const atAddress = address === null ? [] : providers.findAtHost(address, serverPort);
    if (atAddress.length > 0) return preferred(atAddress, model);
    const named = address !== null && !isHost(address) ? providers.findByName(address) : undefined;
    if (named) return named;
    const apiVendor = address === null ? null : vendorOfHost(address);
    const ofSpan = facts.vendor !== null && routers.includes(facts.vendor) ? null : facts.vendor;
    const isLibrary = ofSpan === null || LIBRARY_VENDORS.prefix.has(ofSpan);
    const isRouted = routers.length > 0 && apiVendor === null && isLibrary;
    const declaredRouters = isRouted ? routers.flatMap(declaredOf) : [];
    if (declaredRouters.length > 0) return preferred(declaredRouters, model);
    const seller = isRouted ? routers.map(canonicalVendor).find((one) => one !== null) : undefined;
    const vendor = seller ?? ofSpan;
    const routed = apiVendor === null ? routedOwner(vendor, model) : undefined;
    if (routed) return routed;
    const vendors = distinct([vendor, apiVendor]).flatMap((one) => providers.findOfVendor(one));
    const isElsewhere = address !== null && apiVendor === null && isHost(address) && !isSendersOwnHost(address);
    const hasModel = (one: Provider) => lookup.modelAt(one, model) !== undefined;
    // A client library names its own vendor, whatever endpoint it is configured with. At an unknown address, and behind a
    // router, the vendor's provider is used only if its inventory has the model.
    const isHidden = vendor === null || (isRouted && LIBRARY_VENDORS.prefix.has(vendor) && !vendors.some(hasModel));
    const sole = isHidden && (isRouted || address === null) ? lookup.soleProviderOfModel(model) : undefined;
    if (sole) return sole;
    const own = isElsewhere ? vendors.filter(hasModel) : vendors;
    const isDiscovered = own.every(({ status }) => status === 'discovered');
    const blocking = isDiscovered ? blockingVendor(model) : undefined;
    if (blocking) return blocking;
    if (own.length > 0 && !(isElsewhere && isDiscovered)) return preferred(own, model);
    // A router that the span names has one name, whatever its address.
    const known = vendor ?? apiVendor ?? facts.vendor;
    const likely = known === null && !isElsewhere ? likelyVendor(model) : null;
    const names = distinct([known ?? likely, address ?? (known === null ? (serviceName ?? UNNAMED_SERVICE) : null)]);
    const holders = names.flatMap(discoveredNames).flatMap((name) => providers.findByName(name) ?? []);
    return holders.find((one) => isBlockedAt(one, model)) ?? discovered(names, 'llm', vendor);
  }

  function isBlockedAt(provider: Provider, model: string): boolean {
    return lookup.modelAt(provider, model)?.status === 'blocked';
  }

  function declaredOf(vendor: string): Provider[] {
    return providers.findOfVendor(vendor).filter(({ status }) => status !== 'discovered');
  }

  /** The provider that the model's name names, if it blocks the model. An undeclared router does not hide a block. */
  function blockingVendor(model: string): Provider | undefined {
    const named = vendorOfModel(model);
    if (named === null) return undefined;
    return declaredOf(named.vendor).find((one) => isBlockedAt(one, model));
  }

  /**
   * The provider of the vendor that the model's name names, if it has the model. Clients of a router write the router's form of
   * the name, and the vendor of their own library or none.
   */
  function routedOwner(vendor: string | null, model: string): Provider | undefined {
    const named = vendorOfModel(model);
    if (named === null || (vendor !== null && !LIBRARY_VENDORS[named.by].has(vendor))) return undefined;
    const hasModel = (one: Provider) => lookup.modelAt(one, model) !== undefined;
    const owners = providers.findOfVendor(named.vendor).filter(hasModel);
    if (owners.length === 0) return undefined;
    const isOfLibrary = named.by === 'prefix' && vendor !== null && providers.findOfVendor(vendor).some(hasModel);
    return isOfLibrary ? undefined : preferred(owners, model);
  }

  /** Of equally good matches, the provider that blocks the model, otherwise one that has it, otherwise the first. */
  function preferred(candidates: readonly Provider[], model: string): Provider {
    const items = candidates.map((provider) => ({ provider, item: lookup.modelAt(provider, model) }));
    const best = items.find(({ item }) => item?.status === 'blocked') ?? items.find(({ item }) => item) ?? items[0];
    if (!best) throw new Error('preferred needs at least one provider');
    return best.provider;
  }

  function matchTool(span: MatchableSpan, written: string): Match {
    const { facts } = span;
    const server = serverAtAddress(span, written) ?? namedServer(facts);
    const hashed = lookup.hashedTool(written, server);
    if (hashed) return hashed;
    if (server) return atServer(server, written);
    const within = serverInName(written);
    if (within) return within;
    const unknown = unknownServer(span, written);
    if (unknown) return unknown;
    const sole = lookup.soleTool(written);
    const runBy = facts.toolRunsAt === 'vendor' ? facts.vendor : null;
    if (sole && !isRunElsewhere(sole.provider, runBy, written)) return sole;
    if (runBy !== null) {
      const { serverAddress, serverPort } = facts;
      const atAddress = serverAddress === null ? [] : providers.findAtHost(serverAddress, serverPort);
      const [owner = discovered([runBy], 'llm', runBy)] = [...atAddress, ...providers.findOfVendor(runBy)];
      return atServer(owner, written);
    }
    return atServer(facts.mcpMethod === null ? service(span) : discovered(serviceNames(span), 'mcp'), written);
  }

  function writtenTool(name: string): WrittenTool {
    return written.get([name], () => readToolName(name));
  }

  /** The names and aliases of a provider, as frameworks rewrite them. */
  function familiesOf(provider: Provider): ReadonlySet<string> {
    return families.get([provider.id], () => new Set(caseFoldedNames(provider).map(rewrittenName)));
  }

  /** The declared tool of a server that a name means, otherwise the tool as it is written. */
  function atServer(provider: Provider, name: string): Match {
    const tool = writtenTool(name);
    const own = familiesOf(provider);
    const declared = declaredAt(provider, readingsAt(own, tool));
    if (declared) return declared;
    const marked = tool.splits.find(({ isMarked, serverFamily }) => isMarked && own.has(serverFamily));
    return { provider, name: marked?.tool ?? name };
  }

  function declaredAt(provider: Provider, readings: readonly Reading[]): Match | undefined {
    const declared = declaredTool(readings, lookup.toolsOf(provider));
    return declared && { provider, name: declared.name, isBlocked: declared.status === 'blocked' };
  }

  /** The known server whose name is in front of a tool's name. Of several the one that has the tool, or the longest name. */
  function serverInName(name: string): Match | undefined {
    const whole = writtenTool(name);
    let guess: Match | undefined;
    for (const split of whole.splits.toReversed()) {
      const provider = providers.findServer(split.server);
      if (!provider) continue;
      const declared = declaredAt(provider, [whole, readingOf(split)]);
      if (declared) return declared;
      const isServer = provider.kind === 'mcp' || provider.status !== 'discovered';
      if (split.isMarked && isServer) guess ??= { provider, name: split.tool };
    }
    return guess ?? lookup.toolOfCutServer(name);
  }

  /** A new server, by the name or address in the span, or by the form of the tool's name. */
  function unknownServer({ facts }: MatchableSpan, name: string): Match | undefined {
    const named = facts.toolServer ?? (isServerName(facts.serverAddress) ? facts.serverAddress : null);
    if (named !== null) return atServer(discovered([named], 'mcp'), name);
    const address = facts.toolRunsAt === 'vendor' ? null : toolAddress(facts);
    if (address !== null) {
      return atServer(discovered([address], facts.mcpMethod === null ? 'agent_runtime' : 'mcp'), name);
    }
    const explicit = writtenTool(name).splits.find(({ isExplicit }) => isExplicit);
    return explicit && { provider: discovered([explicit.server], 'mcp'), name: explicit.tool };
  }

  function mcpServer(span: MatchableSpan): Provider | undefined {
    const known = serverAtAddress(span) ?? namedServer(span.facts);
    if (known) return known;
    const name = span.facts.toolServer ?? span.facts.serverAddress;
    return name === null ? undefined : discovered([name], 'mcp');
  }

  /**
   * The known provider at a span's address. Gateways have several servers at one host: of these the one that the span names, for
   * a tool otherwise one that blocks it, then one that declares it.
   */
  function serverAtAddress(span: MatchableSpan, tool: string | null = null): Provider | undefined {
    const servers = serversAtAddress(span);
    const { toolServer } = span.facts;
    if (servers.length < 2) return servers[0];
    const named =
      toolServer === null ? undefined : servers.find((one) => familiesOf(one).has(rewrittenName(toolServer)));
    if (named !== undefined || tool === null) return named ?? servers[0];
    const matches = servers.map((one) => atServer(one, tool));
    const best =
      matches.find(({ isBlocked }) => isBlocked === true) ?? matches.find(({ isBlocked }) => isBlocked === false);
    return (best ?? matches.find(({ name }) => name !== tool) ?? matches[0])?.provider;
  }

  /** The known providers at a span's address. A model vendor's address counts for MCP calls only. */
  function serversAtAddress({ facts: { serverAddress, serverPort, mcpMethod } }: MatchableSpan): Provider[] {
    if (serverAddress === null) return [];
    return providers.findAtHost(serverAddress, serverPort).filter(({ kind }) => kind !== 'llm' || mcpMethod !== null);
  }

  function namedServer({ toolServer, serverAddress }: Facts): Provider | undefined {
    const named = toolServer ?? (isServerName(serverAddress) ? serverAddress : null);
    if (named === null) return undefined;
    return providers.findServer(named) ?? lookup.hashedServer(named);
  }

  function mcpChild(span: MatchableSpan, use: Use): { span: MatchableSpan; use: Use } | undefined {
    if (mcpSpansOf.size === 0) return undefined;
    for (const child of mcpSpansOf.get(`${span.traceId} ${span.spanId}`) ?? []) {
      if (child.spanId === span.spanId || !namesServer(child.facts)) continue;
      const own = child.uses.find(({ kind, name }) => kind === 'tool' && isSameTool(use.name, name));
      if (own) return { span: child, use: own };
    }
    return undefined;
  }

  function service(span: MatchableSpan): Provider {
    const holder = providers.findByName(span.serviceName ?? UNNAMED_SERVICE);
    if (holder && holder.status !== 'discovered' && holder.kind !== 'llm') return holder;
    return discovered(serviceNames(span), 'agent_runtime');
  }

  /**
   * A discovered provider, by the first of the names that is free or belongs to a discovered one.
   *
   * @param vendor the name of a model vendor. A declared provider of this name gets no traffic of other addresses
   */
  function discovered(names: readonly string[], kind: ProviderKind, vendor: string | null = null): Provider {
    const last = names.at(-1) ?? UNNAMED_SERVICE;
    const all = [...names.map((name) => discoveredNames(name)[0]), discoveredNames(last)[1]];
    for (const [index, name] of all.entries()) {
      const holder = providers.findByName(name);
      const isAdopted = holder?.baseUrl === null && name !== vendor && (kind === 'llm' || holder.kind !== 'llm');
      if (holder && (holder.status === 'discovered' || isAdopted || index === all.length - 1)) return holder;
      if (holder) continue;
      const provider = discoveredProvider(place, { name, kind }, now);
      newProviders.add(provider);
      providers.add(provider);
      return provider;
    }
    throw new Error('discovered needs at least one name');
  }
}

/**
 * Vendors that a client library writes although another vendor's API is called. OpenAI's library is used for every router. The
 * libraries of the makers of models also call Bedrock and Vertex AI. A router that names itself is the provider that is called.
 */
const LIBRARY_VENDORS = {
  prefix: new Set(['openai']),
  notation: new Set([
    'openai',
    'ai21',
    'anthropic',
    'cohere',
    'deepseek',
    'gcp.gemini',
    'gcp.gen_ai',
    'meta',
    'mistral_ai',
  ]),
} as const;

function serviceNames({ serviceName }: MatchableSpan): string[] {
  return [serviceName ?? UNNAMED_SERVICE];
}

/** The host of a span's address, unless it is a vendor's API. */
function toolAddress({ serverAddress }: Facts): string | null {
  return serverAddress !== null && isHost(serverAddress) && vendorOfHost(serverAddress) === null ? serverAddress : null;
}

/**
 * Whether a vendor's run of a tool is not that of the provider which declares one of this name. Vendors also call tools of MCP servers,
 * which do not have the names of the vendors' own tools.
 */
function isRunElsewhere(provider: Provider, runBy: string | null, tool: string): boolean {
  if (runBy === null) return false;
  return provider.kind === 'llm' ? isOfOtherVendor(provider, runBy) : TOOLS_OF_VENDORS.has(tool);
}

/** Some senders write the name of an MCP server as `server.address`. */
function isServerName(address: string | null): address is string {
  return address !== null && !isHost(address);
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

function distinct(texts: readonly (string | null)[]): string[] {
  return [...new Set(texts.filter((text) => text !== null))];
}
