import type { IncomingHttpHeaders } from 'node:http';
import { Agent, type Dispatcher, request } from 'undici';
import { OutboundFailure, transportFailure } from '../../platform/outbound/failure.ts';
import {
  checkedLookup,
  movedBySlash,
  notFollowed,
  type OutboundPolicy,
  refusalOf,
} from '../../platform/outbound/outbound.ts';
import type { Services } from '../../platform/services.ts';
import { SMALL_CHUNK_BYTES } from '../../http/messages/limits.ts';
import { PerSecond } from '../../http/rate-limits/per-second.ts';
import type { McpServer } from './server.ts';

/** Time to establish a connection, including TLS, in milliseconds. */
const CONNECT_MS = 3000;

/** How long a server may send nothing, in milliseconds. */
export const IDLE_MS = 5 * 60_000;

/** How long an unused connection is kept, in milliseconds. */
const KEEP_ALIVE_MS = 10_000;

/** Tenants whose connections are kept. */
const MAX_TENANTS = 1000;

/**
 * Small pieces of answers that the servers of a tenant may send in a second. Each takes some 10 microseconds, and one read of 64 KiB may
 * contain thousands of them, so without a limit one server could keep the process from everything else.
 */
const MAX_SMALL_PIECES = 20_000;

type Request = {
  method: 'GET' | 'POST' | 'DELETE';
  headers: Record<string, string>;
  body: string | null;
  signal: AbortSignal;
};

export type UpstreamAnswer = { status: number; headers: IncomingHttpHeaders; body: Dispatcher.ResponseData['body'] };

/**
 * Sends requests to MCP servers. The rules are those of syncs (`openOutbound`): the address of each connection is checked, and no
 * redirect leads elsewhere. Unlike in syncs, an answer may last for hours and have any size.
 */
export class Upstreams {
  readonly #services: Pick<Services, 'log'>;
  readonly #policy: OutboundPolicy;
  /** By tenant, because DNS look-ups are shared fairly between tenants. */
  readonly #agents = new Map<string, Dispatcher>();
  readonly #smallPieces = new PerSecond(MAX_SMALL_PIECES);

  constructor({ log, syncs }: Pick<Services, 'log' | 'syncs'>) {
    this.#services = { log };
    this.#policy = syncs.policy;
  }

  /** @throws OutboundFailure; the abort reason of the signal */
  async send(server: McpServer, { method, headers, body, signal }: Request): Promise<UpstreamAnswer> {
    const { allowed, userAgent } = this.#policy;
    const { url, boundUrl, tenantId } = server;
    const sent = { ...headers, 'user-agent': userAgent, ...server.headers };
    const ask = async (target: URL) => {
      const refused = refusalOf(target, { baseUrl: url, boundUrl, allowed });
      if (refused !== null) throw refused;
      const dispatcher = this.#agentOf(tenantId);
      const answer = await request(target, { dispatcher, method, headers: sent, body, signal });
      return { status: answer.statusCode, headers: answer.headers, body: answer.body };
    };
    try {
      const answer = await ask(url);
      if (answer.status < 300 || answer.status >= 400) return answer;
      await answer.body.dump();
      const redirect = { status: answer.status, headers: { get: (name: string) => textOf(answer.headers[name]) } };
      const moved = movedBySlash(url, redirect);
      if (moved === null) throw notFollowed(url, redirect);
      const next = await ask(moved);
      if (next.status < 300 || next.status >= 400) return next;
      await next.body.dump();
      throw new OutboundFailure('it redirects in a circle');
    } catch (error) {
      signal.throwIfAborted();
      throw transportFailure(error, { connectMs: CONNECT_MS });
    }
  }

  #agentOf(tenantId: string): Dispatcher {
    const known = this.#agents.get(tenantId);
    if (known) return known;
    const [oldest] = this.#agents;
    if (oldest && this.#agents.size >= MAX_TENANTS) {
      this.#agents.delete(oldest[0]);
      // Its requests in flight are finished first.
      void oldest[1].close();
    }
    const fail = (failure: OutboundFailure) => failure;
    const agent = new Agent({
      connect: {
        timeout: CONNECT_MS,
        lookup: checkedLookup(this.#policy, { tenantId, log: this.#services.log, fail }),
      },
      headersTimeout: IDLE_MS,
      bodyTimeout: IDLE_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      allowH2: false,
    }).compose((dispatch) => (options, handler) => dispatch(options, this.#limited(handler, tenantId)));
    this.#agents.set(tenantId, agent);
    return agent;
  }

  #limited(handler: Dispatcher.DispatchHandler, tenantId: string): Dispatcher.DispatchHandler {
    return {
      onRequestStart: (...args) => handler.onRequestStart?.(...args),
      onRequestUpgrade: (...args) => handler.onRequestUpgrade?.(...args),
      onResponseStart: (...args) => handler.onResponseStart?.(...args),
      onResponseData: (controller, chunk) => {
        if (chunk.length < SMALL_CHUNK_BYTES && this.#smallPieces.exceeds(tenantId))
          controller.abort(new OutboundFailure('the servers of the tenant send too many small pieces at a time'));
        else handler.onResponseData?.(controller, chunk);
      },
      onResponseEnd: (...args) => handler.onResponseEnd?.(...args),
      onResponseError: (...args) => handler.onResponseError?.(...args),
    };
  }
}

function textOf(value: string | string[] | undefined): string | null {
  return typeof value === 'string' ? value : null;
}
