import type { Provider } from '@quartermaster/contracts/providers.ts';
import { inBatches } from '@quartermaster/db/batches.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { canBlockOrAllow, findDecidingItem, findExactOrBlockingItem } from '@quartermaster/naming/deciding-item.ts';
import { coverageRules } from '@quartermaster/naming/coverage.ts';
import { nameFamily, rewrittenName } from '@quartermaster/naming/name-family.ts';
import { splitRouters } from '@quartermaster/naming/model-name.ts';
import { nameKey } from '@quartermaster/naming/name-key.ts';
import { caseFoldedNames } from '@quartermaster/naming/provider-names.ts';
import { caseFolded } from '@quartermaster/naming/case-folded.ts';
import { findProviders } from '@quartermaster/db/repositories/providers.ts';
import {
  findOfferedItems,
  listMcpTools,
  type OfferedItem,
} from '@quartermaster/db/repositories/providers-of-traffic.ts';
import { type TenantPlace, wholeTenant } from '@quartermaster/db/tenancy.ts';
import { vendorNames, vendorOfHost } from '@quartermaster/naming/vendors.ts';
import { type KnownProviders, knownProviders } from '../../governance/declarations/known-providers.ts';
import { providerLookup } from '../../governance/declarations/provider-lookup.ts';
import { CacheByParts } from '../cache-by-parts.ts';
import type { Use } from '../reading/facts.ts';
import type { Match, MatchableSpan } from './match.ts';
import {
  hashedName,
  hashedNames,
  indexTools,
  isCut,
  isHashedName,
  plainHash,
  splitToolName,
  type ToolIndex,
} from './tool-names.ts';
import { likelyVendor, vendorOfModel } from './vendor-of-model.ts';

/** Look-ups in everything that the names of a batch may mean. */
export type BatchLookup = {
  providers: KnownProviders;
  /** The inventory item that decides for a model at a provider. */
  modelAt: (provider: Provider, model: string) => OfferedItem | undefined;
  /** The only declared provider that has the model. If several have it and all block it, the first of them. */
  soleProviderOfModel: (model: string) => Provider | undefined;
  /** The tools of a provider that names of the batch may mean. */
  toolsOf: (provider: Provider) => ToolIndex<OfferedItem>;
  /** The only declared tool that a name may mean, at any provider. */
  soleTool: (written: string) => Match | undefined;
  /** The declared tool, if the name begins with the truncated name of its server. */
  toolOfCutServer: (written: string) => Match | undefined;
  /** The only declared tool whose name has this hash, alone or together with its server's name. */
  hashedTool: (written: string, server: Provider | undefined) => Match | undefined;
  /** The server whose name or alias has this hash. */
  hashedServer: (name: string) => Provider | undefined;
  /** The same without the providers of the sub-tenant. Undefined if no use can belong to a provider that the sub-tenant declared. */
  tenantLookup?: BatchLookup & { blocks: (match: Match, kind: Use['kind']) => boolean };
};

/** The name of a service without `service.name`. */
export const UNNAMED_SERVICE = 'unknown_service';

/** Appended to the name of a discovered provider if a declared provider has the name. */
const DISCOVERED_SUFFIX = ' (discovered)';

/** The maximum number of characters of a provider's name. */
const MAX_NAME_CHARACTERS = 200;

/** Names per statement. SQLite takes at most 32,766 parameters. */
const NAMES_PER_STATEMENT = 5000;

/** The maximum number of tools that are compared with hashed and truncated names. Each tool is hashed in several forms. */
const MAX_COMPARED_TOOLS = 1000;

/** The minimum number of characters of a truncated server name. */
const MIN_CUT_SERVER_CHARACTERS = 4;

/** Looks up all names of a batch, with a few statements for any number of spans. */
export async function lookUpBatch(
  db: Database,
  place: TenantPlace,
  batch: readonly MatchableSpan[],
): Promise<BatchLookup> {
  const providers = knownProviders(place);
  const names = collectNames(batch);
  const found = await findNamedProviders(db, place, names);
  for (const provider of found) providers.add(provider);
  const toolNames = [...names.tools];
  const tools = await findOffered(db, place, 'tool', toolNames.flatMap(toolFamilies));
  if (toolNames.some((name) => isCut(name) || isHashedName(name)) || namesHashedServer(names)) {
    tools.push(...(await listMcpTools(db, place, MAX_COMPARED_TOOLS)));
  }
  const needsAll = found.some(isChosenInSubTenant) || needsModels(names, providers);
  const modelNames = needsAll ? [...names.models, ...(place.subTenantId === null ? [] : names.answers)] : [];
  const models = await findOffered(db, place, 'model', modelNames.flatMap(modelFamilies));
  const owners = [...new Set([...tools, ...models].map(({ providerId }) => providerId))];
  const unknown = owners.filter((id) => !providers.get(id));
  found.push(...(await findProviders(db, wholeTenant(place.tenantId), unknown)));
  for (const provider of found) providers.add(provider);
  const lookup = { providers, ...modelLookup(providers, models), ...toolLookup(providers, tools) };
  if (!found.some(isChosenInSubTenant)) return lookup;
  const others = await findOthers(db, place, names);
  return { ...lookup, tenantLookup: wholeTenantLookup(place, found, { models, tools, others }) };
}

/** The look-ups among the providers of the whole tenant, and whether their inventory blocks what was used. */
function wholeTenantLookup(
  { tenantId }: TenantPlace,
  found: readonly Provider[],
  items: { models: readonly OfferedItem[]; tools: readonly OfferedItem[]; others: readonly OfferedItem[] },
): NonNullable<BatchLookup['tenantLookup']> {
  const providers = knownProviders({ tenantId, subTenantId: null });
  for (const provider of found) if (provider.subTenantId === null) providers.add(provider);
  const isOffered = ({ providerId }: OfferedItem) => providers.get(providerId) !== undefined;
  const models = modelLookup(providers, items.models.filter(isOffered));
  const tools = toolLookup(providers, items.tools.filter(isOffered));
  const ruleOf = coverageRules();
  const blocks = ({ provider, name }: Match, kind: Use['kind']): boolean => {
    if (kind === 'model') return models.modelAt(provider, name)?.status === 'blocked';
    const isOther = (item: OfferedItem) => item.kind === kind && item.providerId === provider.id;
    const ofFamily = () => tools.toolsOf(provider).byFamily.get(rewrittenName(name)) ?? [];
    const candidates = kind === 'tool' ? ofFamily() : items.others.filter(isOther);
    return findDecidingItem(candidates, ruleOf(provider, kind), name)?.status === 'blocked';
  };
  return { providers, ...models, ...tools, blocks };
}

/** Items of the agents, prompts and resources in a batch. Their names are equal to those of their items. */
async function findOthers(db: Database, place: TenantPlace, { others }: BatchNames): Promise<OfferedItem[]> {
  const found: OfferedItem[] = [];
  for (const [kind, names] of others) found.push(...(await findOffered(db, place, kind, [...names])));
  return found;
}

/** Whether people of the sub-tenant declared a provider, or gave an address to one that was discovered. */
function isChosenInSubTenant({ subTenantId, status, baseUrl }: Provider): boolean {
  return subTenantId !== null && (status !== 'discovered' || baseUrl !== null);
}

/** Finds the providers that the hosts and names in a batch may mean. */
async function findNamedProviders(
  db: Database,
  place: TenantPlace,
  { sources, tools, models }: Pick<BatchNames, 'sources' | 'tools' | 'models'>,
): Promise<Provider[]> {
  const lookup = providerLookup();
  for (const { vendor, serverAddress, toolServer, serviceName } of sources) {
    const apiVendor = serverAddress === null ? null : vendorOfHost(serverAddress);
    if (serverAddress !== null) lookup.addHost(serverAddress);
    for (const name of [vendor, apiVendor]) if (name !== null) lookup.addVendor(name);
    for (const source of [vendor, serverAddress, toolServer, serviceName ?? UNNAMED_SERVICE]) {
      if (source !== null) for (const name of discoveredNames(source)) lookup.addName(name);
    }
    for (const name of [serverAddress, toolServer]) if (name !== null) lookup.addRewritten(name);
  }
  for (const name of models) {
    const { routers, model } = splitRouters(name);
    for (const router of routers) {
      for (const spelling of [router, ...vendorNames(router)]) lookup.addName(spelling);
    }
    const likely = likelyVendor(model);
    if (likely !== null) lookup.addName(likely);
  }
  for (const name of tools) {
    for (const { server, isExplicit } of splitToolName(name)) {
      lookup.addRewritten(server);
      if (isExplicit) for (const discovered of discoveredNames(server)) lookup.addName(discovered);
    }
  }
  return lookup.find(db, place);
}

/** The distinct names in a batch. Thousands of spans usually name only a few providers. */
type BatchNames = {
  sources: readonly Source[];
  tools: ReadonlySet<string>;
  models: ReadonlySet<string>;
  /** The models that answered under another name. */
  answers: ReadonlySet<string>;
  /** By kind: agents, prompts and resources. */
  others: ReadonlyMap<OtherKind, ReadonlySet<string>>;
};

type OtherKind = Exclude<Use['kind'], 'tool' | 'model'>;

/** A combination of the facts that may identify a provider. */
type Source = Pick<MatchableSpan['facts'], 'vendor' | 'serverAddress' | 'serverPort' | 'toolServer'> & {
  serviceName: string | null;
  /** Whether a span with these facts uses a model. */
  hasModel: boolean;
};

function collectNames(batch: readonly MatchableSpan[]): BatchNames {
  const sources = new CacheByParts<Source>();
  const tools = new Set<string>();
  const models = new Set<string>();
  const answers = new Set<string>();
  const others = new Map<OtherKind, Set<string>>();
  for (const { facts, serviceName, uses } of batch) {
    const { vendor, serverAddress, serverPort, toolServer } = facts;
    const source = sources.get([serviceName, vendor, serverAddress, serverPort, toolServer], () => {
      return { vendor, serverAddress, serverPort, toolServer, serviceName, hasModel: false };
    });
    for (const { kind, name } of uses) {
      if (kind === 'tool') tools.add(name);
      else if (kind === 'model') {
        models.add(name);
        if (facts.responseModel !== null) answers.add(facts.responseModel);
        source.hasModel = true;
      } else others.set(kind, (others.get(kind) ?? new Set()).add(name));
    }
  }
  return { sources: sources.values, tools, models, answers, others };
}

async function findOffered(
  db: Database,
  place: TenantPlace,
  kind: Use['kind'],
  families: readonly string[],
): Promise<OfferedItem[]> {
  const distinct = [...new Set(families)];
  const found: OfferedItem[] = [];
  for await (const batch of inBatches(distinct, NAMES_PER_STATEMENT)) {
    found.push(...(await findOfferedItems(db, place, { kind, families: batch })));
  }
  return found;
}

function modelLookup(providers: KnownProviders, models: readonly OfferedItem[]) {
  const byProvider = Map.groupBy(models, ({ providerId }) => providerId);
  // A provider may list thousands of names of one family.
  const byFamily = Map.groupBy(models, ({ providerId, nameFamily: family }) => `${providerId} ${family}`);
  const families = new Map([...byFamily].map(([text, items]) => [text, familyIndex(items)]));
  const ruleOf = coverageRules();
  const modelAt = (provider: Provider, model: string) => {
    const key = nameKey('model', model, provider.name);
    const family = families.get(`${provider.id} ${nameFamily('model', key)}`);
    if (family === undefined) return undefined;
    const rule = ruleOf(provider, 'model');
    const { items, decisive } = family;
    return (
      findExactOrBlockingItem({ exactItem: family.byKey.get(key), decisive }, rule, key) ??
      findDecidingItem(items, rule, key)
    );
  };
  const soleProviderOfModel = (model: string) => {
    const having = [...byProvider.keys()].toSorted().flatMap((id) => {
      const provider = providers.get(id);
      return provider && provider.status !== 'discovered' && modelAt(provider, model) ? [provider] : [];
    });
    const owners = activeOf(having, (provider) => provider);
    const isBlocked = (owner: Provider) => modelAt(owner, model)?.status === 'blocked';
    return owners.length === 1 || owners.every(isBlocked) ? owners[0] : undefined;
  };
  return { modelAt, soleProviderOfModel };
}

/** Those of active providers. Without any, those of disabled providers. */
function activeOf<T>(found: readonly T[], providerOf: (candidate: T) => Provider | undefined): readonly T[] {
  const active = found.filter((candidate) => providerOf(candidate)?.status === 'active');
  return active.length > 0 ? active : found;
}

function familyIndex(items: readonly OfferedItem[]) {
  return { items, byKey: new Map(items.map((item) => [item.nameKey, item])), decisive: items.filter(canBlockOrAllow) };
}

const NO_TOOLS = indexTools<OfferedItem>([]);

function toolLookup(providers: KnownProviders, found: readonly OfferedItem[]) {
  const tools = [...new Map(found.map((tool) => [`${tool.providerId} ${tool.nameKey}`, tool])).values()];
  const byProvider = new Map(
    [...Map.groupBy(tools, ({ providerId }) => providerId)].map(([id, providerTools]) => [
      id,
      indexTools(providerTools),
    ]),
  );
  const byFamily = Map.groupBy(tools, ({ nameFamily: family }) => family);
  const matchOf = ({ providerId, name, status }: OfferedItem): Match | undefined => {
    const provider = providers.get(providerId);
    return provider && { provider, name, isBlocked: status === 'blocked' };
  };
  const soleOf = (fitting: readonly OfferedItem[]) =>
    fitting.length === 1 && fitting[0] ? matchOf(fitting[0]) : undefined;

  function soleTool(written: string): Match | undefined {
    const declared = (byFamily.get(rewrittenName(written)) ?? []).filter(
      ({ providerId }) => providers.get(providerId)?.status !== 'discovered',
    );
    const active = activeOf(declared, ({ providerId }) => providers.get(providerId));
    const exact = active.filter(({ name }) => name === written);
    return soleOf(exact.length > 0 ? exact : active);
  }

  // VS Code truncates the server's name: `mcp_github_mcp_se_search` for the tool `search` of `GitHub MCP Server`.
  function toolOfCutServer(written: string): Match | undefined {
    if (!/^mcp_/i.test(written)) return undefined;
    const fitting = splitToolName(written).flatMap(({ serverFamily: head, toolFamily }) => {
      const isNamed = (provider: Provider) =>
        caseFoldedNames(provider).some((name) => rewrittenName(name).startsWith(head));
      if (head.length < MIN_CUT_SERVER_CHARACTERS) return [];
      return (byFamily.get(toolFamily) ?? []).filter(({ providerId }) => {
        const provider = providers.get(providerId);
        return provider?.kind === 'mcp' && isNamed(provider);
      });
    });
    return soleOf([...new Set(fitting)]);
  }

  return {
    toolsOf: (provider: Provider) => byProvider.get(provider.id) ?? NO_TOOLS,
    soleTool,
    toolOfCutServer,
    ...hashedLookup({ tools, servers: [...byProvider.keys()].map((id) => providers.get(id)), matchOf }),
  };
}

/** Finds tools and servers whose names a framework sent as hashes. */
function hashedLookup({
  tools,
  servers,
  matchOf,
}: {
  tools: readonly OfferedItem[];
  servers: readonly (Provider | undefined)[];
  matchOf: (tool: OfferedItem) => Match | undefined;
}) {
  let hashes: Map<string, Match[]> | undefined;
  let serverHashes: Map<string, Provider> | undefined;

  /** The tools, by the hashes that frameworks may send in place of their names. */
  function toolsByHash(): Map<string, Match[]> {
    if (hashes) return hashes;
    hashes = new Map();
    for (const tool of tools) {
      const match = matchOf(tool);
      if (!match) continue;
      const { name, aliases } = match.provider;
      const names = [...new Set([name, ...aliases].flatMap((spelling) => [spelling, caseFolded(spelling)]))];
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

  /** The servers, by the hashes of their names. The first server with a name has its hash. */
  function serversByHash(): Map<string, Provider> {
    if (serverHashes) return serverHashes;
    serverHashes = new Map();
    for (const provider of servers) {
      if (!provider) continue;
      for (const name of [provider.name, ...provider.aliases]) {
        const hash = hashedName(name);
        if (!serverHashes.has(hash)) serverHashes.set(hash, provider);
      }
    }
    return serverHashes;
  }

  function hashedServer(name: string): Provider | undefined {
    return isHashedName(name) ? serversByHash().get(plainHash(name)) : undefined;
  }

  return { hashedTool, hashedServer };
}

/** The families of a tool's name as it is written, and without what may be its server's name in front. */
function toolFamilies(name: string): string[] {
  return [rewrittenName(name), ...splitToolName(name).map(({ toolFamily }) => toolFamily)];
}

function modelFamilies(name: string): string[] {
  return [nameFamily('model', nameKey('model', name, null))];
}

/** The two names that a discovered provider may get: the given one, and the one with a suffix. */
export function discoveredNames(name: string): [string, string] {
  const truncated = (length: number) => name.slice(0, length).toWellFormed();
  const withSuffix = truncated(MAX_NAME_CHARACTERS - DISCOVERED_SUFFIX.length) + DISCOVERED_SUFFIX;
  return [truncated(MAX_NAME_CHARACTERS), withSuffix];
}

/** Whether inventories are needed to find the provider of a model. */
function needsModels({ sources, models }: BatchNames, providers: KnownProviders): boolean {
  for (const name of models) {
    const { routers, model } = splitRouters(name);
    if (routers.length > 0 || vendorOfModel(model) !== null) return true;
  }
  return sources.some(({ hasModel, vendor, serverAddress, serverPort }) => {
    if (!hasModel) return false;
    if (serverAddress !== null) return providers.findAtHost(serverAddress, serverPort).length !== 1;
    return vendor === null || providers.findOfVendor(vendor).length !== 1;
  });
}

function namesHashedServer({ sources }: BatchNames): boolean {
  return sources.some(({ toolServer }) => toolServer !== null && isHashedName(toolServer));
}
