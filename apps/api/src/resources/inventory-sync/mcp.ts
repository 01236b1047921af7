import {
  Client,
  METHOD_NOT_FOUND,
  ProtocolError,
  type RequestOptions,
  SdkHttpError,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import { SYNCED_KINDS } from '@quartermaster/contracts/inventory-syncs.ts';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import { z } from 'zod';
import { VERSION } from '../../config.ts';
import { OutboundFailure } from '../../platform/outbound/failure.ts';
import type { Outbound } from '../../platform/outbound/outbound.ts';
import type { SyncRuns } from '../../platform/outbound/sync-runs.ts';
import type { ReadItem } from './item.ts';
import { type Listing, listingOf } from './listing.ts';
import { mcpAnswers } from './mcp-answers.ts';
import { type McpList, PROMPTS, RESOURCES, TEMPLATES, TOOLS } from './mcp-lists.ts';
import { type ListedPage, readPages } from './pages.ts';
import { probeHeaders } from './probe-headers.ts';

/** How long a sync waits for the server to end the MCP session, in milliseconds. */
const SESSION_END_MS = 1000;

/** Protocol versions of a server that are stored. */
const MAX_PROTOCOL_VERSIONS = 20;

type McpOptions = {
  timeoutMs: number;
  syncs: Pick<SyncRuns, 'limits' | 'olderServers'>;
  onProgress: (phase: string, done: number) => void;
};

/**
 * Lists the tools, resources and prompts of an MCP server over streamable HTTP, in any protocol version that it speaks. If the server
 * forgets the session in between, for example because it restarts, everything is listed again in a new session, once.
 */
export async function listMcp(
  outbound: Outbound,
  provider: Provider & { baseUrl: string },
  options: McpOptions,
): Promise<Listing> {
  try {
    return await listInSession(outbound, provider, options);
  } catch (error) {
    if (!(error instanceof SessionLost)) throw error;
    return await listInSession(outbound, provider, options).catch((again: unknown) => {
      throw again instanceof SessionLost ? new OutboundFailure('it forgets its sessions', { cause: again }) : again;
    });
  }
}

class SessionLost extends Error {
  override readonly name = 'SessionLost';
}

async function listInSession(
  outbound: Outbound,
  provider: Provider & { baseUrl: string },
  { timeoutMs, syncs, onProgress }: McpOptions,
): Promise<Listing> {
  // A server that does not announce a kind has no items of it.
  const listing = listingOf(SYNCED_KINDS.mcp);
  const { olderServers, limits } = syncs;
  const server = `${provider.id} ${provider.baseUrl}`;
  const answers = mcpAnswers(outbound, {
    provider,
    room: listing.room,
    discoveryMs: limits.discoveryMs,
    onOlder: () => void olderServers.set(server, true),
  });
  const client = new Client(
    { name: 'quartermaster', version: VERSION },
    { capabilities: {}, versionNegotiation: { mode: olderServers.has(server) ? 'legacy' : 'auto' } },
  );
  const transport = new StreamableHTTPClientTransport(new URL(provider.baseUrl), {
    fetch: answers.fetch,
    reconnectionOptions: {
      maxRetries: 0,
      initialReconnectionDelay: 0,
      maxReconnectionDelay: 0,
      reconnectionDelayGrowFactor: 1,
    },
  });
  const options: RequestOptions = { signal: outbound.signal, timeout: timeoutMs };
  try {
    await withOwnErrors('connect', () => client.connect(transport, options)).catch((error: unknown) => {
      // It may have been replaced by a newer one.
      olderServers.delete(server);
      throw error;
    });
    const announced = client.getServerCapabilities() ?? {};
    for (const list of listsOf(client, answers.takeItems, options)) {
      if (announced[list.capability] === undefined) continue;
      try {
        for await (const items of readPages(list.what, list.fetchPage)) {
          await listing.add(items);
          onProgress(list.what, listing.count());
        }
      } catch (error) {
        // Streamable HTTP, section "Session Management": 404 says that the session is gone.
        if (transport.sessionId !== undefined && hasStatus(error, 404)) throw new SessionLost();
        if (!isUnknownMethod(error)) throw error;
        if (!list.isOptional) listing.note(`it announces ${list.capability}, but does not know ${list.method}`);
      }
    }
    const headerChecks = await probeHeaders(outbound, provider.baseUrl);
    await endSession(transport, outbound.signal);
    return { ...listing.finished(), mcp: { headerChecks, protocolVersions: protocolVersionsOf(client) } };
  } finally {
    await client.close();
  }
}

/** Revisions are dates. A server may send anything. */
function protocolVersionsOf(client: Client): string[] {
  const announced = client.getDiscoverResult()?.supportedVersions ?? [client.getNegotiatedProtocolVersion() ?? ''];
  return announced.filter((version) => /^\d{4}-\d{2}-\d{2}$/.test(version)).slice(0, MAX_PROTOCOL_VERSIONS);
}

type List = {
  what: string;
  capability: 'tools' | 'resources' | 'prompts';
  method: string;
  /** Whether a server with the capability may do without it. */
  isOptional: boolean;
  fetchPage: (cursor: string | null) => Promise<ListedPage<ReadItem>>;
};

function listsOf(client: Client, takeItems: () => ReadItem[], options: RequestOptions): List[] {
  const pagesOf = (list: McpList) => async (cursor: string | null) => {
    const next = await askForPage(client, options, list, cursor);
    return { items: takeItems(), next };
  };
  const listed = (what: string, capability: List['capability'], list: McpList): List => ({
    what,
    capability,
    method: list.method,
    isOptional: list === TEMPLATES,
    fetchPage: pagesOf(list),
  });
  return [
    listed('tools', 'tools', TOOLS),
    listed('resources', 'resources', RESOURCES),
    listed('resource templates', 'resources', TEMPLATES),
    listed('prompts', 'prompts', PROMPTS),
  ];
}

const nextCursor = z
  .string()
  .nullish()
  .transform((cursor) => (cursor === '' ? null : (cursor ?? null)));

/** Asks for a page of a list. @returns the cursor of the next one */
async function askForPage(
  client: Client,
  options: RequestOptions,
  { method, member }: McpList,
  cursor: string | null,
): Promise<string | null> {
  // mcpAnswers has already taken the items out of the answer.
  const schema = z.object({ [member]: z.array(z.never()), nextCursor });
  const request = { method, params: cursor === null ? {} : { cursor } };
  const answer = await withOwnErrors(method, () => client.request(request, schema, options));
  return answer.nextCursor as string | null;
}

function hasStatus(error: unknown, status: number): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof SdkHttpError && cause.status === status;
}

/** Whether the server does not know the method of a list. Servers of the 2026-07-28 revision answer 404 instead of an error. */
function isUnknownMethod(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return hasStatus(error, 404) || (cause instanceof ProtocolError && cause.code === METHOD_NOT_FOUND);
}

/**
 * Runs `work` and replaces protocol errors by errors in our own words. For network errors `outbound` knows the real reason,
 * and the caller of listMcp looks there first.
 */
async function withOwnErrors<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const failure =
      error instanceof ProtocolError && what !== 'connect'
        ? new OutboundFailure(`it answered ${what} with the error ${error.code}`)
        : new OutboundFailure(what === 'connect' ? 'it does not speak MCP' : `its answer to ${what} is not valid MCP`);
    failure.cause = error;
    throw failure;
  }
}

/** Servers of older protocol versions keep a session until the client ends it. A failure to end it is ignored. */
async function endSession(transport: StreamableHTTPClientTransport, signal: AbortSignal): Promise<void> {
  if (transport.sessionId === undefined || signal.aborted) return;
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, SESSION_END_MS);
  await Promise.race([late, transport.terminateSession().catch(() => {})]);
  clearTimeout(timer);
}
