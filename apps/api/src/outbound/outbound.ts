import { isIP, type LookupFunction } from 'node:net';
import { callbackify } from 'node:util';
import type { Logger } from 'pino';
import { Agent, fetch as undiciFetch } from 'undici';
import { VERSION } from '../config.ts';
import { isWithinBinding } from '../provider-credentials/binding.ts';
import { isAllowedAddress, type Network } from './addresses.ts';
import { OutboundFailure, seconds, transportFailure } from './failure.ts';
import type { Resolver } from './resolver.ts';

/** What a conversation with a provider may take at most. */
export type OutboundLimits = {
  /** Until a connection stands, its TLS included. */
  connectMs: number;
  /** From the first request to the last byte. */
  totalMs: number;
  /** Of one answer, unpacked. */
  answerBytes: number;
  /** Of all answers together. */
  totalBytes: number;
};

export type OutboundPolicy = {
  /** Private networks that may be connected to all the same. */
  allowed: readonly Network[];
  /** DNS: tests replace it. */
  resolver: Resolver;
};

type Conversation = {
  baseUrl: URL;
  headers: Record<string, string>;
  boundUrl?: string | null;
  signal: AbortSignal;
  log: Pick<Logger, 'warn'>;
};

/** A conversation with one origin. */
export type Outbound = {
  /** Like the global one, for URLs of that origin alone. Never follows a redirect. */
  fetch: (url: string | URL, init?: Pick<RequestInit, 'method' | 'headers' | 'body' | 'signal'>) => Promise<Response>;
  /** Ends with the first failure, with a limit passed, or with what ends the caller's. */
  signal: AbortSignal;
  /** Ends the conversation for a reason. @returns what failed first */
  fail: (failure: OutboundFailure) => OutboundFailure;
  /** What failed first: what is thrown afterwards follows from it. */
  failure: () => OutboundFailure | null;
  /** The answer that came last, without its body. */
  lastAnswer: () => Pick<Response, 'status' | 'headers'> | null;
  /** Breaks off what is under way. */
  close: () => Promise<void>;
};

const MEGABYTE = 1024 * 1024;

/**
 * Opens a conversation with the origin of a base URL. Each connection goes to an address that was resolved and checked
 * for it: the socket gets that address and never the name, so that no second look-up can lead elsewhere.
 *
 * @param headers go with each request, a credential among them
 * @param boundUrl what the credential is bound to: a request beside it is refused
 * @param signal ends the conversation from outside
 * @param log is told what callers are not: what names of the network around this host resolve to
 */
export function openOutbound(
  { baseUrl, headers, boundUrl = null, signal: outer, log }: Conversation,
  { allowed, resolver }: OutboundPolicy,
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
  const host = baseUrl.hostname.replace(/^\[|\]$/g, '');
  const agent = new Agent({
    connect: { timeout: limits.connectMs, lookup: checkedLookup({ allowed, resolver }, log, fail) },
    headersTimeout: limits.totalMs,
    bodyTimeout: limits.totalMs,
    connections: 4,
    allowH2: false,
  });
  const timer = setTimeout(() => {
    fail(new OutboundFailure(`it did not answer within ${seconds(limits.totalMs)}`, { transient: true }));
  }, limits.totalMs);
  const signal = AbortSignal.any([outer, failed.signal]);

  /** The body as it comes, as long as it keeps to its limits. */
  async function* counted(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
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
      if (target.origin !== baseUrl.origin) throw fail(new OutboundFailure('it leads to another origin'));
      if (boundUrl !== null && !isWithinBinding(boundUrl, target)) {
        throw fail(new OutboundFailure('it leads out of the path that its credential is for'));
      }
      // A literal address is connected to without a look-up.
      if (isIP(host) !== 0 && !isAllowedAddress(host, allowed)) throw fail(notAllowed(`the address ${host}`));
      const sent = new Headers(init.headers);
      sent.set('user-agent', `quartermaster/${VERSION}`);
      for (const [name, value] of Object.entries(headers)) sent.set(name, value);
      const signals = init.signal ? [signal, init.signal] : [signal];
      try {
        const answer = await undiciFetch(target, {
          method: init.method ?? 'GET',
          body: typeof init.body === 'string' ? init.body : null,
          headers: Object.fromEntries(sent),
          signal: AbortSignal.any(signals),
          redirect: 'manual',
          dispatcher: agent,
        });
        if (answer.status >= 300 && answer.status < 400) {
          await answer.body?.cancel();
          throw new OutboundFailure(`it answered a redirect (HTTP ${answer.status}), which is not followed`);
        }
        const body = answer.body === null ? null : ReadableStream.from(counted(answer.body));
        const { status, headers: received } = answer;
        const response = new Response(body, { status, headers: [...received] });
        last = { status, headers: response.headers };
        return response;
      } catch (error) {
        outer.throwIfAborted();
        // Whoever asked broke this one off, not we.
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

/** Resolves a host, and hands on its addresses only where every one of them may be connected to. */
function checkedLookup(
  { allowed, resolver }: OutboundPolicy,
  log: Conversation['log'],
  fail: (failure: OutboundFailure) => OutboundFailure,
): LookupFunction {
  const checked = async (host: string) => {
    const addresses = await resolver(host);
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

/** @param what the caller's own words for it: which address a name has inside is not theirs to learn */
function notAllowed(what: string): OutboundFailure {
  return new OutboundFailure(`${what} is not public, and not among the networks that are allowed`);
}

function tooLarge(what: string, bytes: number): OutboundFailure {
  return new OutboundFailure(`${what} larger than ${bytes / MEGABYTE} MB`);
}
