import type { ServerResponse } from 'node:http';
import { expect, vi } from 'vitest';
import { unique } from '../support/people.ts';
import { type Body, serverOfTest, type TestServer } from '../support/server.ts';
import { LOOPBACK, startPeer } from './peers.ts';

export const WAIT = { timeout: 60_000, interval: 20 };

export const SYNC_LIMITS = { pauseMs: 1, scheduleMs: 50 };

export function testServer(): Promise<TestServer> {
  return serverOfTest(LOOPBACK, { syncLimits: SYNC_LIMITS });
}

/** A server that answers when `answer` is called, and a provider with its address. */
export async function waiting(server: TestServer, body: object = {}) {
  const held: ServerResponse[] = [];
  const peer = await startPeer((_req, res) => void held.push(res));
  const provider = await server.ok('POST', '/v1/providers', {
    as: server.admin,
    body: { name: unique('llm'), kind: 'llm', baseUrl: peer.url, ...body },
  });
  const answer = (...models: string[]) => {
    const data = models.map((id) => ({ id }));
    for (const res of held.splice(0)) res.end(JSON.stringify({ object: 'list', data }));
  };
  return { provider, peer, answer, asked: () => vi.waitFor(() => expect(held.length).toBeGreaterThan(0), WAIT) };
}

export const sync = (server: TestServer, { id }: Body) =>
  server.call('POST', `/v1/providers/${id}/sync`, { as: server.admin });
