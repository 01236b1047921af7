import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Request, RequestHandler } from 'express';
import { callerAt, countRequest, type RequestLimits } from '../rate-limits/limits.ts';

/** Counts a request that names nobody by its address. @throws 429 */
export type CountPublic = (req: IncomingMessage, res: ServerResponse, cost?: number) => Promise<void>;

/** What is counted elsewhere, or not at all: `/healthz` costs as little as a refusal would. */
const OTHERS = /^\/(healthz|readyz|v1|trpc|oidc)(\/|$)/;

/** Points of what takes much more to answer than a refusal: the document, and the files of the reference. */
const COSTS: [RegExp, number][] = [
  [/^\/openapi\.json$/, 20],
  [/^\/docs\//, 5],
];

/** A readiness answer beyond the limit is at most this old, in milliseconds. */
const READINESS_MAX_AGE_MS = 1000;

/** @param limits null: nothing is counted */
export function publicCounter(limits: RequestLimits | null, addressOf: (req: IncomingMessage) => string): CountPublic {
  return async (req, res, cost = 1) => {
    if (limits) await countRequest(limits.publicPaths, callerAt(addressOf(req)), res, cost);
  };
}

/** Counts requests of public paths, and of those where there is nothing. */
export function countPublicPaths(count: CountPublic): RequestHandler {
  return async (req, res, next) => {
    if (!OTHERS.test(req.path)) await count(req, res, costOf(req));
    next();
  };
}

/**
 * Says whether the service is ready to serve. Beyond its limit a caller gets the last answer instead of a 429: a load balancer
 * that has the same address as a flood must not take the service for dead.
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
    res.status(answers ? 200 : 503).json({ status: answers ? 'ready' : 'not ready' });
  };
}

function costOf({ path }: Request): number {
  return COSTS.find(([pattern]) => pattern.test(path))?.[1] ?? 1;
}
