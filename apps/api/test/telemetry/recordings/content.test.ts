import pino from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { DIALECTS } from '../../../src/telemetry/dialects/table.ts';
import { freePort } from '@quartermaster/db/testing/free-port.ts';
import { accountWithKey, unique } from '../../support/people.ts';
import { startTestServer, type TestServer } from '../../support/server.ts';
import { all } from '../traces/sending.ts';
import { recordingOf } from '../written/program.ts';
import { PROGRAMS } from '../written/programs.ts';
import { PLANTED, PLANTED_ENCODED, PLANTED_HEX, planted } from './planted.ts';
import { readRecordings } from './recording.ts';
import { outcomeIn } from './replay.ts';

// No content is stored: a marker is planted in every text of a request, and must not be found anywhere.

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

const ALL_PROGRAMS = 'of all written programs';

const cases = [
  ...readRecordings().flatMap((recording) =>
    (['texts', 'names', 'encoded'] as const).map((into) => [recording.id, into, recording.requests] as const),
  ),
  // Together, and the spans of an application as well.
  [ALL_PROGRAMS, 'texts', PROGRAMS.flatMap((program) => recordingOf(program).requests)] as const,
];

test.each(cases)(
  'a marker planted in every text of the recording %s that may be content, in its %s, is not found anywhere',
  async (id, into, recorded) => {
    const place = { tenantId: unique('planted') };
    const reader = await accountWithKey(server, place);
    const sender = await accountWithKey(server, place, ['traces:write']);
    const requests = recorded.filter(({ path }) => path !== '/v1/metrics');
    const first = requests.find(({ path }) => path === '/v1/traces');
    for (const request of requests) {
      const headers = { 'content-type': 'application/x-protobuf' };
      const withApplication = id === ALL_PROGRAMS && request === first;
      const raw = new Uint8Array(planted(request, { into, withApplication }));
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

test.each(DIALECTS.map((dialect) => [dialect.name, dialect] as const))(
  'the dialect %s declares no attribute safe whose name sounds like content',
  (_name, { safe = [] }) => {
    expect(safe.filter((name) => NAMED_LIKE_CONTENT.test(name))).toEqual([]);
  },
);

/** Last parts of names whose values are free text in some framework. */
const NAMED_LIKE_CONTENT =
  /(?:^|[._:/-])(?<!usage_)(?:arguments?|args|body|command|content|description|documents?|header|headers|input|instructions?|messages?|metadata|output|parameters|prompts?|query|result|results|text)$/i;
