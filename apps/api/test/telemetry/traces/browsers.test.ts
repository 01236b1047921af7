import { afterAll, beforeAll, expect, test } from 'vitest';
import { accountWithKey } from '../../support/people.ts';
import { serverOfTest, startTestServer, type TestServer } from '../../support/server.ts';
import { chat, exportRequest } from './sending.ts';

const ORIGIN = 'https://app.example.com';
const LOCAL = 'http://localhost:3000';

let server: TestServer;
let key: string;

beforeAll(async () => {
  server = await startTestServer({ QM_OTLP_ORIGINS: `${ORIGIN}, ${LOCAL}` });
  ({ key } = await accountWithKey(server, { tenantId: 'browsers' }, ['traces:write']));
});
afterAll(() => server.stop());

function preflight(path: string, origin: string, url = server.url): Promise<Response> {
  const headers = {
    origin,
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'content-type,x-api-key',
  };
  return fetch(url + path, { method: 'OPTIONS', headers });
}

const corsOf = ({ headers }: { headers: Headers }) =>
  [...headers].filter(([name]) => name.startsWith('access-control-')).map(([name, value]) => [name.slice(15), value]);

test.each([ORIGIN, LOCAL])('the preflight of a listed origin is answered without credentials: %s', async (origin) => {
  const answer = await preflight('/v1/traces', origin);
  expect(answer.status).toBe(204);
  expect(answer.headers.get('vary')).toBe('Origin');
  expect(Object.fromEntries(corsOf(answer))).toEqual({
    'allow-origin': origin,
    'allow-methods': 'POST',
    'allow-headers': 'authorization, content-encoding, content-type, x-api-key',
    'expose-headers': 'Retry-After',
    'max-age': '7200',
  });
});

test('a page of a listed origin sends traces, and reads why they are refused', async () => {
  for (const [as, status] of [
    [{ key }, 200],
    [{ key: 'qm_key_wrong' }, 401],
  ] as const) {
    const answer = await server.call('POST', '/v1/traces', {
      as,
      body: exportRequest([chat('gpt-5')]),
      headers: { origin: ORIGIN },
    });
    expect(answer.status).toBe(status);
    expect(answer.headers.get('vary')).toContain('Origin');
    expect(Object.fromEntries(corsOf(answer))).toEqual({ 'allow-origin': ORIGIN, 'expose-headers': 'Retry-After' });
  }
});

test.each(['https://evil.example', 'https://app.example.com.evil.example', 'http://app.example.com', 'null'])(
  'a page of another origin gets no permission: %s',
  async (origin) => {
    const asked = await preflight('/v1/traces', origin);
    expect([asked.status, corsOf(asked), asked.headers.get('vary')]).toEqual([405, [], 'Origin']);
    const sent = await server.call('POST', '/v1/traces', {
      as: { key },
      body: exportRequest([chat('gpt-5')]),
      headers: { origin },
    });
    expect([sent.status, corsOf(sent)]).toEqual([200, []]);
  },
);

test.each(['/v1/logs', '/v1/metrics', '/v1/me', '/v1/providers', '/v1/traces/x', '/console/session'])(
  'no other path gives permission: %s',
  async (path) => {
    const answer = await preflight(path, ORIGIN);
    expect(answer.status).not.toBe(204);
    expect(corsOf(answer)).toEqual([]);
  },
);

test('without the setting nothing is allowed, and answers do not vary by origin', async () => {
  const closed = await serverOfTest();
  const answer = await preflight('/v1/traces', ORIGIN, closed.url);
  expect([answer.status, corsOf(answer), answer.headers.get('vary')]).toEqual([405, [], null]);
});
