import type { Provider } from '@quartermaster/contracts/providers.ts';
import { FIRST_REVISION_WITH_HEADERS } from '@quartermaster/gateway/mcp.ts';
import { isObject } from '../../platform/json-values.ts';
import type { Outbound } from '../../platform/outbound/outbound.ts';

export type HeaderChecks = Exclude<NonNullable<Provider['mcp']>['headerChecks'], 'trusted'>;

/** How long the server may take for all probes, in milliseconds. */
const PROBES_MS = 3000;

/** The largest answer that is read, in bytes. */
const MAX_ANSWER_BYTES = 64 * 1024;

/** The error code for headers that differ from the body (MCP 2026-07-28, Streamable HTTP, server validation). */
const HEADER_MISMATCH = -32020;

/** Refusals that say nothing about headers. */
const OTHER_REFUSALS: ReadonlySet<number> = new Set([401, 403, 408, 429]);

const CLIENT = { name: 'quartermaster', version: '1' };

const META = {
  'io.modelcontextprotocol/protocolVersion': FIRST_REVISION_WITH_HEADERS,
  'io.modelcontextprotocol/clientInfo': CLIENT,
  'io.modelcontextprotocol/clientCapabilities': {},
};

type Probe = {
  headers: Record<string, string>;
  body: object;
  /** The error code of the refusal. Null: any refusal will do. */
  code: number | null;
};

const LIST_HEADERS = { 'mcp-method': 'tools/list' };

const message = (id: number, method: string, params: object) => ({ jsonrpc: '2.0', id, method, params });

/** The headers of each probe say something else than its body, which is harmless even if it is carried out. */
const PROBES: readonly Probe[] = [
  { headers: LIST_HEADERS, body: message(0, 'ping', { _meta: META }), code: HEADER_MISMATCH },
  // Some servers compare the methods, and not the names. No server has these tools.
  {
    headers: { 'mcp-method': 'tools/call', 'mcp-name': 'quartermaster-probe-of-headers' },
    body: message(1, 'tools/call', { name: 'quartermaster-probe-of-the-body', arguments: {}, _meta: META }),
    code: HEADER_MISMATCH,
  },
  // Some servers choose the revision by the body, and look at no header of a request of an older one.
  { headers: LIST_HEADERS, body: message(2, 'ping', {}), code: null },
  {
    headers: LIST_HEADERS,
    body: message(3, 'initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: CLIENT }),
    code: null,
  },
  // Some servers take a batch, and compare its first message.
  {
    headers: LIST_HEADERS,
    body: [message(4, 'tools/list', { _meta: META }), message(5, 'ping', { _meta: META })],
    code: null,
  },
];

/**
 * Whether an MCP server compares the headers of a request with its body. Forward authentication that sees only headers rests on that: a
 * client could name an allowed tool in the headers and call another one in the body.
 */
export async function probeHeaders(outbound: Pick<Outbound, 'fetch'>, url: string): Promise<HeaderChecks> {
  const signal = AbortSignal.timeout(PROBES_MS);
  try {
    for (const { headers, body, code } of PROBES) {
      const answer = await outbound.fetch(url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          'mcp-protocol-version': FIRST_REVISION_WITH_HEADERS,
          ...headers,
        },
        body: JSON.stringify(body),
        signal,
      });
      const text = await beginningOf(answer);
      const { status } = answer;
      if (status >= 500 || OTHER_REFUSALS.has(status)) return 'unknown';
      if (status < 400 || (code !== null && (status !== 400 || errorCodeIn(text) !== code))) {
        await endSession(outbound, url, { answer, signal });
        return 'failed';
      }
    }
    return 'verified';
  } catch {
    // The sync itself has succeeded.
    return 'unknown';
  }
}

/** A server that carried out `initialize` keeps a session until it is told to end it. */
async function endSession(
  outbound: Pick<Outbound, 'fetch'>,
  url: string,
  { answer, signal }: { answer: Response; signal: AbortSignal },
): Promise<void> {
  const session = answer.headers.get('mcp-session-id');
  if (session === null) return;
  try {
    const ended = await outbound.fetch(url, { method: 'DELETE', headers: { 'mcp-session-id': session }, signal });
    await ended.body?.cancel();
  } catch {
    // The server ends it by itself some day.
  }
}

async function beginningOf({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > MAX_ANSWER_BYTES) break;
  }
  return Buffer.concat(chunks).toString();
}

function errorCodeIn(text: string): unknown {
  try {
    const message: unknown = JSON.parse(text);
    return isObject(message) && isObject(message['error']) ? message['error']['code'] : undefined;
  } catch {
    return undefined;
  }
}
