import { readFile } from 'node:fs/promises';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { runOnReservedConnection } from '@quartermaster/db/tenant-context.ts';
import express, { type Express, type Request, type Response, type Router } from 'express';
import helmet from 'helmet';
import { sql } from 'kysely';
import type { Config } from '../config.ts';
import { basePathOf, withoutBasePath } from '../platform/base-path.ts';
import { ApiError } from '../platform/errors.ts';
import { docsRouter } from '../http/openapi/docs.ts';
import { fixedAnswer } from '../http/rest/fixed-answer.ts';
import { serviceDocument } from './document.ts';
import { answerOf } from '../http/errors/problems.ts';
import { type RestOptions, restHandler, targetOf } from '../http/rest/rest.ts';
import { trpcHandler } from '../http/trpc-handler.ts';
import { callerRequestIdOf, nameRequest, requestIdOf, setRequestId, shownRequestIdOf } from '../platform/request-id.ts';
import { sendAnswer } from '../http/messages/send.ts';
import type { Intake } from '../telemetry/ingest/intake.ts';
import { otlpReceiver } from '../telemetry/ingest/receiver.ts';
import type { Pipeline } from '../http/pipeline.ts';
import { UnreadAnswers } from '../http/unread-answers.ts';
import type { TrustedIssuer } from '../auth/trusted-issuer.ts';
import { createCallers } from '../http/rate-limits/callers.ts';
import type { KnownCredentials } from '../http/rate-limits/known-credentials.ts';
import type { RequestLimits } from '../http/rate-limits/limits.ts';
import { appRouter } from './router.ts';
import type { Services } from '../platform/services.ts';
import type { Decisions } from '../resources/gateway-decisions/decide.ts';
import { authzenMetadata } from '../resources/gateway-decisions/authzen.ts';
import { dialectPathOf } from '../resources/gateway-decisions/dialect-paths.ts';
import { dialectReceiver } from '../resources/gateway-decisions/dialect-receiver.ts';
import { decisionPathOf } from '../resources/gateway-decisions/paths.ts';
import { decisionReceiver } from '../resources/gateway-decisions/receiver.ts';
import { mcpProxy } from '../resources/mcp-proxy/proxy.ts';
import { jwksHandler } from '../resources/signing-keys/jwks-handler.ts';
import type { Console } from './console/build.ts';
import { consoleRouter } from './console/handler.ts';
import { clientAddress, type Trust } from './client-address.ts';
import { logFailure, noteRefusal } from './note-refusal.ts';
import { type CountPublic, countPublicPaths, healthHandler, publicCounter, readinessHandler } from './public-paths.ts';
import { callerIdFields } from '../http/log-fields.ts';
import { noteCaller, noteDecision, noteOperation, noteWait, requestLog } from './request-log.ts';

type AppOptions = {
  services: Services;
  trustedIssuer: TrustedIssuer;
  config: Pick<Config, 'trustedProxies' | 'tracesOrigins'>;
  /** Receives telemetry, over HTTP and over gRPC. */
  intake: Intake;
  decisions: Decisions;
  /** Whether the service takes new requests. False while it shuts down. */
  ready: () => boolean;
  /** Null: requests are not limited. */
  limits: RequestLimits | null;
  known: KnownCredentials;
  /** The development identity provider, mounted at /oidc. */
  devIdentity: ((req: Request, res: Response) => void) | null;
  /** The web console at /console/. Null: there is none. */
  builtConsole: Console | null;
  /** Sign-in and sign-out of browsers, mounted at /console. */
  consoleSignIn: Router;
  /** Sample data by a click, mounted at /console. */
  sampleData: Router;
  /** Whether every answer is checked against its contract. Only for tests, because it takes as long as making the answer. */
  checkAnswers: boolean;
};

/** Paths that support only GET and HEAD. */
const READ_ONLY_PATH =
  /^\/(healthz|readyz|favicon\.ico|openapi\.json|\.well-known\/(jwks\.json|authzen-configuration\/.*)|(docs|console)(\/.*)?)?$/;

/** The metadata of a gateway as a policy decision point, or of one of its providers there. */
const AUTHZEN_CONFIGURATION = /^\/\.well-known\/authzen-configuration(\/v1\/gateways\/[^/]+(?:\/providers\/[^/]+)?)$/;

/**
 * Serves every path of the service, in the order in which they are tried. Decisions come before Express, which takes as long as a
 * decision. REST is Express's first layer, because each further one would slow down every request below /v1.
 */
export function createApp(options: AppOptions): RequestListener {
  const { services, trustedIssuer, limits, config } = options;
  const secure = securityHeaders();
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('query parser', false);
  app.set('trust proxy', options.config.trustedProxies);
  const trust = app.get('trust proxy fn') as Trust;
  const addressOf = (req: IncomingMessage) => clientAddress(req, trust);
  const log = requestLog(services, addressOf);
  const countPublic = publicCounter(limits, addressOf);
  const callers = createCallers({ ...services, ...trustedIssuer }, limits, addressOf, options.known);
  const pipeline: Pipeline = {
    services,
    callers: {
      ...callers,
      async authenticate(req, res, asked) {
        const principal = await callers.authenticate(req, res, asked);
        noteCaller(res, principal);
        return principal;
      },
      async limitRate(req, res, counted) {
        const start = performance.now();
        await callers.limitRate(req, res, counted);
        noteWait(res, performance.now() - start);
      },
    },
    unread: new UnreadAnswers(),
    addressOf,
    countUnmatched: countPublic,
    onMatched: (res, { operationId }) => noteOperation(res, operationId),
    onTurn: noteWait,
    checkAnswers: options.checkAnswers,
  };
  const onRefused: RestOptions['onRefused'] = (error, answer, info) => noteRefusal(services, { error, answer, info });
  const otlp = otlpHandler(options, { pipeline, onRefused });
  const decide = decisionHandler(options, pipeline, secure);
  const { tracesOrigins } = config;
  app.use(restHandler({ router: appRouter, pipeline, headers: secure, otlp, onRefused, tracesOrigins }));
  mountPaths(app, options, { pipeline, countPublic, onRefused });
  app.use((req, res) => {
    sendAnswer(
      req,
      res,
      answerOf(new ApiError('route_not_found', 'There is nothing at this path.'), shownRequestIdOf(res)),
    );
  });
  const fail = (error: unknown, req: IncomingMessage, res: ServerResponse) => {
    const answer = answerOf(error, shownRequestIdOf(res));
    logFailure(services, { error, answer, ids: { requestId: requestIdOf(res), ...callerIdFields(req) } });
    sendAnswer(req, res, answer);
  };
  app.use((error: unknown, req: Request, res: Response, _next: unknown) => fail(error, req, res));
  const basePath = basePathOf(services.publicUrl);
  return (req, res) => {
    nameRequest(req, res);
    req.url = withoutBasePath(basePath, req.url ?? '');
    log(req, res);
    const decided = isTarget(req.url) ? decide(req, res) : null;
    if (decided !== null) {
      decided.catch((error: unknown) => fail(error, req, res));
      return;
    }
    res.setHeader('X-Request-Id', shownRequestIdOf(res));
    if (!isTarget(req.url)) {
      for (const [name, value] of secure) res.setHeader(name, value);
      void refuseTarget(req, res, countPublic);
      return;
    }
    shareMethods(app, req, res);
    app(req, res);
  };
}

/**
 * Express gives each request and response the prototype `app.request` or `app.response`. This adds Express's methods to the classes
 * of the server and makes Express use those. So their own methods stay, which close connections, and no prototype is replaced: V8
 * would no longer know the shape of the object, and each later call on it would be slower.
 */
function shareMethods(app: Express, req: IncomingMessage, res: ServerResponse): void {
  if (app.response === Object.getPrototypeOf(res)) return;
  app.request = extended(req, express.request, app.request);
  app.response = extended(res, express.response, app.response);
}

/** The prototype of an object of the server, with further methods. */
function extended<Methods extends object>(instance: object, methods: object, own: Methods): Methods {
  return Object.defineProperties(Object.getPrototypeOf(instance), {
    ...Object.getOwnPropertyDescriptors(methods),
    ...Object.getOwnPropertyDescriptors(own),
  });
}

/** Whether the target of a request is a path, an absolute URL or `*` (RFC 9112, section 3.2). */
function isTarget(target = ''): boolean {
  return target.startsWith('/') || target === '*' || URL.parse(target)?.pathname.startsWith('/') === true;
}

/** Express would skip the rate limit, the security headers and the form of our errors for a target that it cannot parse. */
async function refuseTarget(req: IncomingMessage, res: ServerResponse, countPublic: CountPublic): Promise<void> {
  const malformed = new ApiError('request_malformed', 'The target of the request is not a URL.');
  const refusal = await countPublic(req, res).then(
    () => malformed,
    (error: unknown) => error,
  );
  sendAnswer(req, res, answerOf(refusal, shownRequestIdOf(res)));
}

/** Refuses the requests that arrived during a start that failed. */
export function whileStartFails(): RequestListener {
  const secure = securityHeaders();
  return (req, res) => {
    setRequestId(req, res);
    for (const [name, value] of secure) res.setHeader(name, value);
    const failed = new ApiError('service_unavailable', 'The service cannot start. Its log has the reason.');
    sendAnswer(req, res, answerOf(failed, shownRequestIdOf(res)));
  };
}

type Shared = { pipeline: Pipeline; onRefused: RestOptions['onRefused'] };

function mountPaths(
  app: Express,
  { services, ready, devIdentity, builtConsole, consoleSignIn, sampleData }: AppOptions,
  { pipeline, countPublic, onRefused }: Shared & { countPublic: CountPublic },
): void {
  if (devIdentity) app.use('/oidc', devIdentity);
  app.use(securityMiddleware());
  app.use(countPublicPaths(countPublic));

  app.use('/console', consoleSignIn, sampleData);

  app.use((req, _res, next) => {
    if (req.method === 'GET' || req.method === 'HEAD' || !READ_ONLY_PATH.test(req.path)) next();
    else
      throw new ApiError('method_not_allowed', 'This path supports only GET, HEAD.', {
        headers: { Allow: 'GET, HEAD' },
      });
  });

  const basePath = basePathOf(services.publicUrl);
  // Compared as text, because Express also matches `//` here.
  const home = basePath + (builtConsole === null ? '/docs' : '/console/');
  app.get('/', (req, res, next) => (req.path === '/' ? res.redirect(home) : next()));
  app.get('/healthz', healthHandler(countPublic));
  app.get(
    '/readyz',
    readinessHandler(countPublic, async () => ready() && databaseAnswers(services)),
  );
  app.get('/favicon.ico', ICON);
  app.get('/.well-known/jwks.json', jwksHandler(services));
  // For any id, so that the answer says nothing about which gateways exist.
  app.get(AUTHZEN_CONFIGURATION, (req, res) => {
    const path = AUTHZEN_CONFIGURATION.exec(req.path)?.[1] ?? '';
    res.set('Cache-Control', 'public, max-age=300').json(authzenMetadata(services.publicUrl, path));
  });
  app.get('/openapi.json', documentHandler(services.publicUrl));
  app.use('/docs', docsRouter({ openApiPath: `${basePath}/openapi.json` }));
  if (builtConsole) app.use('/console', consoleRouter(builtConsole, basePath));
  app.use('/trpc', trpcHandler({ router: appRouter, pipeline, onRefused }));
}

/** Browsers ask for it with every page that names no icon: the sign-in pages of /oidc, and answers of the API. */
const ICON = fixedAnswer({
  contentType: 'image/x-icon',
  read: () => readFile(join(import.meta.dirname, 'favicon.ico')),
  cacheControl: 'public, max-age=86400',
  compress: false,
});

/** After this time without a request for it the OpenAPI document is built, in milliseconds. */
const DOCUMENT_AFTER_MS = 5000;

/**
 * The document is not built at start, because it would dominate start-up time. It is built soon after it, because building it
 * occupies the event loop for a tenth of a second, and its first request may come at a busy time.
 */
function documentHandler(serverUrl: string) {
  return fixedAnswer({
    contentType: 'application/json; charset=utf-8',
    read: () => Buffer.from(JSON.stringify({ ...ownDocument(), servers: [{ url: serverUrl }] })),
    madeAfterMs: DOCUMENT_AFTER_MS,
    cacheControl: 'no-cache',
    compress: true,
  });
}

/** The document of this version, which servers in one process share. Only its `servers` differ. */
function ownDocument(): object {
  builtDocument ??= serviceDocument('');
  return builtDocument;
}

let builtDocument: object | undefined;

/** For the reference page, which needs its own scripts, inline styles, and Swagger UI's icons (`data:`). */
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

/** The headers that the middleware sets, for answers that do not pass through it. */
function securityHeaders(): [string, string][] {
  const headers: [string, string][] = [];
  const response = {
    setHeader: (name: string, value: string) => headers.push([name, value]),
    removeHeader: () => {},
  };
  securityMiddleware()({} as IncomingMessage, response as unknown as ServerResponse, () => {});
  return headers;
}

function otlpHandler({ intake }: AppOptions, { pipeline, onRefused }: Shared): RestOptions['otlp'] {
  const receive = otlpReceiver({ intake, callers: pipeline.callers });
  return async (req, res, operation) => {
    const requestId = requestIdOf(res);
    await receive(req, res, {
      operation,
      requestId,
      onTurn: (waitedMs) => noteWait(res, waitedMs),
      onRefused: (error, answer, principal) =>
        onRefused(error, answer, { operation, principal, requestId, callerRequestId: callerRequestIdOf(req) }),
    });
  };
}

/** Answers decisions, including their errors. Returns null for a path that asks for none. */
function decisionHandler({ services, decisions, limits }: AppOptions, pipeline: Pipeline, secure: [string, string][]) {
  const { callers, countUnmatched } = pipeline;
  const onRefused: Parameters<typeof dialectReceiver>[0]['onRefused'] = (error, answer, info) =>
    noteRefusal(services, { error, answer, info: { ...info, callerRequestId: null } });
  const headers = [['Cache-Control', 'no-store'], ...secure].flat();
  const shared = { services, decisions, limit: limits?.decisions ?? null, countUnmatched, headers };
  const receive = decisionReceiver({
    ...shared,
    proxyMcp: mcpProxy({ services, decisions }),
    onRefused: (error, answer, info) => onRefused(error, answer, { ...info, principal: null }),
  });
  const receiveDialect = dialectReceiver({ ...shared, callers, onRefused });
  return (req: IncomingMessage, res: ServerResponse): Promise<void> | null => {
    const { pathname } = targetOf(req);
    // Most requests ask for no decision.
    if (!pathname.startsWith('/v1/gateways/')) return null;
    const path = decisionPathOf(pathname, req.method);
    const dialect = path === null ? dialectPathOf(pathname) : null;
    const operation = (path ?? dialect)?.operation;
    if (operation === undefined) return null;
    pipeline.onMatched(res, operation);
    noteDecision(res);
    return path === null ? dialect && receiveDialect(req, res, dialect) : receive(req, res, path);
  };
}

async function databaseAnswers({ db }: Pick<Services, 'db'>): Promise<boolean> {
  try {
    // A query that only reads does not wait for writers, and a reserved connection does not wait for other queries.
    await runOnReservedConnection(() => db.selectNoFrom(sql<number>`1`.as('one')).execute());
    return true;
  } catch {
    return false;
  }
}
