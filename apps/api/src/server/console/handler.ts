import { randomBytes } from 'node:crypto';
import express, { type Request, type RequestHandler, type Response, type Router } from 'express';
import { acceptedCoding } from '../../http/rest/accepted-coding.ts';
import { ApiError } from '../../platform/errors.ts';
import type { Console, ConsoleState } from './build.ts';
import type { ConsoleFiles } from './files.ts';

/** The placeholder in the built page that each response replaces by its nonce. */
const NONCE_PLACEHOLDER = '__CSP_NONCE__';

/** One year, because the name of an asset changes with its content. */
const CACHE_FOREVER = 'public, max-age=31536000, immutable';

/** How soon the page that is shown during a build reloads, in seconds. */
const RETRY_SECONDS = 2;

/**
 * Serves the built console. Every path that is not an asset answers the page, because the console has client-side routing.
 * Mount it at `/console`, after the other routes below that path.
 *
 * @param basePath the path of the public URL, which is in front of `/console` for browsers
 */
export function consoleRouter(console: Console, basePath: string): Router {
  const router = express.Router({ strict: true });
  router.get('/', (req, res, next) => {
    // Without the trailing slash, relative URLs in the page would be wrong.
    const [path = '', search] = req.originalUrl.split('?');
    if (path.endsWith('/')) next();
    else res.redirect(302, `${basePath}${req.baseUrl}/${search === undefined ? '' : `?${search}`}`);
  });
  // Not `/{*path}`: Express would decode the path, and fail for one that is not valid percent-encoding.
  router.get(/^/, servePath(console, basePath));
  return router;
}

function servePath(console: Console, basePath: string): RequestHandler {
  return async (req, res) => {
    const state = await console.state();
    const path = req.path.slice(1);
    const isAsset = path.startsWith('assets/') || path === 'favicon.svg';
    if (isAsset && state.status === 'ready') sendAsset(req, res, state.files, path);
    else if (isAsset) throw new ApiError('route_not_found', 'There is no such asset.');
    else sendPage(res, state, basePath);
  };
}

function sendAsset(req: Request, res: Response, { assets }: ConsoleFiles, path: string): void {
  const file = assets.get(path);
  // Never answer the page here: a browser with an old page would run it as a script.
  if (file === undefined) throw new ApiError('route_not_found', 'There is no such asset.');
  const coding = acceptedCoding(req, [...file.variants.keys()]);
  res.set({ 'Content-Type': file.contentType, 'Cache-Control': CACHE_FOREVER, Vary: 'Accept-Encoding' });
  if (coding !== 'identity') res.set('Content-Encoding', coding);
  res.send(file.variants.get(coding));
}

function sendPage(res: Response, state: ConsoleState, basePath: string): void {
  const nonce = randomBytes(18).toString('base64');
  res.set({ 'Content-Security-Policy': contentSecurityPolicy(nonce), 'Cache-Control': 'no-store' });
  if (state.status === 'ready') {
    const page = state.files.page.replaceAll('"/console/', `"${basePath}/console/`);
    res.type('html').send(page.replaceAll(NONCE_PLACEHOLDER, nonce));
  } else if (state.status === 'building') {
    res.status(503).set('Retry-After', String(RETRY_SECONDS)).type('html').send(waitingPage({ nonce, basePath }));
  } else {
    res.status(503).type('html').send(messagePage({ nonce, basePath }, state.reason));
  }
}

/**
 * Only scripts of this origin are allowed. Libraries of the page may inject styles with the nonce. `style` attributes in markup
 * are refused, but scripts may set styles through the DOM.
 */
function contentSecurityPolicy(nonce: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "style-src-attr 'none'",
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; ');
}

function waitingPage(inserted: Inserted): string {
  const text = 'The console is being built. This takes a few seconds, the first time up to a minute.';
  return messagePage(inserted, text, `<meta http-equiv="refresh" content="${RETRY_SECONDS}">`);
}

type Inserted = { nonce: string; basePath: string };

/** @param text without markup */
function messagePage({ nonce, basePath }: Inserted, text: string, head = ''): string {
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    ${head}
    <title>Quartermaster</title>
    <style nonce="${nonce}">
      :root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
      body { display: grid; place-items: center; min-height: 90vh; margin: 0; }
      main { max-width: 32rem; padding: 1rem; }
    </style>
  </head>
  <body>
    <main>
      <h1>Quartermaster</h1>
      <p>${text}</p>
      <p>The API is already serving requests. Its reference is at <a href="${basePath}/docs">${basePath}/docs</a>.</p>
    </main>
  </body>
</html>
`;
}
