import { beforeAll, describe, expect, test } from 'vitest';
import { startPeer } from '../../inventory-sync/peers.ts';
import { type TestServer, startTestServer } from '../../support/server.ts';
import { type DecidingWorld, decidingWorld } from '../sessions.ts';
import { GRANTED_TOOLS, type McpSide, outcome, ROWS, SEARCH, SLOW, SPELLINGS, send, startMcpSide } from './rows.ts';
import { INSTALLED_PROXIES, type Surroundings } from './start.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
  return () => server.stop();
});

/** What a proxy stands between: a gateway with a session, and an MCP server. */
async function betweenBoth(): Promise<{ world: DecidingWorld; mcp: McpSide; at: Surroundings }> {
  const items = GRANTED_TOOLS.map((name) => ({ kind: 'tool', name }));
  const world = await decidingWorld(server, { items });
  const body = { mcp: { headerChecks: 'trusted' } };
  await server.ok('PUT', `/v1/providers/${world.providerId}`, { as: world.as, body });
  const mcp = await startMcpSide();
  const { gatewayId, providerName } = world;
  const at = { quartermaster: new URL(server.url).host, mcpServer: new URL(mcp.url).host, gatewayId, providerName };
  return { world, mcp, at };
}

describe.each(INSTALLED_PROXIES)('$title, configured as documented,', ({ start }) => {
  test.skipIf(start === null)('answers each row of the matrix', async () => {
    const { world, mcp, at } = await betweenBoth();
    const url = (await start?.(at)) ?? '';
    const answers: Record<string, string> = {};
    for (const { row, ...sent } of ROWS) answers[row] = await outcome(await send(url, world.token, sent));
    expect(answers).toEqual(Object.fromEntries(ROWS.map(({ row, answer }) => [row, answer])));
    expect(mcp.ran).not.toContain('secret');
    for (const { headers } of mcp.requests) {
      expect(headers['x-quartermaster-subject']).toBe(world.session.subject);
      expect(headers).not.toHaveProperty('authorization');
      expect(headers).not.toHaveProperty('upgrade');
      expect(headers).not.toHaveProperty('x_quartermaster_subject');
    }
  });

  test.skipIf(start === null)('regression: the MCP server gets no other spelling of its path', async () => {
    const { world, mcp, at } = await betweenBoth();
    const url = (await start?.(at)) ?? '';
    for (const sent of SPELLINGS) await outcome(await send(url, world.token, sent));
    await outcome(await send(url, world.token, SEARCH));
    expect(new Set(mcp.requests.map((request) => request.url))).toEqual(new Set(['/mcp']));
  });

  test.skipIf(start === null)(
    'regression: a client does not choose the address that its refusals count against',
    async () => {
      const { world, at } = await betweenBoth();
      const service = await startPeer((_req, res) => void res.writeHead(401).end());
      const url = (await start?.({ ...at, quartermaster: new URL(service.url).host })) ?? '';
      const headers = { ...SEARCH.headers, 'x-forwarded-for': '203.0.113.9' };
      expect(await outcome(await send(url, world.token, { ...SEARCH, headers }))).toBe('401');
      const [asked] = service.requests;
      expect(asked?.headers['x-forwarded-for'] ?? '').not.toMatch(/203\.0\.113\.9$/);
    },
  );

  test.skipIf(start === null)('passes on events one by one', async () => {
    const { world, mcp, at } = await betweenBoth();
    const url = (await start?.(at)) ?? '';
    const answer = await send(url, world.token, SLOW);
    expect(answer.headers['content-type']).toContain('text/event-stream');
    let text = '';
    for await (const piece of answer) {
      text += String(piece);
      // The tool ends only after its first event has arrived here.
      if (text.includes('notifications/progress')) mcp.finishSlow();
    }
    expect(text).toContain('"result"');
  });

  test.skipIf(start === null)('refuses a revoked token within 5 seconds', async () => {
    const { world, at } = await betweenBoth();
    const url = (await start?.(at)) ?? '';
    expect(await outcome(await send(url, world.token, SEARCH))).toBe('200');
    await server.ok('DELETE', `/v1/gateways/${world.gatewayId}/sessions/${world.session.id}`, { as: world.as });
    const revokedAt = performance.now();
    while ((await outcome(await send(url, world.token, SEARCH))) !== '401') {
      expect(performance.now() - revokedAt).toBeLessThan(5000);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  });

  test.skipIf(start === null)('is closed while the service is away', async () => {
    const { world, mcp, at } = await betweenBoth();
    const url = (await start?.({ ...at, quartermaster: '127.0.0.1:1' })) ?? '';
    const answer = await send(url, world.token, SEARCH);
    expect(await outcome(answer)).toMatch(/^5\d\d$/);
    expect(mcp.requests).toEqual([]);
  });
});
