import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { coveringAt, decidingItem, nameFamily, rewrittenName } from '@quartermaster/db/name-family.ts';
import { nameKey } from '@quartermaster/db/name-key.ts';
import { calledNames } from '@quartermaster/db/provider-names.ts';
import { folded } from '@quartermaster/db/queries.ts';
import { findProviders } from '@quartermaster/db/repositories/providers.ts';
import {
  findDeclaredProvidersByHostSuffix,
  findOfferedItems,
  findProvidersOfTraffic,
  listMcpTools,
  type OfferedItem,
} from '@quartermaster/db/repositories/providers-of-traffic.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import { vendorHosts, vendorNames, vendorOfHost } from '@quartermaster/db/vendors.ts';
import { type KnownProviders, knownProviders } from './known-providers.ts';
import type { Match, SeenSpan } from './provider-match.ts';
import { hashedName, hashedNames, isCut, isHashedName, plainHash, serverToolsIn } from './tool-names.ts';

/** What is known of everything that a batch names. */
export type BatchLookup = {
  providers: KnownProviders;
  /** The item that says what holds for a model at a provider. */
  modelAt: (provider: Provider, model: string) => OfferedItem | undefined;
  soleProviderOfModel: (model: string) => Provider | undefined;
  /** The tools of a provider that names of the batch may mean. */
  toolsOf: (provider: Provider) => readonly OfferedItem[];
  /** The one declared tool that a name means, whichever provider has it. */
  soleTool: (written: string) => Match | undefined;
  /** The declared tool of a server whose name stands in the tool's name, but cut. */
  toolOfCutServer: (written: string) => Match | undefined;
  /** The one declared tool whose name, alone or with its server's, has this hash. */
  hashedTool: (written: string, server: Provider | undefined) => Match | undefined;
  hashedServer: (name: string) => Provider | undefined;
};

/** What a service is called that does not say its name. */
export const UNNAMED_SERVICE = 'unknown_service';

/** What the name of a discovered provider ends in where a declared one has the name without it. */
const DISCOVERED_SUFFIX = ' (discovered)';

/** Characters of a provider's name. */
const NAME_LENGTH = 200;

/** Names of one statement: SQLite takes 32,766 parameters. */
const NAMES_OF_LOOKUP = 5000;

/** Tools that are compared with hashed and cut names at the most: each is hashed in several forms. */
const MAX_COMPARED_TOOLS = 1000;

/** Characters of a server's name that a cut one has at the least. */
const SHORTEST_SERVER = 4;

/** Looks up at once what the spans of a batch name: a few statements, however many spans there are. */
export async function lookUpBatch(db: Database, place: TenantPlace, batch: readonly SeenSpan[]): Promise<BatchLookup> {
  const providers = knownProviders(place);
  const said = gatherSayings(batch);
  for (const provider of await namedProviders(db, place, said)) providers.learn(provider);
  const toolNames = [...said.tools];
  const tools = await offered(db, place, 'tool', toolNames.flatMap(toolFamilies));
  if (toolNames.some((name) => isCut(name) || isHashedName(name)) || namesHashedServer(said)) {
    tools.push(...(await listMcpTools(db, place, MAX_COMPARED_TOOLS)));
  }
  const modelNames = needsModels(said, providers) ? [...said.models] : [];
  const models = await offered(db, place, 'model', modelNames.flatMap(modelFamilies));
  const owners = [...new Set([...tools, ...models].map(({ providerId }) => providerId))];
  const unknown = owners.filter((id) => !providers.get(id));
  for (const provider of await findProviders(db, [{ tenantId: place.tenantId, subTenantId: null }], unknown)) {
    providers.learn(provider);
  }
  return { providers, ...modelLookup(providers, models), ...toolLookup(providers, tools) };
}

/** The providers that the hosts, names and aliases of a batch may mean. */
async function namedProviders(db: Database, place: TenantPlace, { sayings, tools }: Said): Promise<Provider[]> {
  const hosts = new Set<string>();
  const names = new Set<string>();
  const families = new Set<string>();
  const suffixes = new Set<string>();
  for (const said of sayings) {
    const { vendor, serverAddress, toolServer } = said;
    const apiVendor = serverAddress === null ? null : vendorOfHost(serverAddress);
    if (serverAddress !== null) hosts.add(serverAddress);
    for (const one of [vendor, apiVendor]) {
      if (one === null) continue;
      for (const name of [folded(one), ...vendorNames(one)]) names.add(name);
      const api = vendorHosts(one);
      for (const host of api.hosts) hosts.add(host);
      for (const suffix of api.suffixes) suffixes.add(suffix);
    }
    for (const one of [vendor, serverAddress, toolServer, said.serviceName ?? UNNAMED_SERVICE]) {
      if (one === null) continue;
      for (const name of discoveredNames(one)) names.add(folded(name));
    }
    for (const one of [serverAddress, toolServer]) if (one !== null) families.add(rewrittenName(one));
  }
  for (const name of tools) {
    for (const { server, isExplicit } of serverToolsIn(name)) {
      families.add(rewrittenName(server));
      if (isExplicit) for (const one of discoveredNames(server)) names.add(folded(one));
    }
  }
  const found = new Map<string, Provider>();
  const seen = { hosts: [...hosts], names: [...names], families: [...families] };
  const most = Math.max(...Object.values(seen).map((list) => list.length));
  for (let start = 0; start < most; start += NAMES_OF_LOOKUP) {
    const end = start + NAMES_OF_LOOKUP;
    const some = {
      hosts: seen.hosts.slice(start, end),
      names: seen.names.slice(start, end),
      families: seen.families.slice(start, end),
    };
    for (const provider of await findProvidersOfTraffic(db, place, some)) found.set(provider.id, provider);
  }
  if (suffixes.size > 0) {
    for (const one of await findDeclaredProvidersByHostSuffix(db, place, [...suffixes])) found.set(one.id, one);
  }
  return [...found.values()];
}

/** What spans say of providers, each combination once: thousands of spans say the same of few providers. */
type Said = { sayings: readonly Saying[]; tools: ReadonlySet<string>; models: ReadonlySet<string> };

type Saying = Pick<SeenSpan['facts'], 'vendor' | 'serverAddress' | 'serverPort' | 'toolServer'> & {
  serviceName: string | null;
  /** Whether a span that says so uses a model. */
  hasModel: boolean;
};

function gatherSayings(batch: readonly SeenSpan[]): Said {
  const sayings = new Map<string, Saying>();
  const tools = new Set<string>();
  const models = new Set<string>();
  for (const { facts, serviceName, uses } of batch) {
    const { vendor, serverAddress, serverPort, toolServer } = facts;
    // No text of a span has a NUL in it.
    const key = `${vendor ?? ''}\0${serverAddress ?? ''}\0${serverPort ?? ''}\0${toolServer ?? ''}\0${serviceName ?? ''}`;
    let saying = sayings.get(key);
    if (!saying) {
      saying = { vendor, serverAddress, serverPort, toolServer, serviceName, hasModel: false };
      sayings.set(key, saying);
    }
    for (const { kind, name } of uses) {
      if (kind === 'tool') tools.add(name);
      if (kind !== 'model') continue;
      models.add(name);
      saying.hasModel = true;
    }
  }
  return { sayings: [...sayings.values()], tools, models };
}

async function offered(
  db: Database,
  place: TenantPlace,
  kind: 'tool' | 'model',
  families: readonly string[],
): Promise<OfferedItem[]> {
  const distinct = [...new Set(families)];
  const found: OfferedItem[] = [];
  for (let start = 0; start < distinct.length; start += NAMES_OF_LOOKUP) {
    const some = distinct.slice(start, start + NAMES_OF_LOOKUP);
    found.push(...(await findOfferedItems(db, place, { kind, families: some })));
  }
  return found;
}

function modelLookup(providers: KnownProviders, models: readonly OfferedItem[]) {
  const byProvider = Map.groupBy(models, ({ providerId }) => providerId);
  const modelAt = (provider: Provider, model: string) => {
    const items = byProvider.get(provider.id);
    if (items === undefined) return undefined;
    return decidingItem(items, coveringAt(provider, 'model'), nameKey('model', model, provider.name));
  };
  const soleProviderOfModel = (model: string) => {
    const owners = [...byProvider.keys()].flatMap((id) => {
      const provider = providers.get(id);
      return provider && provider.status !== 'discovered' && modelAt(provider, model) ? [provider] : [];
    });
    return owners.length === 1 ? owners[0] : undefined;
  };
  return { modelAt, soleProviderOfModel };
}

function toolLookup(providers: KnownProviders, found: readonly OfferedItem[]) {
  const tools = [...new Map(found.map((tool) => [`${tool.providerId} ${tool.nameKey}`, tool])).values()];
  const byProvider = Map.groupBy(tools, ({ providerId }) => providerId);
  const byFamily = Map.groupBy(tools, ({ nameFamily: family }) => family);
  let hashes: Map<string, Match[]> | undefined;

  const matchOf = ({ providerId, name }: OfferedItem): Match | undefined => {
    const provider = providers.get(providerId);
    return provider && { provider, name };
  };
  const soleOf = (fitting: readonly OfferedItem[]) =>
    fitting.length === 1 && fitting[0] ? matchOf(fitting[0]) : undefined;

  function soleTool(written: string): Match | undefined {
    const declared = (byFamily.get(rewrittenName(written)) ?? []).filter(
      ({ providerId }) => providers.get(providerId)?.status !== 'discovered',
    );
    const exact = declared.filter(({ name }) => name === written);
    return soleOf(exact.length > 0 ? exact : declared);
  }

  // VS Code cuts the server's name: `mcp_github_mcp_se_search` for the tool `search` of `GitHub MCP Server`.
  function toolOfCutServer(written: string): Match | undefined {
    if (!/^mcp_/i.test(written)) return undefined;
    const fitting = serverToolsIn(written).flatMap(({ server, tool }) => {
      const head = rewrittenName(server);
      const isNamed = (provider: Provider) =>
        calledNames(provider).some((name) => rewrittenName(name).startsWith(head));
      if (head.length < SHORTEST_SERVER) return [];
      return (byFamily.get(rewrittenName(tool)) ?? []).filter(({ providerId }) => {
        const provider = providers.get(providerId);
        return provider?.kind === 'mcp' && isNamed(provider);
      });
    });
    return soleOf([...new Set(fitting)]);
  }

  /** The tools by the hashes that their names may have been replaced by. */
  function toolsByHash(): Map<string, Match[]> {
    if (hashes) return hashes;
    hashes = new Map();
    for (const tool of tools) {
      const match = matchOf(tool);
      if (!match) continue;
      const { name, aliases } = match.provider;
      const names = [...new Set([name, ...aliases].flatMap((one) => [one, folded(one)]))];
      for (const hash of new Set(hashedNames(names, tool.name))) {
        hashes.set(hash, [...(hashes.get(hash) ?? []), match]);
      }
    }
    return hashes;
  }

  function hashedTool(written: string, server: Provider | undefined): Match | undefined {
    if (!isHashedName(written)) return undefined;
    const fitting = (toolsByHash().get(plainHash(written)) ?? []).filter(
      ({ provider }) => server === undefined || provider.id === server.id,
    );
    return fitting.length === 1 ? fitting[0] : undefined;
  }

  function hashedServer(name: string): Provider | undefined {
    if (!isHashedName(name)) return undefined;
    const isNamed = (provider: Provider | undefined) =>
      provider && [provider.name, ...provider.aliases].some((one) => hashedName(one) === plainHash(name));
    return [...byProvider.keys()].map((id) => providers.get(id)).find(isNamed);
  }

  return {
    toolsOf: (provider: Provider) => byProvider.get(provider.id) ?? [],
    soleTool,
    toolOfCutServer,
    hashedTool,
    hashedServer,
  };
}

/** Of a tool as it is written, and as it is called without what may be its server's name. */
function toolFamilies(name: string): string[] {
  return [name, ...serverToolsIn(name).map(({ tool }) => tool)].map(rewrittenName);
}

function modelFamilies(name: string): string[] {
  return [nameFamily('model', nameKey('model', name, null))];
}

/** What a discovered provider may be called that is named after something. */
export function discoveredNames(name: string): [string, string] {
  const fitting = (length: number) => name.slice(0, length).toWellFormed();
  return [fitting(NAME_LENGTH), fitting(NAME_LENGTH - DISCOVERED_SUFFIX.length) + DISCOVERED_SUFFIX];
}

/** Whether it takes the inventories to tell whose a model is. */
function needsModels({ sayings }: Said, providers: KnownProviders): boolean {
  return sayings.some(({ hasModel, vendor, serverAddress, serverPort }) => {
    if (!hasModel) return false;
    if (serverAddress !== null) {
      const there = providers.atHost(serverAddress, serverPort).length;
      return there !== 1;
    }
    return vendor === null || providers.ofVendor(vendor).length !== 1;
  });
}

function namesHashedServer({ sayings }: Said): boolean {
  return sayings.some(({ toolServer }) => toolServer !== null && isHashedName(toolServer));
}
