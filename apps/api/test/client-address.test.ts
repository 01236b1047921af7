import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { clientAddress, trustIn } from '../src/server/client-address.ts';

const apps = [[], ['loopback'], ['loopback', '10.0.0.0/8'], ['10.0.0.0/8']].map((proxies) => {
  const app = express();
  app.set('trust proxy', proxies);
  app.use((req, res) => {
    res.json({ express: req.ip, ours: clientAddress(req, app.get('trust proxy fn')) });
  });
  return { proxies, server: createServer(app) };
});

beforeAll(() =>
  Promise.all(apps.map(({ server }) => new Promise<void>((done) => server.listen(0, '127.0.0.1', done)))),
);
afterAll(() => {
  for (const { server } of apps) server.close();
});

const HEADERS = [
  undefined,
  '',
  ', ,203.0.113.9,,',
  '203.0.113.9',
  '203.0.113.9, 10.1.1.1',
  ' 203.0.113.9 ,10.1.1.1,  10.2.2.2 ',
  '10.1.1.1',
  'nonsense, 10.1.1.1',
  'nonsense',
  '2001:db8::1, 10.1.1.1',
  '10.9.9.9, 203.0.113.9, 10.1.1.1',
];

test.each(apps.flatMap((app) => HEADERS.map((header) => [app.proxies.join(' ') || 'none', header, app] as const)))(
  'the client address is the same as in Express: trusted proxies %s, X-Forwarded-For %s',
  async (_proxies, header, { server }) => {
    const { port } = server.address() as AddressInfo;
    const headers: Record<string, string> = header === undefined ? {} : { 'x-forwarded-for': header };
    const answer = await fetch(`http://127.0.0.1:${port}`, { headers });
    const { express: expected, ours } = (await answer.json()) as { express: string; ours: string };
    expect(ours).toBe(expected);
  },
);

// Regression: each connection of a client was another address, with a rate limit of its own.
test.each([
  ['203.0.113.9:4711', '203.0.113.9'],
  ['[2001:db8::1]:4711', '2001:db8::1'],
  ['[2001:db8::1]', '2001:db8::1'],
  ['203.0.113.9:4711, 10.1.1.1:443', '203.0.113.9'],
  ['2001:db8::1', '2001:db8::1'],
  ['203.0.113.9:nonsense', '203.0.113.9:nonsense'],
])('a port that a proxy adds is not part of the address: %s', (header, expected) => {
  const req = { socket: { remoteAddress: '127.0.0.1' }, headers: { 'x-forwarded-for': header } };
  expect(clientAddress(req as unknown as IncomingMessage, trustIn(['loopback', '10.0.0.0/8']))).toBe(expected);
});
