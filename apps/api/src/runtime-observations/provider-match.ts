import type { Provider, ProviderKind } from '@quartermaster/contracts/providers.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { rewrittenName } from '@quartermaster/db/name-family.ts';
import { calledNames } from '@quartermaster/db/provider-names.ts';
import { discoveredProvider } from '@quartermaster/db/repositories/discovered-providers.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import { vendorOfHost } from '@quartermaster/db/vendors.ts';
import type { Facts, Use } from '../telemetry/dialects/facts.ts';
import { isHost, isLoopback } from '../telemetry/dialects/server-address.ts';
import { discoveredNames, lookUpBatch, UNNAMED_SERVICE } from './batch-lookup.ts';
import { declaredTool, serverToolsIn, toolsAt } from './tool-names.ts';

/** A span with what it says, as matching needs it. */
export type SeenSpan = {
  traceId: string;
  spanId: string;
  parentSpanId: string | null;
  serviceName: string | null;
  facts: Facts;
  uses: Use[];
};

/** What a use is of. */
export type Match = {
  provider: Provider;
  /** Its name there: a declared tool's own name, however the span writes it; everything else as it is written. */
  name: string;
};

/**
 * Finds which provider a use is of, and what it is called there. First match wins:
 * - a model: the provider at the span's address; the vendor's; the one declared provider that has the model;
 * - a tool: the MCP call among the span's children; the server at the span's address; the server that the span or the
 *   tool's name names; the one declared provider that has the tool; the vendor, where it runs the tool; the service;
 * - a prompt or a resource of MCP: its server; an agent and every other prompt: the service.
 *
 * What fits none of the declared ones is at a discovered provider. A vendor of models owns no tools, agents or prompts.
 * docs/governance.md has the whole list.
 *
 * @returns a matcher for one batch, which looked everything up at once. The discovered providers that it makes are not
 *   stored yet: they are in `made`.
 */
export async function providerMatcher(
  db: Database,
  place: TenantPlace,
  batch: readonly SeenSpan[],
  now: Date,
): Promise<{ match: (span: SeenSpan, use: Use) => Match; made: ReadonlySet<Provider> }> {
  const lookup = await lookUpBatch(db, place, batch);
  const { providers } = lookup;
  const ofMcp = batch.filter(({ facts }) => facts.mcpMethod !== null);
  const mcpSpansOf = Map.groupBy(ofMcp, ({ traceId, parentSpanId }) => `${traceId} ${parentSpanId}`);
  const made = new Set<Provider>();
  // The same facts always have the same answer, whatever is discovered in between.
  const matched = new Map<string, Match>();

  return { match, made };

  function match(span: SeenSpan, use: Use): Match {
    const child = use.kind === 'tool' ? mcpChild(span, use) : undefined;
    if (child) return match(child.span, child.use);
    const said = saidOf(span, use);
    let found = matched.get(said);
    if (!found) {
      found = use.kind === 'tool' ? matchTool(span, use.name) : { provider: ownerOf(span, use), name: use.name };
      matched.set(said, found);
    }
    // Two agents of one service have the same facts, and not the same name.
    return use.kind === 'tool' ? found : { provider: found.provider, name: use.name };
  }

  function ownerOf(span: SeenSpan, use: Use): Provider {
    if (use.kind === 'model') return ownerOfModel(span, use.name);
    if (span.facts.mcpMethod !== null) return mcpServer(span) ?? discovered(serviceNames(span), 'mcp');
    return serverAtAddress(span) ?? service(span);
  }

  function ownerOfModel(span: SeenSpan, model: string): Provider {
    const { serverPort, vendor } = span.facts;
    const address = span.facts.serverAddress;
    const atAddress = address === null ? [] : providers.atHost(address, serverPort);
    if (atAddress.length > 0) return preferred(atAddress, model);
    const named = address !== null && !isHost(address) ? providers.called(address) : undefined;
    if (named) return named;
    const apiVendor = address === null ? null : vendorOfHost(address);
    const vendors = distinct([vendor, apiVendor]).flatMap((one) => providers.ofVendor(one));
    const isElsewhere = address !== null && apiVendor === null && isHost(address) && !isLoopback(address);
    // A client library names its own vendor whatever endpoint it is pointed at: then only what the vendor is declared to have
    // counts as the vendor's.
    const own = isElsewhere ? vendors.filter((one) => lookup.modelAt(one, model)) : vendors;
    if (own.length > 0 && !(isElsewhere && own[0]?.status === 'discovered')) return preferred(own, model);
    const sole = address === null && vendor === null ? lookup.soleProviderOfModel(model) : undefined;
    if (sole) return sole;
    const names = address === null ? [vendor ?? span.serviceName ?? UNNAMED_SERVICE] : [address];
    return discovered([...distinct([vendor ?? apiVendor]), ...names], 'llm', vendor);
  }

  /** Of providers that fit equally well the one that blocks the model, else one that has it. */
  function preferred(fitting: readonly Provider[], model: string): Provider {
    const items = fitting.map((provider) => ({ provider, item: lookup.modelAt(provider, model) }));
    const best = items.find(({ item }) => item?.status === 'blocked') ?? items.find(({ item }) => item) ?? items[0];
    if (!best) throw new Error('one of no providers was asked for');
    return best.provider;
  }

  function matchTool(span: SeenSpan, written: string): Match {
    const { facts } = span;
    const server = serverAtAddress(span) ?? namedServer(facts);
    const hashed = lookup.hashedTool(written, server);
    if (hashed) return hashed;
    if (server) return atServer(server, written);
    const within = serverInName(written);
    if (within) return within;
    const unknown = unknownServer(span, written);
    if (unknown) return unknown;
    const sole = lookup.soleTool(written);
    if (sole) return sole;
    if (facts.toolRunsAt === 'vendor' && facts.vendor !== null) {
      const [owner = discovered([facts.vendor], 'llm', facts.vendor)] = providers.ofVendor(facts.vendor);
      return atServer(owner, written);
    }
    return atServer(facts.mcpMethod === null ? service(span) : discovered(serviceNames(span), 'mcp'), written);
  }

  /** The declared tool of a server that is meant, else the tool as it is written. */
  function atServer(provider: Provider, written: string): Match {
    const readings = toolsAt(calledNames(provider), written);
    const declared = declaredTool(readings, lookup.toolsOf(provider));
    if (declared) return { provider, name: declared.name };
    const marked = serverToolsIn(written).find(({ isMarked, tool }) => isMarked && readings.slice(1).includes(tool));
    return { provider, name: marked?.tool ?? written };
  }

  /** The known server whose name stands in a tool's name; of several the one that has the tool, else the longest name. */
  function serverInName(written: string): Match | undefined {
    let guess: Match | undefined;
    for (const { server, tool, isMarked } of serverToolsIn(written).toReversed()) {
      const provider = providers.server(server);
      if (!provider) continue;
      const declared = declaredTool([written, tool], lookup.toolsOf(provider));
      if (declared) return { provider, name: declared.name };
      if (isMarked && (provider.kind === 'mcp' || provider.status !== 'discovered')) guess ??= { provider, name: tool };
    }
    return guess ?? lookup.toolOfCutServer(written);
  }

  /** A server that nobody knows yet, which an address or the form of the tool's name tells. */
  function unknownServer({ facts }: SeenSpan, written: string): Match | undefined {
    const named = facts.toolServer ?? (isServerName(facts.serverAddress) ? facts.serverAddress : null);
    if (named !== null) return atServer(discovered([named], 'mcp'), written);
    const address = toolAddress(facts);
    if (address !== null) {
      return atServer(discovered([address], facts.mcpMethod === null ? 'agent_runtime' : 'mcp'), written);
    }
    const explicit = serverToolsIn(written).find(({ isExplicit }) => isExplicit);
    return explicit && { provider: discovered([explicit.server], 'mcp'), name: explicit.tool };
  }

  function mcpServer(span: SeenSpan): Provider | undefined {
    const known = serverAtAddress(span) ?? namedServer(span.facts);
    if (known) return known;
    const name = span.facts.toolServer ?? span.facts.serverAddress;
    return name === null ? undefined : discovered([name], 'mcp');
  }

  /** Who is known at a span's address. A vendor of models counts for MCP calls alone. */
  function serverAtAddress({ facts }: SeenSpan): Provider | undefined {
    if (facts.serverAddress === null) return undefined;
    const there = providers.atHost(facts.serverAddress, facts.serverPort);
    return there.find(({ kind }) => kind !== 'llm' || facts.mcpMethod !== null);
  }

  function namedServer({ toolServer, serverAddress }: Facts): Provider | undefined {
    const named = toolServer ?? (isServerName(serverAddress) ? serverAddress : null);
    if (named === null) return undefined;
    return providers.server(named) ?? lookup.hashedServer(named);
  }

  function mcpChild(span: SeenSpan, use: Use): { span: SeenSpan; use: Use } | undefined {
    for (const child of mcpSpansOf.get(`${span.traceId} ${span.spanId}`) ?? []) {
      if (child.spanId === span.spanId || !saysServer(child.facts)) continue;
      const own = child.uses.find(({ kind, name }) => kind === 'tool' && isSameTool(use.name, name));
      if (own) return { span: child, use: own };
    }
    return undefined;
  }

  function service(span: SeenSpan): Provider {
    const holder = providers.called(span.serviceName ?? UNNAMED_SERVICE);
    if (holder && holder.status !== 'discovered' && holder.kind !== 'llm') return holder;
    return discovered(serviceNames(span), 'agent_runtime');
  }

  /** @param vendor what a vendor of models is called: a declared one of that name has no traffic of other addresses */
  function discovered(names: readonly string[], kind: ProviderKind, vendor: string | null = null): Provider {
    const last = names.at(-1) ?? UNNAMED_SERVICE;
    const all = [...names.map((name) => discoveredNames(name)[0]), discoveredNames(last)[1]];
    for (const [index, name] of all.entries()) {
      const holder = providers.called(name);
      const isAdopted = holder?.baseUrl === null && name !== vendor && (kind === 'llm' || holder.kind !== 'llm');
      if (holder && (holder.status === 'discovered' || isAdopted || index === all.length - 1)) return holder;
      if (holder) continue;
      const provider = discoveredProvider(place, { name, kind }, now);
      made.add(provider);
      providers.learn(provider);
      return provider;
    }
    throw new Error('a span always has a name for its provider');
  }
}

/** The names that a service's discovered provider may have. */
function serviceNames({ serviceName }: SeenSpan): string[] {
  return [serviceName ?? UNNAMED_SERVICE];
}

/** The address that a tool runs at, other than that of a vendor's API. */
function toolAddress({ serverAddress }: Facts): string | null {
  return serverAddress !== null && isHost(serverAddress) && vendorOfHost(serverAddress) === null ? serverAddress : null;
}

/** Some senders write the name of an MCP server where an address belongs. */
function isServerName(address: string | null): address is string {
  return address !== null && !isHost(address);
}

function saysServer({ serverAddress, toolServer }: Facts): boolean {
  return serverAddress !== null || toolServer !== null;
}

/** Whether an outer span's tool is that of the MCP call inside it: by its name, with or without the server's in front. */
function isSameTool(outer: string, inner: string): boolean {
  const [long, short] = [rewrittenName(outer), rewrittenName(inner)];
  return long === short || long.endsWith(`_${short}`);
}

/** What a match depends on: where a use says that it belongs, and its name. No text of a span has a NUL in it. */
function saidOf({ facts, serviceName }: SeenSpan, { kind, name }: Use): string {
  const { serverAddress, serverPort, vendor, toolServer, toolRunsAt, mcpMethod } = facts;
  const isMcp = mcpMethod === null ? '' : 'mcp';
  const said = [kind, serverAddress, serverPort, vendor, serviceName, toolServer, toolRunsAt, isMcp];
  return [...said.map((one) => one ?? ''), name].join('\0');
}

function distinct(texts: readonly (string | null)[]): string[] {
  return [...new Set(texts.filter((text) => text !== null))];
}
