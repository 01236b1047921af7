import pino from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '@quartermaster/db/testing/free-port.ts';
import { accountWithKey, unique } from '../../support/people.ts';
import { startTestServer, type TestServer } from '../../support/server.ts';
import { all } from '../traces/sending.ts';
import { PLANTED, PLANTED_ENCODED, PLANTED_HEX, planted } from './planted.ts';
import type { Recording } from './recording.ts';
import { outcomeIn } from './replay.ts';

/** A request in which markers are planted. */
export type MarkedRequests = {
  name: string;
  into: 'texts' | 'names' | 'encoded';
  requests: Recording['requests'];
  /** Whether the first request has spans of an application as well. */
  withApplication?: boolean;
};

/** No content is stored: a marker is planted in every text of a request, and must not be found anywhere. */
export function contentTests(cases: readonly MarkedRequests[]): void {
  const lines: string[] = [];
  let server: TestServer;
  let metricsUrl: string;

  beforeAll(async () => {
    const port = await freePort();
    metricsUrl = `http://127.0.0.1:${port}/metrics`;
    const log = pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) });
    server = await startTestServer({ QM_METRICS_PORT: String(port) }, { log });
  });
  afterAll(() => server.stop());

  test.each(cases.map((one) => [`${one.name}, in its ${one.into}`, one] as const))(
    'a marker planted in every text of the recording %s that may be content is not found anywhere',
    async (_id, { into, requests: recorded, withApplication = false }) => {
      const place = { tenantId: unique('planted') };
      const reader = await accountWithKey(server, place);
      const sender = await accountWithKey(server, place, ['traces:write']);
      const requests = recorded.filter(({ path }) => path !== '/v1/metrics');
      const first = requests.find(({ path }) => path === '/v1/traces');
      for (const request of requests) {
        const headers = { 'content-type': 'application/x-protobuf' };
        const options = { into, withApplication: withApplication && request === first };
        const raw = new Uint8Array(planted(request, options));
        await server.ok('POST', request.path, { as: sender, raw, headers, unchecked: true });
      }
      const { texts } = await outcomeIn(server, reader);
      const metrics = await (await fetch(metricsUrl)).text();
      const audit = JSON.stringify(await all(server, '/v1/audit-events?limit=100', reader));
      for (const text of [...texts, metrics, audit, ...lines.splice(0)]) {
        // Show the place of the marker instead of the whole text.
        for (const marker of [PLANTED, PLANTED_ENCODED, PLANTED_HEX]) {
          const at = text.indexOf(marker);
          expect(at === -1 ? '' : text.slice(Math.max(0, at - 200), at + 50)).toBe('');
        }
      }
      expect(metrics).toContain('# HELP');
    },
  );
}
