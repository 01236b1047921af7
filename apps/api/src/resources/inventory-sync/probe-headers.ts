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

/** The headers of each probe say `tools/list`, and its body says something else that is harmless even if it is carried out. */
const PROBES = [
  {
    method: 'ping',
    params: {
      _meta: {
        'io.modelcontextprotocol/protocolVersion': FIRST_REVISION_WITH_HEADERS,
        'io.modelcontextprotocol/clientInfo': CLIENT,
        'io.modelcontextprotocol/clientCapabilities': {},
      },
    },
    code: HEADER_MISMATCH,
  },
  // Some servers choose the revision by the body, and look at no header of a request of an older one.
  { method: 'ping', params: {}, code: null },
  { method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: CLIENT }, code: null },
] as const;

/**
 * Whether an MCP server compares the headers of a request with its body. Forward authentication that sees only headers rests on that: a
 * client could name an allowed tool in the headers and call another one in the body.
 */
export async function probeHeaders(outbound: Pick<Outbound, 'fetch'>, url: string): Promise<HeaderChecks> {
  const signal = AbortSignal.timeout(PROBES_MS);
  try {
    for (const [id, { method, params, code }] of PROBES.entries()) {
      const answer = await outbound.fetch(url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          'mcp-protocol-version': FIRST_REVISION_WITH_HEADERS,
          'mcp-method': 'tools/list',
        },
        body: JSON.stringify({ jsonrpc: '2.0', id, method, params }),
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
