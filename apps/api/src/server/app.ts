import { randomUUID } from 'node:crypto';
import { createExpressMiddleware } from '@trpc/server/adapters/express';
import express, { type Express, type Request, type Response } from 'express';
import helmet from 'helmet';
import { sql } from 'kysely';
import { type Config, VERSION } from '../config.ts';
import { ApiError } from '../errors.ts';
import { docsRouter } from '../http/docs.ts';
import { BODY_LIMIT } from '../http/limits.ts';
import { openApiDocument } from '../http/openapi.ts';
import { answerOf } from '../http/problems.ts';
import { restHandler } from '../http/rest.ts';
import { sendAnswer } from '../http/send.ts';
import { keyFailure } from '../idempotency/key-header.ts';
import { otlpReceiver } from '../otlp/receiver.ts';
import type { Identify } from '../rate-limits/identify.ts';
import { appRouter, procedures } from '../router.ts';
import type { Services } from '../services.ts';
import { jwksHandler } from '../signing-keys/jwks-handler.ts';
import type { Context } from '../trpc.ts';
import { noteRefusal, operationOf } from './note-refusal.ts';
import { requestLog } from './request-log.ts';

type AppOptions = {
  services: Services;
  config: Pick<Config, 'trustedProxies' | 'otlpMaxBytes'>;
  /** Whether new requests are welcome: not while shutting down. */
  ready: () => boolean;
  /** Who is calling, counted against their limit. */
  identify: Identify;
  /** The development identity provider, mounted at /oidc. */
  devIdentity: ((req: Request, res: Response) => void) | null;
};

/** A request id that a caller may choose. */
const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;

/** The paths that are there to be read, and nothing else. */
const READABLE = /^\/(healthz|readyz|openapi\.json|\.well-known\/jwks\.json|docs(\/.*)?)?$/;

/** The Express host: every path of the service, in the order in which they are tried. */
export function createApp({ services, config, ready, identify, devIdentity }: AppOptions): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('trust proxy', config.trustedProxies);
  app.set('query parser', false);

  app.use((req, res, next) => {
    const given = req.headers['x-request-id'];
    res.setHeader('X-Request-Id', typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID());
    next();
  });
  app.use(requestLog(services));
  if (devIdentity) app.use('/oidc', devIdentity);
  app.use(
    helmet({
      frameguard: { action: 'deny' },
      contentSecurityPolicy: { directives: CONTENT_SECURITY_POLICY, useDefaults: false },
    }),
  );

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
  app.get('/readyz', async (_req, res) => {
    const answers = ready() && (await databaseAnswers(services));
    res.status(answers ? 200 : 503).json({ status: answers ? 'ready' : 'not ready' });
  });
  app.get('/.well-known/jwks.json', jwksHandler(services));
  const document = JSON.stringify(openApiDocument({ procedures, version: VERSION, serverUrl: services.publicUrl }));
  app.get('/openapi.json', (_req, res) => {
    res.type('json').send(document);
  });
  app.use('/docs', docsRouter({ openApiPath: '/openapi.json' }));
  app.use('/trpc', (req, _res, next) => {
    // tRPC would answer HEAD with 204, to anyone.
    if (req.method === 'GET' || req.method === 'POST') next();
    else throw new ApiError('method_not_allowed', 'tRPC takes GET and POST.', { headers: { Allow: 'GET, POST' } });
  });
  app.use('/trpc', (req, _res, next) => {
    // What looks protected must be.
    if (req.headers['idempotency-key'] === undefined) next();
    else throw keyFailure('keys are for REST: tRPC takes none');
  });
  app.use('/trpc', trpcHandler(services, identify));
  app.use(v1Handler(services, identify, config));

  app.use((req, res) => {
    sendAnswer(req, res, answerOf(new ApiError('route_not_found', 'There is nothing at this path.'), requestIdOf(res)));
  });
  app.use((error: unknown, req: Request, res: Response, _next: unknown) => {
    const answer = answerOf(error, requestIdOf(res));
    if (answer.unexpected) services.log.error({ err: error, requestId: requestIdOf(res) }, 'request failed');
    sendAnswer(req, res, answer);
  });
  return app;
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

function v1Handler(services: Services, identify: Identify, config: AppOptions['config']) {
  const receive = otlpReceiver({ services, identify, maxBytes: config.otlpMaxBytes });
  return restHandler({
    procedures,
    identify,
    createContext: (req, _res, principal, requestId) => contextOf(services, req, { principal, requestId }),
    requestId: requestIdOf,
    otlp: async (req, res, operation) => {
      const requestId = requestIdOf(res);
      await receive(req, res, {
        operation,
        requestId,
        onRefused: (error, answer, principal) => {
          noteRefusal(services, { error, answer, info: { operation, principal, requestId } });
        },
      });
    },
    onRefused: (error, answer, info) => noteRefusal(services, { error, answer, info }),
  });
}

/** The same procedures for typed callers. One call a request: batches would get round limits and the audit. */
function trpcHandler(services: Services, identify: Identify) {
  return createExpressMiddleware({
    router: appRouter,
    allowBatching: false,
    maxBodySize: BODY_LIMIT,
    createContext: async ({ req, res, info }): Promise<Context> => {
      const operation = operationOf(info.calls[0]?.path);
      res.locals.operationId = operation?.operationId;
      const requestId = requestIdOf(res);
      try {
        const principal = await identify(req, res, { operation, requestId });
        return contextOf(services, req, { principal, requestId });
      } catch (refused) {
        // Thrown here, it would be answered without the request's id.
        return { ...contextOf(services, req, { principal: null, requestId }), refused };
      }
    },
    responseMeta: ({ errors, ctx }) => {
      const [error] = errors;
      return error ? { headers: answerOf(error, ctx?.requestId ?? '').headers } : {};
    },
    onError: ({ error, path, ctx }) => {
      const requestId = ctx?.requestId ?? '';
      const info = { operation: operationOf(path), principal: ctx?.principal ?? null, requestId };
      noteRefusal(services, { error, answer: answerOf(error, requestId), info });
    },
  });
}

function contextOf(
  services: Services,
  req: Request,
  { principal, requestId }: Pick<Context, 'principal' | 'requestId'>,
): Context {
  return { services, requestId, principal, address: req.ip ?? '', ifMatch: req.headers['if-match'] };
}

function requestIdOf(res: Response): string {
  return String(res.getHeader('X-Request-Id'));
}

async function databaseAnswers({ db }: Services): Promise<boolean> {
  try {
    // A read by its form, so that it does not wait for those who write.
    await db.selectNoFrom(sql<number>`1`.as('one')).execute();
    return true;
  } catch {
    return false;
  }
}
