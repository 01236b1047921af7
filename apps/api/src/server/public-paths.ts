import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Request, RequestHandler } from 'express';
import { callerAt, countRequest, type RequestLimits } from '../http/rate-limits/limits.ts';

/** Counts a request without credentials by its address. @throws 429 */
export type CountPublic = (req: IncomingMessage, res: ServerResponse, cost?: number) => Promise<void>;

/** Paths that are counted elsewhere, or not at all: answering `/healthz` costs as little as refusing it. */
const NOT_COUNTED = /^\/(healthz|readyz|v1|trpc|oidc)(\/|$)/;

/** Points of the paths that cost much more to answer than a refusal: the OpenAPI document and the files of the reference. */
const COSTS: [RegExp, number][] = [
  [/^\/openapi\.json$/, 20],
  [/^\/docs\//, 5],
  // These may ask the identity provider.
  [/^\/console\/(sign-in|callback|sign-out)$/, 10],
];

/** Maximum age of the cached readiness answer that callers beyond the limit get, in milliseconds. */
const READINESS_MAX_AGE_MS = 1000;

/** The time between the two events of the stream at `/healthz`, in milliseconds. */
export const HEALTH_STREAM_MS = 1000;

/** @param limits null: no rate limits */
export function publicCounter(limits: RequestLimits | null, addressOf: (req: IncomingMessage) => string): CountPublic {
  return async (req, res, cost = 1) => {
    if (limits) await countRequest(limits.publicPaths, callerAt(addressOf(req)), res, cost);
  };
}

/** Counts requests of public paths, and of paths that do not exist. */
export function countPublicPaths(count: CountPublic): RequestHandler {
  return async (req, res, next) => {
    if (!NOT_COUNTED.test(req.path)) await count(req, res, costOf(req));
    next();
  };
}

/**
 * Answers that the process runs. Who asks for `text/event-stream` gets two events with a pause between them, which show whether a proxy
 * in front passes on streams as they come: `quartermaster doctor` compares the times at which the events arrive.
 */
export function healthHandler(count: CountPublic): RequestHandler {
  return async (req, res) => {
    res.set('Cache-Control', 'no-store');
    if (req.get('accept') !== 'text/event-stream') {
      res.json({ status: 'ok' });
      return;
    }
    await count(req, res);
    // As the streams of the MCP proxy.
    res.set({ 'Content-Type': 'text/event-stream', 'X-Accel-Buffering': 'no' });
    res.write('data: first\n\n');
    await sleep(HEALTH_STREAM_MS);
    res.end('data: second\n\n');
  };
}

/**
 * Answers whether the service is ready. Beyond the rate limit a caller gets the last answer instead of a 429. Otherwise a load
 * balancer that shares its address with an attacker would consider the service dead.
 */
export function readinessHandler(count: CountPublic, isReady: () => Promise<boolean>): RequestHandler {
  let last: { at: number; answer: Promise<boolean> } | undefined;
  return async (req, res) => {
    const isWithin = await count(req, res).then(
      () => true,
      () => false,
    );
    const isRecent = last !== undefined && performance.now() - last.at < READINESS_MAX_AGE_MS;
    if (last === undefined || isWithin || !isRecent) last = { at: performance.now(), answer: isReady() };
    const answers = await last.answer;
    // A proxy that caches answers without Cache-Control would keep sending requests to a service that stops.
    res
      .set('Cache-Control', 'no-store')
      .status(answers ? 200 : 503)
      .json({ status: answers ? 'ready' : 'not ready' });
  };
}

function costOf({ path }: Request): number {
  // Express finds paths in upper case, and with a slash at the end, as well.
  const plain = path.toLowerCase().replace(/(?<=.)\/$/, '');
  return COSTS.find(([pattern]) => pattern.test(plain))?.[1] ?? 1;
}
