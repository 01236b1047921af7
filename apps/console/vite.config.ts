import react from '@vitejs/plugin-react';
import { defineConfig, type HtmlTagDescriptor, type IndexHtmlTransformHook, type Plugin } from 'vite';

const API = process.env['QM_URL'] ?? 'http://127.0.0.1:8080';
const API_KEY = process.env['QM_API_KEY'];

/** What the API process serves. Vite's own server passes it on. */
const OF_THE_API = [
  '/v1',
  '/oidc',
  '/docs',
  '/openapi.json',
  '/console/session',
  '/console/sign-in',
  '/console/callback',
  '/console/sign-out',
  '/console/sample-data',
];

const proxy = {
  target: API,
  // Only for work on the console: Vite's own server may act with an API key, so that no sign-in is needed.
  ...(API_KEY !== undefined && { headers: { 'X-API-Key': API_KEY } }),
};

const EARLY = 'src/early.ts';
const INBOX = 'src/screens/inbox/inbox-screen.tsx';

/**
 * Lets the browser run the early script before the rest of the code is there, and load the code of the inbox, the home page, together
 * with the entry. It would find it only by running the entry.
 */
function loadFirst(): Plugin {
  const handler: IndexHtmlTransformHook = (html, { bundle = {} }) => {
    const chunkOf = (source: string) => {
      const found = Object.values(bundle).find(
        (file) => file.type === 'chunk' && file.facadeModuleId?.endsWith(`/${source}`),
      );
      if (found?.type !== 'chunk') throw new Error(`the build has no file for ${source}`);
      return found;
    };
    const inbox = chunkOf(INBOX);
    const hrefs = [inbox.fileName, ...inbox.imports, ...(inbox.viteMetadata?.importedCss ?? [])];
    const src = `/console/${chunkOf(EARLY).fileName}`;
    return [
      { tag: 'script', attrs: { type: 'module', async: true, src, crossorigin: true }, injectTo: 'head-prepend' },
      ...hrefs.filter((href) => !html.includes(href)).map((href) => tagOf(`/console/${href}`)),
    ];
  };
  return { name: 'load-first', apply: 'build', transformIndexHtml: { order: 'post', handler } };
}

function tagOf(href: string): HtmlTagDescriptor {
  // Browsers warn of a style that is preloaded and not used, on all other screens.
  const rel = href.endsWith('.css') ? 'stylesheet' : 'modulepreload';
  return { tag: 'link', attrs: { rel, href, crossorigin: true }, injectTo: 'head' };
}

export default defineConfig({
  base: '/console/',
  // The service may be below a path of its host. Its page gets that path from the server, and other files name each other by relative
  // URLs.
  experimental: { renderBuiltUrl: (_file, { hostType }) => (hostType === 'html' ? undefined : { relative: true }) },
  // See src/visible/jsx-runtime.ts.
  plugins: [react({ jsxImportSource: '#visible' }), loadFirst()],
  // The server puts a fresh nonce in its place in each answer.
  html: { cspNonce: '__CSP_NONCE__' },
  resolve: { dedupe: ['@tanstack/react-query', 'react', 'react-dom'] },
  server: { port: 5173, proxy: Object.fromEntries(OF_THE_API.map((path) => [path, proxy])) },
  build: {
    target: 'es2023',
    assetsInlineLimit: 0,
    // Says which files a screen loads. The suites compare their sizes with the budgets.
    manifest: true,
    modulePreload: { polyfill: false },
    // What several screens share, in one file: by itself the bundler makes one of each component, and each costs a request.
    rolldownOptions: {
      input: ['index.html', EARLY],
      output: {
        codeSplitting: {
          groups: [
            { name: 'early', test: /src\/(early|data\/(base-path|rights)|screens\/inbox\/query)\.ts/, priority: 1 },
            { name: 'shared', test: /src\/(components|data)\//, minShareCount: 3 },
          ],
        },
      },
    },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 700,
  },
});
