import type { Provider, ProviderKind } from '@quartermaster/contracts/providers.ts';
import { discoveredProvider } from '@quartermaster/db/repositories/discovered-providers.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import type { KnownProviders } from '../../governance/declarations/known-providers.ts';
import { discoveredNames, UNNAMED_SERVICE } from './batch-lookup.ts';
import type { MatchableSpan } from './match.ts';

/** Makes the providers of uses that match no known provider. It adds them to the known ones, and does not store them. */
export class Discovery {
  readonly newProviders = new Set<Provider>();
  readonly #providers: KnownProviders;
  readonly #place: TenantPlace;
  readonly #now: Date;

  constructor(providers: KnownProviders, place: TenantPlace, now: Date) {
    this.#providers = providers;
    this.#place = place;
    this.#now = now;
  }

  /**
   * A discovered provider, by the first of the names that is free or belongs to a discovered one.
   *
   * @param vendor the name of a model vendor. A declared provider of this name gets no traffic of other addresses
   */
  discover(names: readonly string[], kind: ProviderKind, vendor: string | null = null): Provider {
    const last = names.at(-1) ?? UNNAMED_SERVICE;
    const all = [...names.map((name) => discoveredNames(name)[0]), discoveredNames(last)[1]];
    for (const [index, name] of all.entries()) {
      const holder = this.#providers.findByName(name);
      const isAdopted = holder?.baseUrl === null && name !== vendor && (kind === 'llm' || holder.kind !== 'llm');
      if (holder && (holder.status === 'discovered' || isAdopted || index === all.length - 1)) return holder;
      if (holder) continue;
      const provider = discoveredProvider(this.#place, { name, kind }, this.#now);
      this.newProviders.add(provider);
      this.#providers.add(provider);
      return provider;
    }
    throw new Error('discover needs at least one name');
  }

  /** The service that sent a span: the declared provider of its name, unless that is a vendor of models. */
  service(span: MatchableSpan): Provider {
    const holder = this.#providers.findByName(serviceNameOf(span));
    if (holder && holder.status !== 'discovered' && holder.kind !== 'llm') return holder;
    return this.discover([serviceNameOf(span)], 'agent_runtime');
  }

  /** The service that sent a span, as an MCP server. */
  mcpService(span: MatchableSpan): Provider {
    return this.discover([serviceNameOf(span)], 'mcp');
  }
}

function serviceNameOf({ serviceName }: MatchableSpan): string {
  return serviceName ?? UNNAMED_SERVICE;
}
