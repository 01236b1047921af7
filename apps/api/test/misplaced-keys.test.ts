import pino from 'pino';
import { expect, test } from 'vitest';
import { mintApiKey } from '../src/auth/api-key-format.ts';
import { withoutCredentials } from '../src/platform/credentials-in-text.ts';
import { databaseFile, newBootstrapKey } from './support/environment.ts';
import { startService } from './support/start.ts';
import { wire } from './support/wire.ts';

const ID = `key_${'1a'.repeat(13)}`;
const { key: KEY } = mintApiKey(ID);
const SECRET = KEY.slice(`qm_${ID}_`.length);

const encoded = (text: string) => text.replaceAll(/./g, (one) => `%${one.charCodeAt(0).toString(16)}`);

const MISPLACED: Record<string, string> = {
  'in the place of an id': `/v1/providers/${KEY}`,
  'after other characters': `/v1/providers/id=${KEY}`,
  'after a colon': `/v1/providers/x-api-key:${KEY}`,
  'in the middle of a segment': `/v1/providers/a${KEY}b`,
  'in upper case': `/v1/providers/${KEY.toUpperCase()}`,
  'with an encoded underscore': `/v1/providers/${KEY.replaceAll('_', '%5F')}`,
  'encoded as a whole': `/v1/providers/${encoded(KEY)}`,
  'encoded in upper case': `/v1/providers/${encoded(KEY).toUpperCase()}`,
  'encoded twice': `/v1/providers/${encodeURIComponent(encoded(KEY))}`,
  'beside an invalid sequence': `/v1/providers/%ff%${KEY.replaceAll('_', '%5f')}`,
  'without its prefix': `/v1/providers/${KEY.slice('qm_'.length)}`,
  'as the whole path': `/${KEY}`,
  'in a path of the console': `/console/${KEY}`,
  'in a procedure of tRPC': `/trpc/${KEY}`,
};

test('regression: a key that a caller puts into a path or X-Request-Id is neither in the log nor in the audit', async () => {
  const admin = newBootstrapKey();
  const lines: string[] = [];
  const log = pino({ level: 'debug' }, { write: (line: string) => void lines.push(line) });
  const environment = { DATABASE_URL: `sqlite:${await databaseFile()}`, QM_BOOTSTRAP_API_KEY: admin };
  const service = await startService(environment, { log });
  const headers = { 'x-api-key': admin };
  for (const target of Object.values(MISPLACED)) await wire(service.url, { method: 'GET', target, headers });
  for (const id of [KEY, `req-${KEY}`, KEY.toUpperCase(), KEY.slice('qm_'.length)]) {
    const asked = { ...headers, 'x-request-id': id };
    await wire(service.url, { method: 'GET', target: '/v1/providers/none', headers: asked });
    await wire(service.url, { method: 'DELETE', target: '/v1/providers/none', headers: asked });
  }
  await wire(service.url, { method: 'GET', target: '/v1/providers', headers: { ...headers, 'x-request-id': 'req-1' } });
  const { db, audit } = service.services;
  await audit.refusals.flush('all');
  const events = await db.selectFrom('audit_events').selectAll().execute();
  await service.stop();
  const written = `${lines.join('')}${JSON.stringify(events)}`;
  // A part of it is enough to search for.
  const part = SECRET.slice(0, 12).toLowerCase();
  expect(written.toLowerCase().includes(part)).toBe(false);
  expect(decodedAll(written).toLowerCase().includes(part)).toBe(false);
  expect(written).toContain(`${ID}_***`);
  expect(written).toContain('"callerRequestId":"req-1"');
});

function decodedAll(text: string): string {
  let decoded = text;
  for (let round = 0; round < 3; round += 1) {
    decoded = decoded.replaceAll(/%([0-7][0-9a-f])/gi, (_, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    );
  }
  return decoded;
}

test.each([
  '/v1/providers/prv_1',
  `/v1/credentials/${ID}`,
  '/v1/agents/my%20agent',
  '/%',
  '/v1/x/%E4%F6',
  '/key_board',
])('the path %s without a credential is logged as it is', (path) => {
  expect(withoutCredentials(path)).toBe(path);
});
