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
import { z } from 'zod';
import { VERSION } from '../config.ts';
import { OutboundFailure } from '../outbound/failure.ts';
import type { Outbound } from '../outbound/outbound.ts';
import { type ListedItem, type Listing, listingOf, unreadable } from './listing.ts';
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

/** How the items of a list become items of an inventory. */
type Reader<Raw extends z.ZodType> = {
  method: string;
  /** The member of the answer that has the items. */
  member: string;
  kind: InventoryKind;
  /** The member of an item that it is called by. */
  nameMember: string;
  /** Read item by item: one that is wrong does not take the others along. */
  schema: Raw;
  read: (item: z.infer<Raw>) => Omit<ListedItem, 'kind'>;
};

const text = z
  .string()
  .nullish()
  .transform((value) => value ?? undefined);
const object = z.looseObject({}).optional();
const named = { title: text, description: text, annotations: object };

const TOOLS = reader({
  ...{ method: 'tools/list', member: 'tools', kind: 'tool', nameMember: 'name' },
  schema: z.object({ ...named, name: z.string(), inputSchema: z.looseObject({}), outputSchema: object }),
  read: ({ name, title, description, inputSchema, outputSchema, annotations }) => ({
    ...{ name, title: title ?? titleOf(annotations), description },
    attributes: { inputSchema, outputSchema, annotations },
    definition: { title, description, inputSchema, outputSchema, annotations },
  }),
});

// Spans name a resource by its URI (`mcp.resource.uri`), and so do reads.
const RESOURCES = reader({
  ...{ method: 'resources/list', member: 'resources', kind: 'resource', nameMember: 'uri' },
  schema: z.object({ ...named, uri: z.string(), name: text, mimeType: text, size: z.number().optional() }),
  read: ({ uri, name, title, description, mimeType, size, annotations }) => ({
    ...{ name: uri, title: title ?? name, description },
    attributes: { mimeType, size, annotations },
    definition: { title: title ?? name, description, mimeType },
  }),
});

const TEMPLATES = reader({
  ...{ method: 'resources/templates/list', member: 'resourceTemplates', kind: 'resource', nameMember: 'uriTemplate' },
  schema: z.object({ ...named, uriTemplate: z.string(), name: text, mimeType: text }),
  read: ({ uriTemplate, name, title, description, mimeType, annotations }) => ({
    ...{ name: uriTemplate, title: title ?? name, description },
    attributes: { template: true, mimeType, annotations },
    definition: { title: title ?? name, description, mimeType },
  }),
});

const PROMPTS = reader({
  ...{ method: 'prompts/list', member: 'prompts', kind: 'prompt', nameMember: 'name' },
  schema: z.object({ ...named, name: z.string(), arguments: z.array(z.unknown()).optional() }),
  read: ({ name, title, description, arguments: parameters }) => ({
    ...{ name, title, description },
    attributes: { arguments: parameters },
    definition: { title, description, arguments: parameters },
  }),
});

function listsOf(client: Client, options: RequestOptions): List[] {
  const pagesOf = (from: AnyReader) => (cursor: string | null) => fetchPage(client, options, from, cursor);
  return [
    { what: 'tools', capability: 'tools', fetchPage: pagesOf(TOOLS) },
    { what: 'resources', capability: 'resources', fetchPage: pagesOf(RESOURCES) },
    {
      what: 'resource templates',
      capability: 'resources',
      fetchPage: (cursor) => pagesOf(TEMPLATES)(cursor).catch(withNone),
    },
    { what: 'prompts', capability: 'prompts', fetchPage: pagesOf(PROMPTS) },
  ];
}

type AnyReader = Pick<Reader<z.ZodType>, 'method' | 'member'> & { itemOf: (raw: unknown) => ListedItem };

function reader<Raw extends z.ZodType>({ method, member, kind, nameMember, schema, read }: Reader<Raw>): AnyReader {
  return {
    ...{ method, member },
    itemOf(raw) {
      const item = schema.safeParse(raw);
      return item.success ? { kind, ...read(item.data) } : unreadable(kind, raw, nameMember);
    },
  };
}

async function fetchPage(
  client: Client,
  options: RequestOptions,
  { method, member, itemOf }: AnyReader,
  cursor: string | null,
): Promise<ListedPage<ListedItem>> {
  const schema = z.object({ [member]: z.array(z.unknown()), nextCursor: text });
  const request = { method, params: cursor === null ? {} : { cursor } };
  const answer = await asking(method, () => client.request(request, schema, options));
  const { nextCursor, [member]: listed } = answer as { nextCursor: string | undefined; [member: string]: unknown };
  return { items: (listed as unknown[]).map(itemOf), next: nextCursor === '' ? null : (nextCursor ?? null) };
}

function titleOf(annotations: Record<string, unknown> | undefined): string | undefined {
  const title = annotations?.['title'];
  return typeof title === 'string' ? title : undefined;
}

/** Servers that have resources and no templates need not know the question. */
function withNone(error: unknown): ListedPage<ListedItem> {
  const cause = error instanceof Error ? error.cause : undefined;
  const isUnknown = cause instanceof ProtocolError && cause.code === METHOD_NOT_FOUND;
  // The 2026-07-28 revision says the same by the status.
  if (isUnknown || (cause instanceof SdkHttpError && cause.status === 404)) return { items: [], next: null };
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

/** Servers of the older era keep a session until it is ended. That it cannot be is no reason to fail. */
async function farewell(transport: StreamableHTTPClientTransport, signal: AbortSignal): Promise<void> {
  if (transport.sessionId === undefined || signal.aborted) return;
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, FAREWELL_MS);
  await Promise.race([late, transport.terminateSession().catch(() => {})]);
  clearTimeout(timer);
}
