import type { Provider } from '@quartermaster/contracts/providers.ts';
import { rewrittenName } from '@quartermaster/naming/name-family.ts';
import { caseFoldedNames } from '@quartermaster/naming/provider-names.ts';
import { CacheByParts } from '../cache-by-parts.ts';
import type { Facts } from '../reading/facts.ts';
import { isHost } from '../reading/server-address.ts';
import type { BatchLookup } from './batch-lookup.ts';
import type { Match, MatchableSpan } from './match.ts';
import { declaredTool, type Reading, readingOf, readingsAt, readToolName, type WrittenTool } from './tool-names.ts';

/** Finds the known servers of tools that spans name, and the tools that they declare. For one batch. */
export class Servers {
  readonly #lookup: BatchLookup;
  // Many servers may be at one host. Then a name is compared with each of them.
  readonly #written = new CacheByParts<WrittenTool>();
  readonly #families = new CacheByParts<ReadonlySet<string>>();

  constructor(lookup: BatchLookup) {
    this.#lookup = lookup;
  }

  /** The server at the span's address, or the one that the span names. */
  find(span: MatchableSpan, tool: string | null = null): Provider | undefined {
    return this.atAddress(span, tool) ?? this.#named(span.facts);
  }

  /**
   * The known provider at a span's address. Gateways have several servers at one host: of these the one that the span names, for
   * a tool otherwise one that blocks it, then one that declares it.
   */
  atAddress(span: MatchableSpan, tool: string | null = null): Provider | undefined {
    const servers = this.allAtAddress(span);
    const { toolServer } = span.facts;
    if (servers.length < 2) return servers[0];
    const named =
      toolServer === null ? undefined : servers.find((one) => this.#familiesOf(one).has(rewrittenName(toolServer)));
    if (named !== undefined || tool === null) return named ?? servers[0];
    const matches = servers.map((one) => this.toolAt(one, tool));
    const best =
      matches.find(({ isBlocked }) => isBlocked === true) ?? matches.find(({ isBlocked }) => isBlocked === false);
    return (best ?? matches.find(({ name }) => name !== tool) ?? matches[0])?.provider;
  }

  /** The known providers at a span's address. A model vendor's address counts for MCP calls only. */
  allAtAddress({ facts: { serverAddress, serverPort, mcpMethod } }: MatchableSpan): Provider[] {
    if (serverAddress === null) return [];
    const atHost = this.#lookup.providers.findAtHost(serverAddress, serverPort);
    return atHost.filter(({ kind }) => kind !== 'llm' || mcpMethod !== null);
  }

  /** The declared tool of a server that a name means, otherwise the tool as it is written. */
  toolAt(provider: Provider, name: string): Match {
    const tool = this.written(name);
    const families = this.#familiesOf(provider);
    const declared = this.#declaredAt(provider, readingsAt(families, tool));
    if (declared) return declared;
    const marked = tool.splits.find(({ isMarked, serverFamily }) => isMarked && families.has(serverFamily));
    return { provider, name: marked?.tool ?? name };
  }

  /** The known server whose name is in front of a tool's name. Of several the one that has the tool, or the longest name. */
  inToolName(name: string): Match | undefined {
    const whole = this.written(name);
    let guess: Match | undefined;
    for (const split of whole.splits.toReversed()) {
      const provider = this.#lookup.providers.findServer(split.server);
      if (!provider) continue;
      const declared = this.#declaredAt(provider, [whole, readingOf(split)]);
      if (declared) return declared;
      const isServer = provider.kind === 'mcp' || provider.status !== 'discovered';
      if (split.isMarked && isServer) guess ??= { provider, name: split.tool };
    }
    return guess ?? this.#lookup.toolOfCutServer(name);
  }

  written(name: string): WrittenTool {
    return this.#written.get([name], () => readToolName(name));
  }

  #named({ toolServer, serverAddress }: Facts): Provider | undefined {
    const named = toolServer ?? (isServerName(serverAddress) ? serverAddress : null);
    if (named === null) return undefined;
    return this.#lookup.providers.findServer(named) ?? this.#lookup.hashedServer(named);
  }

  #declaredAt(provider: Provider, readings: readonly Reading[]): Match | undefined {
    const declared = declaredTool(readings, this.#lookup.toolsOf(provider));
    return declared && { provider, name: declared.name, isBlocked: declared.status === 'blocked' };
  }

  /** The names and aliases of a provider, as frameworks rewrite them. */
  #familiesOf(provider: Provider): ReadonlySet<string> {
    return this.#families.get([provider.id], () => new Set(caseFoldedNames(provider).map(rewrittenName)));
  }
}

/** Some senders write the name of an MCP server as `server.address`. */
export function isServerName(address: string | null): address is string {
  return address !== null && !isHost(address);
}
