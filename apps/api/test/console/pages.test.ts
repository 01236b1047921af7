import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { expect, onTestFinished, test } from 'vitest';
import type { ConsoleState } from '../../src/server/console/build.ts';
import { consoleRouter } from '../../src/server/console/handler.ts';

/** A server with the console in a state. @returns a function that requests a path */
async function consoleIn(state: ConsoleState) {
  const app = express();
  app.use('/console', consoleRouter({ state: async () => state, stop: async () => {} }, ''));
  const server = createServer(app).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await new Promise((resolve) => {
    server.once('listening', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return (path: string) => fetch(`http://127.0.0.1:${port}${path}`, { redirect: 'manual' });
}

const asset = { contentType: 'text/javascript; charset=utf-8', variants: new Map() };
const FILES = { page: '<script nonce="__CSP_NONCE__"></script>', assets: new Map([['assets/index-1.js', asset]]) };

test('while the console is being built, its page says so and reloads', async () => {
  const get = await consoleIn({ status: 'building' });
  const page = await get('/console/inbox');
  expect([page.status, page.headers.get('retry-after'), page.headers.get('cache-control')]).toEqual([
    503,
    '2',
    'no-store',
  ]);
  expect(await page.text()).toContain('http-equiv="refresh"');
});

test('if the build of the console failed, its page says how to find the reason', async () => {
  const get = await consoleIn({ status: 'failed', reason: 'Run npm run build.' });
  const page = await get('/console/');
  expect(page.status).toBe(503);
  const text = await page.text();
  expect(text).toContain('Run npm run build.');
  expect(text).not.toContain('http-equiv="refresh"');
});

test('every page has a new nonce, in its policy and in its markup', async () => {
  const get = await consoleIn({ status: 'ready', files: FILES });
  const nonces = new Set<string>();
  for (let request = 0; request < 3; request += 1) {
    const page = await get('/console/traces/1?tenant=acme');
    const nonce = /'nonce-([^']+)'/.exec(page.headers.get('content-security-policy') ?? '')?.[1] ?? '';
    expect(await page.text()).toBe(`<script nonce="${nonce}"></script>`);
    nonces.add(nonce);
  }
  expect(nonces.size).toBe(3);
});

test('the address without a final slash redirects to the one with it', async () => {
  const get = await consoleIn({ status: 'ready', files: FILES });
  const answer = await get('/console?tenant=acme');
  expect([answer.status, answer.headers.get('location')]).toEqual([302, '/console/?tenant=acme']);
});

test.each(['%ff', '%zz', 'inbox/%e0%a4%a', 'assets/%'])(
  'regression: /console/%s, which is not valid percent-encoding, is not an internal error',
  async (path) => {
    const get = await consoleIn({ status: 'ready', files: FILES });
    expect((await get(`/console/${path}`)).status).toBe(path.startsWith('assets/') ? 404 : 200);
  },
);
