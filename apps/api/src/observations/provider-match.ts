import type { Provider, ProviderKind } from '@quartermaster/contracts/providers.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { folded } from '@quartermaster/db/queries.ts';
import {
  findProvidersOfTool,
  findProvidersOfTraffic,
  hostOf,
  insertProvider,
} from '@quartermaster/db/repositories/providers.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import type { GenAi, Subject } from '../traces/genai.ts';

/** A span with what it says, as matching needs it. */
export type SeenSpan = {
  spanId: string;
  parentSpanId: string | null;
  serviceName: string | null;
  genAi: GenAi;
  subjects: Subject[];
};

const UNNAMED_SERVICE = 'unknown_service';

/**
 * Finds which provider a span speaks of. First match wins:
 * 1. `server.address` is the host of a provider's base URL;
 * 2. no address, and `gen_ai.provider.name` is a provider's name (an address that belongs to another provider or to
 *    none beats the name, since a client library names its own vendor whatever endpoint it is pointed at);
 * 3. a tool span names neither: the MCP client span among its children in the batch, else the one declared provider
 *    that has the tool;
 * 4. a discovered provider, named by `gen_ai.provider.name`, the address, or the service's own name.
 *
 * @returns a matcher for one batch: it looks the batch's names and hosts up once, and makes discovered providers
 */
export async function providerMatcher(
  db: Database,
  place: TenantPlace,
  batch: readonly SeenSpan[],
  now: Date,
): Promise<(span: SeenSpan, subject: Subject) => Promise<Provider>> {
  const seen = {
    hosts: distinct(batch.map(({ genAi }) => genAi.serverAddress)),
    names: distinct(batch.flatMap(namesOf)),
  };
  const known = await findProvidersOfTraffic(db, place, seen);
  const childrenOf = Map.groupBy(batch, (span) => span.parentSpanId);
  const toolOwners = new Map<string, Provider | undefined>();

  return match;

  async function match(span: SeenSpan, subject: Subject): Promise<Provider> {
    const { serverAddress, provider } = span.genAi;
    if (serverAddress !== null) {
      const owner = byHost(serverAddress, span.genAi.serverPort);
      if (owner) return owner;
    } else if (provider !== null) {
      const owner = byName(provider);
      if (owner) return owner;
    } else if (subject.kind === 'tool') {
      const owner = (await ofMcpChild(span, subject)) ?? (await ofDeclaredTool(subject.name));
      if (owner) return owner;
    }
    return discovered(span, subject);
  }

  function byHost(host: string, port: number | null): Provider | undefined {
    const owners = known.filter(({ baseUrl }) => baseUrl !== null && hostOf(baseUrl) === host);
    return nearest(owners.filter(({ baseUrl }) => portOf(baseUrl) === port)) ?? nearest(owners);
  }

  function byName(name: string): Provider | undefined {
    return nearest(known.filter((provider) => folded(provider.name) === folded(name)));
  }

  /** A provider of the place itself before one of the whole tenant. */
  function nearest(providers: Provider[]): Provider | undefined {
    return providers.find(({ subTenantId }) => subTenantId === place.subTenantId) ?? providers[0];
  }

  async function ofMcpChild(span: SeenSpan, subject: Subject): Promise<Provider | undefined> {
    const child = childrenOf
      .get(span.spanId)
      ?.find(({ genAi, subjects }) => genAi.mcpMethod !== null && subjects.some((own) => own.name === subject.name));
    if (!child || child.spanId === span.spanId) return undefined;
    if (child.genAi.serverAddress === null && child.genAi.provider === null) return undefined;
    return match(child, subject);
  }

  async function ofDeclaredTool(tool: string): Promise<Provider | undefined> {
    if (!toolOwners.has(tool)) {
      const owners = await findProvidersOfTool(db, place, tool);
      toolOwners.set(tool, owners.length === 1 ? owners[0] : undefined);
    }
    return toolOwners.get(tool);
  }

  async function discovered(span: SeenSpan, subject: Subject): Promise<Provider> {
    for (const name of namesOf(span)) {
      const holder = byName(name);
      if (holder?.status === 'discovered') return holder;
      if (holder) continue;
      const kind = kindOf(span.genAi, subject);
      const values = { name, kind, status: 'discovered', displayName: null, description: null, baseUrl: null } as const;
      const made = await insertProvider(db, place, { ...values, metadata: {} }, now);
      known.push(made);
      return made;
    }
    throw new Error('the last name that a discovered provider may get is never a declared one');
  }
}

/** What a discovered provider may be called; a name that a declared one has is passed over. */
function namesOf({ genAi, serviceName }: SeenSpan): string[] {
  const { provider, serverAddress } = genAi;
  const base = serverAddress ?? provider ?? serviceName ?? UNNAMED_SERVICE;
  return [...(provider === null ? [] : [provider]), base, `${base} (discovered)`].map((name) => name.slice(0, 200));
}

function kindOf(genAi: GenAi, subject: Subject): ProviderKind {
  if (genAi.mcpMethod !== null) return 'mcp';
  if (subject.kind === 'model') return 'llm';
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
