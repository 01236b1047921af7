import { visibleLine } from '@quartermaster/contracts/visible-text.ts';
import { isIP, type LookupFunction } from 'node:net';
import { callbackify } from 'node:util';
import type { Logger } from 'pino';
import { Agent, fetch as undiciFetch } from 'undici';
import { isWithinBinding } from './credential-binding.ts';
import { isAllowedAddress, type Network } from './addresses.ts';
import { OutboundFailure, seconds, transportFailure } from './failure.ts';
import type { FairResolver } from './resolver.ts';

/** The limits of a conversation with a provider. */
export type OutboundLimits = {
  /** Time to establish a connection, including TLS. */
  connectMs: number;
  /** Time from the first request to the last byte. */
  totalMs: number;
  /** Size of one answer, decompressed. */
  answerBytes: number;
  /** Size of all answers together. */
  totalBytes: number;
};

export type OutboundPolicy = {
  /** Private networks that the operator allows. */
  allowed: readonly Network[];
  /** DNS. Tests replace it. */
  resolver: FairResolver;
  /** The header User-Agent of each request. */
  userAgent: string;
};

type Conversation = {
  tenantId: string;
  baseUrl: URL;
  headers: Record<string, string>;
  boundUrl?: string | null;
  signal: AbortSignal;
  log: Pick<Logger, 'warn'>;
};

/** A conversation with one origin. */
export type Outbound = {
  /**
   * Like the global fetch, but only for URLs of that origin. Follows a redirect only if it adds or removes a slash at the end.
   */
  fetch: (url: string | URL, init?: Pick<RequestInit, 'method' | 'headers' | 'body' | 'signal'>) => Promise<Response>;
  /** Aborts on the first failure, when a limit is exceeded, or when the caller's signal aborts. */
  signal: AbortSignal;
  /** Ends the conversation with a failure. @returns the first failure, which may be an earlier one */
  fail: (failure: OutboundFailure) => OutboundFailure;
  /** The first failure. Later errors are consequences of it. */
  failure: () => OutboundFailure | null;
  /** Status and headers of the last answer. */
  lastAnswer: () => Pick<Response, 'status' | 'headers'> | null;
  /** Aborts all requests and closes the connections. */
  close: () => Promise<void>;
};

const MEGABYTE = 1024 * 1024;

/** Characters of a redirect's target in a message. */
const MAX_SHOWN_TARGET = 200;

/**
 * Opens a conversation with the origin of a base URL. Each connection uses an address that was resolved and checked for it.
 * The socket gets that address instead of the name, so that a second DNS look-up cannot lead elsewhere.
 *
 * @param tenantId the tenant whose provider it is: its look-ups wait for each other
 * @param headers sent with each request, including the credential
 * @param boundUrl what the credential is bound to: requests outside of it are refused
 * @param signal aborts the conversation
 * @param log gets the private addresses that names resolve to, which callers must not learn
 */
export function openOutbound(
  { tenantId, baseUrl, headers, boundUrl = null, signal: outer, log }: Conversation,
  { allowed, resolver, userAgent }: OutboundPolicy,
  limits: OutboundLimits,
): Outbound {
  const failed = new AbortController();
  let first: OutboundFailure | null = null;
  let last: Pick<Response, 'status' | 'headers'> | null = null;
  let bytes = 0;
  const fail = (failure: OutboundFailure): OutboundFailure => {
    first ??= failure;
    failed.abort(first);
    return first;
  };
  const agent = new Agent({
    connect: { timeout: limits.connectMs, lookup: checkedLookup({ allowed, resolver }, { tenantId, log, fail }) },
    headersTimeout: limits.totalMs,
    bodyTimeout: limits.totalMs,
    connections: 4,
    allowH2: false,
  });
  const timer = setTimeout(() => {
    fail(new OutboundFailure(`it did not answer within ${seconds(limits.totalMs)}`, { transient: true }));
  }, limits.totalMs);
  const signal = AbortSignal.any([outer, failed.signal]);

  /** Passes the body on until it exceeds a limit. */
  async function* limited(body: AsyncIterable<Uint8Array>, caller: AbortSignal | null): AsyncGenerator<Uint8Array> {
    let size = 0;
    try {
      for await (const chunk of body) {
        size += chunk.length;
        bytes += chunk.length;
        if (size > limits.answerBytes) throw tooLarge('the answer is', limits.answerBytes);
        if (bytes > limits.totalBytes) throw tooLarge('all answers together are', limits.totalBytes);
        yield chunk;
      }
    } catch (error) {
      outer.throwIfAborted();
      // The caller aborted this request, so it is not a failure of the conversation.
      if (caller?.aborted === true && !failed.signal.aborted) throw error;
      throw fail(transportFailure(error, limits));
    }
  }

  return {
    signal,
    fail,
    failure: () => first,
    lastAnswer: () => last,
    async fetch(url, init = {}) {
      signal.throwIfAborted();
      const target = new URL(url);
      const refused = refusalOf(target, { baseUrl, boundUrl, allowed });
      if (refused !== null) throw fail(refused);
      const sent = new Headers(init.headers);
      sent.set('user-agent', userAgent);
      for (const [name, value] of Object.entries(headers)) sent.set(name, value);
      const signals = init.signal ? [signal, init.signal] : [signal];
      try {
        const ask = (at: URL) =>
          undiciFetch(at, {
            method: init.method ?? 'GET',
            body: typeof init.body === 'string' ? init.body : null,
            headers: Object.fromEntries(sent),
            signal: AbortSignal.any(signals),
            redirect: 'manual',
            dispatcher: agent,
          });
        let answer = await ask(target);
        const moved = movedBySlash(target, answer);
        if (moved !== null && refusalOf(moved, { baseUrl, boundUrl, allowed }) === null) {
          await answer.body?.cancel();
          answer = await ask(moved);
        }
        if (answer.status >= 300 && answer.status < 400) {
          await answer.body?.cancel();
          throw notFollowed(target, answer);
        }
        const body = answer.body === null ? null : ReadableStream.from(limited(answer.body, init.signal ?? null));
        const { status, headers: received } = answer;
        const response = new Response(body, { status, headers: [...received] });
        last = { status, headers: response.headers };
        return response;
      } catch (error) {
        outer.throwIfAborted();
        // The caller aborted this request, so it is not a failure of the conversation.
        if (init.signal?.aborted === true && !failed.signal.aborted) throw error;
        throw fail(transportFailure(error, limits));
      }
    },
    async close() {
      clearTimeout(timer);
      await agent.destroy();
    },
  };
}

type Redirect = { status: number; headers: { get: (name: string) => string | null } };

/** Where a redirect leads; null if that is no URL. */
function locationOf(target: URL, { headers }: Redirect): URL | null {
  const location = headers.get('location');
  return location === null || !URL.canParse(location, target.href) ? null : new URL(location, target);
}

/** The target of a redirect (307 or 308) that only adds or removes a slash at the end of the path. Frameworks send them. */
export function movedBySlash(target: URL, answer: Redirect): URL | null {
  if (answer.status !== 307 && answer.status !== 308) return null;
  const moved = locationOf(target, answer);
  const withoutSlash = ({ origin, pathname, search }: URL) => `${origin}${pathname.replace(/\/$/, '')}${search}`;
  return moved !== null && withoutSlash(moved) === withoutSlash(target) ? moved : null;
}

/** Names the target without its query, which may contain a secret. */
export function notFollowed(target: URL, answer: Redirect): OutboundFailure {
  const to = locationOf(target, answer);
  const where = to === null ? '' : ` to ${visibleLine(`${to.origin}${to.pathname}`.slice(0, MAX_SHOWN_TARGET))}`;
  return new OutboundFailure(`it answered a redirect (HTTP ${answer.status})${where}, which is not followed`);
}

/** Why a request to a URL is not sent; null if it may be sent. */
export function refusalOf(
  target: URL,
  { baseUrl, boundUrl, allowed }: { baseUrl: URL; boundUrl: string | null } & Pick<OutboundPolicy, 'allowed'>,
): OutboundFailure | null {
  if (target.origin !== baseUrl.origin) return new OutboundFailure('it leads to another origin');
  if (boundUrl !== null && !isWithinBinding(boundUrl, target)) {
    return new OutboundFailure('it leads out of the path that its credential is for');
  }
  // A literal address causes no look-up, so checkedLookup would not see it.
  const host = target.hostname.replace(/^\[|\]$/g, '');
  return isIP(host) !== 0 && !isAllowedAddress(host, allowed) ? notAllowed(`the address ${host}`) : null;
}

/** A DNS look-up that fails unless the service may connect to every address of the host. */
export function checkedLookup(
  { allowed, resolver }: Omit<OutboundPolicy, 'userAgent'>,
  { tenantId, log, fail }: Pick<Conversation, 'tenantId' | 'log'> & Pick<Outbound, 'fail'>,
): LookupFunction {
  const checked = async (host: string) => {
    const addresses = await resolver(host, tenantId);
    const refused = addresses.find(({ address }) => !isAllowedAddress(address, allowed));
    if (refused) {
      log.warn({ host, address: refused.address }, 'a provider is not asked: its address is not public');
      throw fail(notAllowed(`an address of ${host}`));
    }
    const [first] = addresses;
    if (!first) throw fail(new OutboundFailure('its name does not resolve', { transient: true }));
    return { first, addresses };
  };
  const lookUp = callbackify(checked);
  return (host, options, callback) => {
    lookUp(host, (error, found) => {
      if (error) callback(error, []);
      else if (options.all === true) callback(null, found.addresses);
      else callback(null, found.first.address, found.first.family);
    });
  };
}

/** @param what the host in the caller's own words: callers must not learn which private address a name has */
function notAllowed(what: string): OutboundFailure {
  return new OutboundFailure(`${what} is not public, and not among the networks that are allowed`);
}

function tooLarge(what: string, bytes: number): OutboundFailure {
  return new OutboundFailure(`${what} larger than ${bytes / MEGABYTE} MB`);
}
