import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import express, { type Router } from 'express';
import { installation } from '../../installation.ts';
import { fixedAnswer } from '../rest/fixed-answer.ts';

/** The files of Swagger UI that are served. No other file of the package is reachable. */
const ASSETS = {
  'swagger-ui.css': { contentType: 'text/css; charset=utf-8', compress: true },
  'swagger-ui-bundle.js': { contentType: 'text/javascript; charset=utf-8', compress: true },
  'favicon-32x32.png': { contentType: 'image/png', compress: false },
};

/**
 * The interactive API reference: Swagger UI from the installed package. It loads nothing from other hosts and has no
 * inline script, so it works under `default-src 'self'`.
 *
 * Mount it at a separate path such as `/docs`.
 */
export function docsRouter({ openApiPath }: { openApiPath: string }): Router {
  const folder = installation.folderOf('swagger-ui-dist');
  const router = express.Router({ strict: true });
  router.get('/', (req, res) => {
    // Relative URLs of the page resolve only if its own URL ends with a slash. The redirect is relative, because a proxy may have
    // removed a prefix of the path.
    const [path = '', search] = req.originalUrl.split('?');
    if (path.endsWith('/')) res.type('html').send(PAGE);
    else res.redirect(301, `${req.baseUrl.slice(1)}/${search === undefined ? '' : `?${search}`}`);
  });
  router.get('/init.js', (_req, res) => {
    res.type('text/javascript').send(initScript(openApiPath));
  });
  for (const [name, { contentType, compress }] of Object.entries(ASSETS)) {
    const read = () => readFile(join(folder, name));
    router.get(`/${name}`, fixedAnswer({ contentType, read, cacheControl: 'public, max-age=86400', compress }));
  }
  return router;
}

const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Quartermaster API</title>
    <link rel="stylesheet" href="swagger-ui.css">
    <link rel="icon" type="image/png" href="favicon-32x32.png">
  </head>
  <body>
    <div id="reference"></div>
    <script src="swagger-ui-bundle.js"></script>
    <script src="init.js"></script>
  </body>
</html>
`;

/** `validatorUrl: null` keeps Swagger UI from sending the document to a validator on another host. */
function initScript(openApiPath: string): string {
  const settings = {
    url: openApiPath,
    dom_id: '#reference',
    deepLinking: true,
    validatorUrl: null,
    persistAuthorization: false,
    tryItOutEnabled: true,
  };
  return `SwaggerUIBundle(${JSON.stringify(settings)});\n`;
}
