import {
  Client,
  METHOD_NOT_FOUND,
  ProtocolError,
  type RequestOptions,
  SdkHttpError,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import type { InventoryKind } from '@quartermaster/contracts/inventory.ts';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import { VERSION } from '../config.ts';
import { OutboundFailure } from '../outbound/failure.ts';
import type { Outbound } from '../outbound/outbound.ts';
import { type ListedItem, type Listing, listingOf } from './listing.ts';
import { type ListedPage, readPages } from './pages.ts';

/** A session that is not needed any more is ended politely, if that takes no longer than this, in milliseconds. */
const FAREWELL_MS = 1000;

/** What every sync of an MCP server asks for; a server that announces no prompts has none. */
const KINDS: readonly InventoryKind[] = ['tool', 'resource', 'prompt'];

/** Lists the tools, resources and prompts of an MCP server over streamable HTTP, whichever era it speaks. */
export async function listMcp(
  outbound: Outbound,
  provider: Provider & { baseUrl: string },
  { timeoutMs, onProgress }: { timeoutMs: number; onProgress: (phase: string, done: number) => void },
): Promise<Listing> {
  const listing = listingOf(provider, KINDS);
  const client = new Client(
    { name: 'quartermaster', version: VERSION },
    { capabilities: {}, versionNegotiation: { mode: 'auto' } },
  );
  const transport = new StreamableHTTPClientTransport(new URL(provider.baseUrl), {
    // The stream for what a server says unasked is not opened: only answers are waited for here.
    fetch: async (url, init) =>
      init?.method === 'GET' ? new Response(null, { status: 405 }) : outbound.fetch(url, init),
    reconnectionOptions: {
      maxRetries: 0,
      initialReconnectionDelay: 0,
      maxReconnectionDelay: 0,
      reconnectionDelayGrowFactor: 1,
    },
  });
  const options: RequestOptions = { signal: outbound.signal, timeout: timeoutMs };
  try {
    await asking('connect', () => client.connect(transport, options));
    const announced = client.getServerCapabilities() ?? {};
    for (const list of listsOf(client, options)) {
      if (announced[list.capability] === undefined) continue;
      for await (const items of readPages(list.what, list.fetchPage)) {
        await listing.add(items);
        onProgress(list.what, listing.count());
      }
    }
    await farewell(transport, outbound.signal);
    return listing.finished();
  } finally {
    await client.close();
  }
}

type List = {
  what: string;
  capability: 'tools' | 'resources' | 'prompts';
  fetchPage: (cursor: string | null) => Promise<ListedPage<ListedItem>>;
};

function listsOf(client: Client, options: RequestOptions): List[] {
  const paramsOf = (cursor: string | null) => (cursor === null ? {} : { cursor });
  return [
    {
      what: 'tools',
      capability: 'tools',
      async fetchPage(cursor) {
        const request = { method: 'tools/list', params: paramsOf(cursor) } as const;
        const { tools, nextCursor } = await asking('tools/list', () => client.request(request, options));
        const items = tools.map(({ name, title, description, inputSchema, outputSchema, annotations }) => ({
          kind: 'tool' as const,
          ...{ name, title: title ?? annotations?.title, description },
          attributes: { inputSchema, outputSchema, annotations },
          definition: { description, inputSchema, outputSchema, annotations },
        }));
        return { items, next: nextOf(nextCursor) };
      },
    },
    {
      what: 'resources',
      capability: 'resources',
      async fetchPage(cursor) {
        const request = { method: 'resources/list', params: paramsOf(cursor) } as const;
        const { resources, nextCursor } = await asking('resources/list', () => client.request(request, options));
        // Spans name a resource by its URI (`mcp.resource.uri`), and so do reads.
        const items = resources.map(({ uri, name, title, description, mimeType, size, annotations }) => ({
          kind: 'resource' as const,
          ...{ name: uri, title: title ?? name, description },
          attributes: { mimeType, size, annotations },
          definition: { description, mimeType },
        }));
        return { items, next: nextOf(nextCursor) };
      },
    },
    {
      what: 'resource templates',
      capability: 'resources',
      async fetchPage(cursor) {
        const request = { method: 'resources/templates/list', params: paramsOf(cursor) } as const;
        const found = await asking('resources/templates/list', () => client.request(request, options)).catch(withNone);
        const items = found.resourceTemplates.map(
          ({ uriTemplate, name, title, description, mimeType, annotations }) => ({
            kind: 'resource' as const,
            ...{ name: uriTemplate, title: title ?? name, description },
            attributes: { template: true, mimeType, annotations },
            definition: { description, mimeType },
          }),
        );
        return { items, next: nextOf(found.nextCursor) };
      },
    },
    {
      what: 'prompts',
      capability: 'prompts',
      async fetchPage(cursor) {
        const request = { method: 'prompts/list', params: paramsOf(cursor) } as const;
        const found = await asking('prompts/list', () => client.request(request, options));
        const items = found.prompts.map(({ name, title, description, arguments: parameters }) => ({
          kind: 'prompt' as const,
          ...{ name, title, description },
          attributes: { arguments: parameters },
          definition: { description, arguments: parameters },
        }));
        return { items, next: nextOf(found.nextCursor) };
      },
    },
  ];
}

/** Servers that have resources and no templates need not know the question. */
function withNone(error: unknown): { resourceTemplates: never[]; nextCursor?: string } {
  const cause = error instanceof Error ? error.cause : undefined;
  const isUnknown = cause instanceof ProtocolError && cause.code === METHOD_NOT_FOUND;
  // The 2026-07-28 revision says the same by the status.
  if (isUnknown || (cause instanceof SdkHttpError && cause.status === 404)) return { resourceTemplates: [] };
  throw error;
}

/**
 * What goes wrong in the protocol, in words of ours. What went wrong below it is known to the conversation, and looked
 * at first by whoever catches this.
 */
async function asking<T>(what: string, work: () => Promise<T>): Promise<T> {
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

function nextOf(cursor: string | undefined): string | null {
  return cursor === undefined || cursor === '' ? null : cursor;
}

/** Servers of the older era keep a session until it is ended. That it cannot be is no reason to fail. */
async function farewell(transport: StreamableHTTPClientTransport, signal: AbortSignal): Promise<void> {
  if (transport.sessionId === undefined || signal.aborted) return;
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, FAREWELL_MS);
  await Promise.race([late, transport.terminateSession().catch(() => {})]);
  clearTimeout(timer);
}
