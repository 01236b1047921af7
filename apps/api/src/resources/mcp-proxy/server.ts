import { findProvider } from '@quartermaster/db/repositories/providers.ts';
import { wholeTenant } from '@quartermaster/db/tenancy.ts';
import { OutboundFailure } from '../../platform/outbound/failure.ts';
import type { Services } from '../../platform/services.ts';
import { LiveCache } from '../gateway-decisions/live-cache.ts';
import { requestHeaders } from '../inventory-sync/request-headers.ts';
import { openSecrets } from '../provider-credentials/secret.ts';

/** Servers whose credentials are kept open. */
const MAX_SERVERS = 1000;

/** The MCP server of a provider. `headers` has its credential, which is sent only within `boundUrl`. */
export type McpServer = { tenantId: string; url: URL; headers: Record<string, string>; boundUrl: string | null };

/** The MCP servers of providers, with their credentials. Both are read again after 2 s, so that a revoked credential is sent no more. */
export class McpServers {
  readonly #servers: LiveCache<McpServer>;

  constructor(services: Pick<Services, 'db' | 'now' | 'secrets'>, freshMs?: number) {
    this.#servers = new LiveCache({
      most: MAX_SERVERS,
      load: (key) => {
        const [tenantId = '', id = ''] = key.split(' ');
        return readServer(services, { tenantId, id });
      },
      ...(freshMs !== undefined && { freshMs }),
    });
  }

  /** @throws OutboundFailure if the provider has no address any more, or if its credential cannot be used */
  async get({ tenantId, id }: { tenantId: string; id: string }): Promise<McpServer> {
    return this.#servers.get(`${tenantId} ${id}`);
  }
}

async function readServer(
  services: Pick<Services, 'db' | 'now' | 'secrets'>,
  { tenantId, id }: { tenantId: string; id: string },
): Promise<McpServer> {
  const provider = await findProvider(services.db, wholeTenant(tenantId), id);
  if (!provider || provider.kind !== 'mcp' || provider.baseUrl === null)
    throw new OutboundFailure('it is not there any more');
  const secrets = await openSecrets(services, provider);
  const headers = { ...requestHeaders(provider), ...secrets.headers };
  return { tenantId, url: new URL(provider.baseUrl), headers, boundUrl: secrets.boundUrl };
}
