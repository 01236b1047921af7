import type { Provider, ProviderKind } from '@quartermaster/contracts/providers.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { nameKey } from '@quartermaster/db/name-key.ts';
import { folded } from '@quartermaster/db/queries.ts';
import { discoveredProvider } from '@quartermaster/db/repositories/discovered-providers.ts';
import { findProvidersOfTraffic, findSoleProvidersOfTools, hostOf } from '@quartermaster/db/repositories/providers.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import type { Facts, Use } from '../telemetry/dialects/facts.ts';

/** A span with what it says, as matching needs it. */
export type SeenSpan = {
  traceId: string;
  spanId: string;
  parentSpanId: string | null;
  serviceName: string | null;
  facts: Facts;
  uses: Use[];
};

const UNNAMED_SERVICE = 'unknown_service';

/** What the name of a discovered provider ends in where a declared one has the name without it. */
const DISCOVERED_SUFFIX = ' (discovered)';

/** Characters of a provider's name. */
const NAME_LENGTH = 200;

/** Hosts and names of one look-up: SQLite takes 32,766 parameters a statement. */
const NAMES_OF_LOOKUP = 5000;

/**
 * Finds which provider a span speaks of. First match wins:
 * 1. `server.address` is the host of a provider's base URL;
 * 2. no address, and `gen_ai.provider.name` is a provider's name (an address that belongs to another provider or to
 *    none beats the name, since a client library names its own vendor whatever endpoint it is pointed at);
 * 3. a tool span names neither: the MCP client span among its children in the batch, else the one declared provider
 *    that has the tool;
 * 4. a discovered provider, named by `gen_ai.provider.name`, the address, or the service's own name. Adopted, it keeps
 *    the traffic that it was named after, unless it was given a base URL, which rule 1 speaks of.
 *
 * Where several fit, a declared provider comes before a discovered one, and one of the place itself before one of the
 * whole tenant.
 *
 * @returns a matcher for one batch, which looked the batch's names and hosts up at once. The discovered providers that it
 *   makes are not stored yet: they are in `made`.
 */
export async function providerMatcher(
  db: Database,
  place: TenantPlace,
  batch: readonly SeenSpan[],
  now: Date,
): Promise<{ match: (span: SeenSpan, use: Use) => Provider; made: ReadonlySet<Provider> }> {
  const byHosts = new Map<string, Provider[]>();
  const byNames = new Map<string, Provider[]>();
  for (const provider of await providersOf(db, place, batch)) learn(provider);
  const ofMcp = batch.filter(({ facts }) => facts.mcpMethod !== null);
  const mcpSpansOf = Map.groupBy(ofMcp, ({ traceId, parentSpanId }) => `${traceId} ${parentSpanId}`);
  const toolOwners = await ownersOfTools(db, place, batch);
  const made = new Set<Provider>();
  // What a span says of its provider decides, whatever else it says; and what is learnt later takes nothing away from it.
  const matched = new Map<string, Provider>();

  return { match, made };

  function match(span: SeenSpan, use: Use): Provider {
    const { serverAddress, vendor } = span.facts;
    if (serverAddress === null && vendor === null && use.kind === 'tool') {
      return ofMcpChild(span, use) ?? toolOwners.get(toolKey(use.name)) ?? discovered(span, use);
    }
    const said = saidOf(span);
    let owner = matched.get(said);
    if (!owner) {
      owner = declaredOf(span) ?? discovered(span, use);
      matched.set(said, owner);
    }
    return owner;
  }

  function declaredOf({ facts: { serverAddress, serverPort, vendor } }: SeenSpan): Provider | undefined {
    if (serverAddress !== null) return byHost(serverAddress, serverPort);
    return vendor === null ? undefined : byName(vendor);
  }

  function learn(provider: Provider): void {
    const add = (providers: Map<string, Provider[]>, key: string) => {
      const same = providers.get(key);
      if (same) same.push(provider);
      else providers.set(key, [provider]);
    };
    if (provider.baseUrl !== null) add(byHosts, hostOf(provider.baseUrl));
    add(byNames, folded(provider.name));
  }

  function byHost(host: string, port: number | null): Provider | undefined {
    const owners = byHosts.get(host) ?? [];
    return nearest(owners.filter(({ baseUrl }) => portOf(baseUrl) === port)) ?? nearest(owners);
  }

  function byName(name: string): Provider | undefined {
    return nearest(byNames.get(folded(name)) ?? []);
  }

  function nearest(providers: Provider[]): Provider | undefined {
    const distance = ({ status, subTenantId }: Provider) =>
      (status === 'discovered' ? 2 : 0) + (subTenantId === place.subTenantId ? 0 : 1);
    return providers.toSorted((a, b) => distance(a) - distance(b) || (a.id < b.id ? -1 : 1))[0];
  }

  function ofMcpChild(span: SeenSpan, use: Use): Provider | undefined {
    const child = mcpSpansOf
      .get(`${span.traceId} ${span.spanId}`)
      ?.find(({ uses }) => uses.some((own) => own.name === use.name));
    if (!child || child.spanId === span.spanId) return undefined;
    if (child.facts.serverAddress === null && child.facts.vendor === null) return undefined;
    return match(child, use);
  }

  function discovered(span: SeenSpan, use: Use): Provider {
    const names = namesOf(span);
    for (const [index, name] of names.entries()) {
      const holder = byName(name);
      const isLast = index === names.length - 1;
      const isAdopted = holder?.baseUrl === null && name !== span.facts.vendor;
      if (holder && (holder.status === 'discovered' || isAdopted || isLast)) return holder;
      if (holder) continue;
      const provider = discoveredProvider(place, { name, kind: kindOf(span.facts, use) }, now);
      made.add(provider);
      learn(provider);
      return provider;
    }
    throw new Error('a span always has a name for its provider');
  }
}

/** What a discovered provider may be called; a name that a declared one has is passed over. */
function namesOf({ facts, serviceName }: SeenSpan): string[] {
  const { vendor, serverAddress } = facts;
  const base = serverAddress ?? vendor ?? serviceName ?? UNNAMED_SERVICE;
  const fitting = (name: string, length: number) => name.slice(0, length).toWellFormed();
  return [
    ...(vendor === null ? [] : [fitting(vendor, NAME_LENGTH)]),
    fitting(base, NAME_LENGTH),
    fitting(base, NAME_LENGTH - DISCOVERED_SUFFIX.length) + DISCOVERED_SUFFIX,
  ];
}

/** What a span says of its provider. No text of a span has a NUL in it. */
function saidOf({ facts: { serverAddress, serverPort, vendor }, serviceName }: SeenSpan): string {
  return `${serverAddress ?? ''}\0${serverPort ?? ''}\0${vendor ?? ''}\0${serviceName ?? ''}`;
}

/** The providers that the hosts and names of a batch may mean. */
async function providersOf(db: Database, place: TenantPlace, batch: readonly SeenSpan[]): Promise<Provider[]> {
  const said = [...new Map(batch.map((span) => [saidOf(span), span])).values()];
  const hosts = distinct(said.map(({ facts }) => facts.serverAddress));
  const names = distinct(said.flatMap(namesOf));
  const found = new Map<string, Provider>();
  for (let start = 0; start < Math.max(hosts.length, names.length); start += NAMES_OF_LOOKUP) {
    const end = start + NAMES_OF_LOOKUP;
    const seen = { hosts: hosts.slice(start, end), names: names.slice(start, end) };
    for (const provider of await findProvidersOfTraffic(db, place, seen)) found.set(provider.id, provider);
  }
  return [...found.values()];
}

/** The one declared provider that has a tool, by the tool's key, for the tools of a batch whose spans name neither. */
async function ownersOfTools(
  db: Database,
  place: TenantPlace,
  batch: readonly SeenSpan[],
): Promise<Map<string, Provider>> {
  const unnamed = batch.filter(({ facts }) => facts.serverAddress === null && facts.vendor === null);
  const tools = unnamed.flatMap(({ uses }) => uses.filter(({ kind }) => kind === 'tool'));
  const keys = [...new Set(tools.map(({ name }) => toolKey(name)))];
  const owners = new Map<string, Provider>();
  for (let start = 0; start < keys.length; start += NAMES_OF_LOOKUP) {
    const some = await findSoleProvidersOfTools(db, place, keys.slice(start, start + NAMES_OF_LOOKUP));
    for (const [key, owner] of some) owners.set(key, owner);
  }
  return owners;
}

function toolKey(name: string): string {
  return nameKey('tool', name, null);
}

function kindOf(facts: Facts, use: Use): ProviderKind {
  if (facts.mcpMethod !== null) return 'mcp';
  if (use.kind === 'model') return 'llm';
  return 'agent_runtime';
}

function portOf(baseUrl: string | null): number | null {
  if (baseUrl === null) return null;
  const { port, protocol } = new URL(baseUrl);
  return port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port);
}

function distinct(texts: readonly (string | null)[]): string[] {
  return [...new Set(texts.filter((text) => text !== null).map(folded))];
}
