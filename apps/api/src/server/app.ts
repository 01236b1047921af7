import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { runOnReservedConnection } from '@quartermaster/db/tenant-context.ts';
import { createExpressMiddleware } from '@trpc/server/adapters/express';
import express, { type Express, type Request, type Response } from 'express';
import helmet from 'helmet';
import { sql } from 'kysely';
import { type Config, VERSION } from '../config.ts';
import { ApiError } from '../errors.ts';
import { docsRouter } from '../http/docs.ts';
import { fixedAnswer } from '../http/fixed-answer.ts';
import { openApiDocument } from '../http/openapi.ts';
import { answerOf } from '../http/problems.ts';
import { restHandler } from '../http/rest.ts';
import { callerRequestIdOf, requestIdOf, setRequestId, shownRequestIdOf } from '../http/request-id.ts';
import { sendAnswer } from '../http/send.ts';
import type { Intake } from '../telemetry/ingest/intake.ts';
import { otlpReceiver } from '../telemetry/ingest/receiver.ts';
import type { Preconditions } from '../preconditions/require-match.ts';
import { inFairTurn } from '../rate-limits/fair-turns.ts';
import { createIdentify, type Identify } from '../rate-limits/identify.ts';
import type { RequestLimits } from '../rate-limits/limits.ts';
import { appRouter, procedures } from '../router.ts';
import type { Services } from '../services.ts';
import { jwksHandler } from '../signing-keys/jwks-handler.ts';
import { type Context, shownId } from '../trpc.ts';
import { clientAddress, type Trust } from './client-address.ts';
import { noteRefusal, operationOf } from './note-refusal.ts';
import { type CountPublic, countPublicPaths, publicCounter, readinessHandler } from './public-paths.ts';
import { loggedCallerId, noteOperation, requestLog } from './request-log.ts';
import { trpcCaller, trpcCallerOf, refuseNoCalls } from './trpc-caller.ts';

type AppOptions = {
  services: Services;
  config: Pick<Config, 'trustedProxies'>;
  /** Where telemetry goes to, whichever protocol it comes in by. */
  intake: Intake;
  /** Whether new requests are welcome: not while shutting down. */
  ready: () => boolean;
  /** Null: nothing is limited. */
  limits: RequestLimits | null;
  /** The development identity provider, mounted at /oidc. */
  devIdentity: ((req: Request, res: Response) => void) | null;
  /** Whether every answer is held against its contract, which costs as much as making it. */
  checkAnswers: boolean;
};

/** The paths that are there to be read, and nothing else. */
const READABLE = /^\/(healthz|readyz|openapi\.json|\.well-known\/jwks\.json|docs(\/.*)?)?$/;

/**
 * The host: every path of the service, in the order in which they are tried. What is below /v1 is served ahead of
 * Express, whose way through its layers costs more than the request; its id, log line and security headers are the same.
 */
export function createApp(options: AppOptions): RequestListener {
  const { services, limits } = options;
  const log = requestLog(services);
  const secure = securityHeaders();
  const app = express();
  app.set('trust proxy', options.config.trustedProxies);
  const trust = app.get('trust proxy fn') as Trust;
  const addressOf = (req: IncomingMessage) => clientAddress(req, trust);
  const identify = createIdentify(services, limits, addressOf);
  const countPublic = publicCounter(limits, addressOf);
  mountPaths(app, options, { identify, countPublic });
  const v1 = v1Handler(options, { identify, addressOf, countPublic });
  // Only what has no path of its own in Express: /v1 alone, and targets in absolute form.
  app.use((req, res, next) => void v1(req, res, next));
  app.use((req, res) => {
    sendAnswer(
      req,
      res,
      answerOf(new ApiError('route_not_found', 'There is nothing at this path.'), shownRequestIdOf(res)),
    );
  });
  app.use((error: unknown, req: Request, res: Response, _next: unknown) => {
    const answer = answerOf(error, shownRequestIdOf(res));
    if (answer.unexpected) {
      const requestId = requestIdOf(res);
      services.log.error({ err: error, requestId, ...loggedCallerId(req) }, 'request failed');
    }
    sendAnswer(req, res, answer);
  });
  return (req, res) => {
    setRequestId(req, res);
    log(req, res);
    if (req.url?.startsWith('/v1/') !== true) {
      // Express gives answers another class: what theirs does when connections end stays with them.
      res.writeHead = res.writeHead.bind(res);
      app(req, res);
      return;
    }
    for (const [name, value] of secure) res.setHeader(name, value);
    void v1(req, res, () => app(req, res));
  };
}

/** What is answered where the service listens and is not ready to serve. */
export function whileStarting(): RequestListener {
  const secure = securityHeaders();
  return (req, res) => {
    setRequestId(req, res);
    for (const [name, value] of secure) res.setHeader(name, value);
    const starting = new ApiError('service_unavailable', 'The service is starting. Try again in a moment.');
    sendAnswer(req, res, answerOf(starting, shownRequestIdOf(res)));
  };
}

function mountPaths(
  app: Express,
  { services, ready, devIdentity }: AppOptions,
  { identify, countPublic }: Pick<Callers, 'identify' | 'countPublic'>,
): void {
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('query parser', false);

  if (devIdentity) app.use('/oidc', devIdentity);
  app.use(securityMiddleware());
  app.use(countPublicPaths(countPublic));

  app.use((req, _res, next) => {
    if (req.method === 'GET' || req.method === 'HEAD' || !READABLE.test(req.path)) next();
    else throw new ApiError('method_not_allowed', 'This path takes GET, HEAD.', { headers: { Allow: 'GET, HEAD' } });
  });

  // Whoever opens the address in a browser wants to read.
  // By its own text: Express takes `//` for it, too.
  app.get('/', (req, res, next) => (req.path === '/' ? res.redirect('/docs') : next()));
  app.get('/healthz', (_req, res) => {
    res.json({ status: 'ok' });
  });
  app.get(
    '/readyz',
    readinessHandler(countPublic, async () => ready() && databaseAnswers(services)),
  );
  app.get('/.well-known/jwks.json', jwksHandler(services));
  app.get('/openapi.json', documentHandler(services.publicUrl));
  app.use('/docs', docsRouter({ openApiPath: '/openapi.json' }));
  app.use('/trpc', refuseNoCalls(countPublic), trpcCaller(identify, requestIdOf), trpcHandler(services));
}

/** The document is built on the first request, because it dominates start-up time. */
function documentHandler(serverUrl: string) {
  return fixedAnswer({
    contentType: 'application/json; charset=utf-8',
    read: () => Buffer.from(JSON.stringify(openApiDocument({ procedures, version: VERSION, serverUrl }))),
    cacheControl: 'no-cache',
    compress: true,
  });
}

/** The reference page needs its own scripts and styles, and Swagger UI's icons; everything else needs nothing. */
const CONTENT_SECURITY_POLICY = {
  'default-src': ["'self'"],
  'img-src': ["'self'", 'data:'],
  'style-src': ["'self'", "'unsafe-inline'"],
  'frame-ancestors': ["'none'"],
  'base-uri': ["'none'"],
  'form-action': ["'none'"],
  'object-src': ["'none'"],
};

function securityMiddleware() {
  return helmet({
    frameguard: { action: 'deny' },
    contentSecurityPolicy: { directives: CONTENT_SECURITY_POLICY, useDefaults: false },
  });
}

/** What the middleware sets: the same for every answer. */
function securityHeaders(): [string, string][] {
  const headers: [string, string][] = [];
  const response = {
    setHeader: (name: string, value: string) => headers.push([name, value]),
    removeHeader: () => {},
  };
  securityMiddleware()({} as IncomingMessage, response as unknown as ServerResponse, () => {});
  return headers;
}

type Callers = { identify: Identify; addressOf: (req: IncomingMessage) => string; countPublic: CountPublic };

function v1Handler({ services, intake, checkAnswers }: AppOptions, { identify, addressOf, countPublic }: Callers) {
  const receive = otlpReceiver({ intake, identify });
  return restHandler({
    procedures,
    checkAnswers,
    identify,
    createContext: (req, _res, principal, requestId) => ({
      ...{ services, requestId, principal },
      callerRequestId: callerRequestIdOf(req),
      address: addressOf(req),
      ...preconditionsOf(req),
    }),
    inTurn: inFairTurn,
    requestId: requestIdOf,
    countUnmatched: countPublic,
    onMatched: (res, { operationId }) => noteOperation(res, operationId),
    otlp: async (req, res, operation) => {
      const requestId = requestIdOf(res);
      await receive(req, res, {
        operation,
        requestId,
        onRefused: (error, answer, principal) => {
          const info = { operation, principal, requestId, callerRequestId: callerRequestIdOf(req) };
          noteRefusal(services, { error, answer, info });
        },
      });
    },
    onRefused: (error, answer, info) => noteRefusal(services, { error, answer, info }),
  });
}

/** The same procedures for typed callers. One call a request: batches would get round limits and the audit. */
function trpcHandler(services: Services) {
  return createExpressMiddleware({
    router: appRouter,
    allowBatching: false,
    createContext: async ({ req, res, info }): Promise<Context> => {
      const operation = operationOf(info.calls[0]?.path);
      noteOperation(res, operation?.operationId);
      return { ...contextOf(services, req, requestIdOf(res)), ...trpcCallerOf(res), waitsForTurn: true };
    },
    responseMeta: ({ errors, ctx }) => {
      const [error] = errors;
      return error ? { headers: answerOf(error, shownId(ctx)).headers } : {};
    },
    onError: ({ error, path, ctx }) => {
      const { principal = null, requestId = '', callerRequestId = null } = ctx ?? {};
      const info = { operation: operationOf(path), principal, requestId, callerRequestId };
      noteRefusal(services, { error, answer: answerOf(error, shownId(ctx)), info });
    },
  });
}

function contextOf(services: Services, req: Request, requestId: string): Omit<Context, 'principal'> {
  const callerRequestId = callerRequestIdOf(req);
  return { services, requestId, callerRequestId, address: req.ip ?? '', ...preconditionsOf(req) };
}

function preconditionsOf({ headers }: IncomingMessage): Preconditions {
  return { ifMatch: headers['if-match'], ifNoneMatch: headers['if-none-match'] };
}

async function databaseAnswers({ db }: Services): Promise<boolean> {
  try {
    // A read by its form, so that it does not wait for those who write; nor for those who hold all connections.
    await runOnReservedConnection(() => db.selectNoFrom(sql<number>`1`.as('one')).execute());
    return true;
  } catch {
    return false;
  }
}
