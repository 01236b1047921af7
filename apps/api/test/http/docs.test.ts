import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { expect, onTestFinished, test } from 'vitest';
import { docsRouter } from '../../src/http/openapi/docs.ts';

async function serveDocs(): Promise<string> {
  const app = express();
  app.use('/docs', docsRouter({ openApiPath: '/openapi.json' }));
  const server = createServer(app);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/docs`;
}

test('the page loads only its own files, and has no inline script or style', async () => {
  const url = await serveDocs();
  const page = await (await fetch(`${url}/`)).text();
  const loaded = [...page.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, address]) => address ?? '');
  expect(loaded).toEqual(['swagger-ui.css', 'favicon-32x32.png', 'swagger-ui-bundle.js', 'init.js']);
  expect(page).not.toMatch(/<script>|<style|\sstyle=|\son\w+=|https?:/);
  for (const address of loaded) expect((await fetch(`${url}/${address}`)).status).toBe(200);
});

test('the page shows the document at the given path, and sends it to no other server', async () => {
  const script = await (await fetch(`${await serveDocs()}/init.js`)).text();
  expect(script).toContain('"url":"/openapi.json"');
  expect(script).toContain('"validatorUrl":null');
});

test('the address without a final slash redirects to the page', async () => {
  const answer = await fetch(await serveDocs());
  expect([answer.status, new URL(answer.url).pathname]).toEqual([200, '/docs/']);
});

test.each(['package.json', 'index.html', 'swagger-ui-bundle.js.map', '..%2fpackage.json', 'nothing'])(
  'other files of the package are not served: %s',
  async (name) => {
    expect((await fetch(`${await serveDocs()}/${name}`)).status).toBe(404);
  },
);
