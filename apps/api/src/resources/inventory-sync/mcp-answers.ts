import { OutboundFailure } from '../../platform/outbound/failure.ts';
import type { Outbound } from '../../platform/outbound/outbound.ts';
import { askThread } from './ask-thread.ts';
import { isObject } from '../../platform/json-values.ts';
import type { ReadItem } from './item.ts';

/** Events of all streams of a conversation: notifications and answers. A list has at most 200 pages. */
const MAX_EVENTS = 1000;

/** Lines of one stream. However short a line is, it takes the event loop some time, and 16 KB of gzip hold millions. */
const MAX_LINES = 100_000;

/** Maximum body of an error response. A longer body is dropped. */
const ERROR_MAX_BYTES = 64 * 1024;

/** Passed on instead of a body without an answer, so that the MCP client reports an error. */
const NOT_JSON = 'not JSON';

type McpQuestions = { provider: { name: string }; room: () => number; discoveryMs: number; onOlder: () => void };

type McpAnswers = {
  /** For the transport of the MCP client. It takes the items out of each answer, so that the client has little to parse. */
  fetch: (url: string | URL, init?: RequestInit) => Promise<Response>;
  /** The items of the last answer. */
  takeItems: () => ReadItem[];
};

/**
 * Reads the answers of an MCP server before the MCP client does, because the client parses on the event loop without limits. The
 * client gets the answers to its own requests, and nothing else: it would answer each request of the server with a request.
 *
 * @param room how many items may still be added to the listing
 * @param discoveryMs how long the server may take to answer `server/discover`
 * @param onOlder called if it does not answer that properly
 */
export function mcpAnswers(outbound: Outbound, { provider, room, discoveryMs, onOlder }: McpQuestions): McpAnswers {
  let items: ReadItem[] = [];
  let eventCount = 0;
  const countEvent = () => {
    eventCount += 1;
    if (eventCount > MAX_EVENTS) throw refusalOf(outbound, MAX_EVENTS, 'events');
  };
  const read = async (body: string | Uint8Array, request: JsonRpcRequest): Promise<string | null> => {
    const question = { providerName: provider.name, room: room(), request };
    try {
      const answer = await askThread(body, question, outbound.signal);
      if (answer.items.length > 0) items = answer.items;
      return answer.message;
    } catch (error) {
      // Records the real reason: the client would only say that the answer is not valid.
      throw error instanceof OutboundFailure ? outbound.fail(error) : error;
    }
  };
  const ask = async (url: string | URL, init: RequestInit | undefined, request: JsonRpcRequest | null) => {
    const answer = await outbound.fetch(url, init);
    const type = (answer.headers.get('content-type') ?? '').split(';')[0]?.trim().toLowerCase();
    // Only a request has an answer. What a server sends in response to a notification is not read.
    if (answer.body !== null && init?.method === 'POST' && request !== null) {
      if (!answer.ok) return withBody(answer, await smallBody(answer.body));
      if (type === 'application/json') {
        const message = await read(new Uint8Array(await answer.arrayBuffer()), request);
        return withBody(answer, message ?? NOT_JSON);
      }
      if (type === 'text/event-stream') {
        const messages = messagesOf(answer.body, { outbound, countEvent, read: (data) => read(data, request) });
        return withBody(answer, ReadableStream.from(messages));
      }
    }
    await answer.body?.cancel();
    return withBody(answer, null);
  };
  /**
   * Older servers answer `server/discover` in many ways, or not at all. The client knows only some of them, so all others become an
   * answer after which it falls back to `initialize`. A refused credential and a stream of events are left to the client.
   */
  const discover = async (url: string | URL, init: RequestInit, request: JsonRpcRequest): Promise<Response> => {
    const late = AbortSignal.timeout(discoveryMs);
    try {
      const answer = await ask(
        url,
        { ...init, signal: init.signal ? AbortSignal.any([init.signal, late]) : late },
        request,
      );
      if (answer.status === 401 || answer.status === 403) return answer;
      if (answer.ok && answer.headers.get('content-type')?.startsWith('text/event-stream') === true) return answer;
      const body = await answer.text();
      if (answer.status < 500 && isReply(body)) return withBody(answer, body);
    } catch (error) {
      if (!late.aborted || outbound.signal.aborted || init.signal?.aborted === true) throw error;
    }
    onOlder();
    return new Response(null, { status: 400 });
  };
  return {
    takeItems() {
      const taken = items;
      items = [];
      return taken;
    },
    async fetch(url, init) {
      // Do not open the stream for messages that the server sends unasked: a sync needs only answers.
      if (init?.method === 'GET') return new Response(null, { status: 405 });
      const request = requestOf(init?.body);
      return init !== undefined && request?.method === 'server/discover'
        ? discover(url, init, request)
        : ask(url, init, request);
    },
  };
}

/** Whether a text is the JSON of a reply with a result or an error. */
function isReply(text: string): boolean {
  try {
    const reply: unknown = JSON.parse(text);
    return isObject(reply) && (isObject(reply['result']) || isObject(reply['error']));
  } catch {
    return false;
  }
}

type JsonRpcRequest = { id: unknown; method: string };

/** The request that the client sends; null for a notification. */
function requestOf(body: unknown): JsonRpcRequest | null {
  if (typeof body !== 'string') return null;
  const { id, method } = JSON.parse(body) as Partial<JsonRpcRequest>;
  return id === undefined || method === undefined ? null : { id, method };
}

function withBody({ status, headers }: Response, body: string | ReadableStream | null): Response {
  return new Response(body, { status, headers });
}

async function smallBody(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > ERROR_MAX_BYTES) return '';
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

type Events = {
  outbound: Outbound;
  /** Called for each event. */
  countEvent: () => void;
  /** Returns the message that an event passes on; null if it passes on none. */
  read: (data: string) => Promise<string | null>;
};

/** The messages of a stream of server-sent events that `read` passes on, each written as an event again. */
async function* messagesOf(
  body: AsyncIterable<Uint8Array>,
  { outbound, countEvent, read }: Events,
): AsyncGenerator<Uint8Array> {
  const stream = new EventStream(countEvent);
  let lineCount = 0;
  for await (const lines of linesOf(body)) {
    lineCount += lines.length;
    if (lineCount > MAX_LINES) throw refusalOf(outbound, MAX_LINES, 'lines');
    for (const line of lines) {
      const data = stream.add(line);
      const message = data === null ? null : await read(data);
      if (message !== null) yield Buffer.from(`data: ${message}\n\n`);
    }
  }
}

function refusalOf(outbound: Outbound, most: number, what: string): unknown {
  return outbound.fail(new OutboundFailure(`it sends more than ${most} ${what}`));
}

/** Puts the lines of server-sent events together. */
class EventStream {
  readonly #onEnd: () => void;
  #data: string[] = [];
  #type = '';

  /** @param onEnd called for each event that has ended */
  constructor(onEnd: () => void) {
    this.#onEnd = onEnd;
  }

  /** @returns the data of the message that ends with this line; null if none does */
  add(line: string): string | null {
    if (line !== '') {
      const [, field, value = ''] = /^([^:]*)(?::[ ]?([\s\S]*))?$/.exec(line) ?? [];
      if (field === 'data') this.#data.push(value);
      else if (field === 'event') this.#type = value;
      return null;
    }
    const [data, type] = [this.#data, this.#type];
    this.#data = [];
    this.#type = '';
    if (data.length > 0 || type !== '') this.#onEnd();
    return data.length > 0 && (type === '' || type === 'message') ? data.join('\n') : null;
  }
}

/** The lines that each chunk of a stream completes. They end with CR LF, LF or CR. An unfinished last line is dropped. */
async function* linesOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<string[]> {
  const decoder = new TextDecoder();
  let unfinished = '';
  let endedWithReturn = false;
  for await (const chunk of body) {
    let text = decoder.decode(chunk, { stream: true });
    if (endedWithReturn && text.startsWith('\n')) text = text.slice(1);
    endedWithReturn = text === '' ? endedWithReturn : text.endsWith('\r');
    const lines = text.split(/\r\n|\n|\r/);
    lines[0] = unfinished + lines[0];
    unfinished = lines.pop() ?? '';
    yield lines;
  }
}
