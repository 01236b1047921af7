import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { openDatabase } from '@quartermaster/db/open-database.ts';
import { hasFoundedTenant } from '@quartermaster/db/repositories/founders.ts';
import { findIdentityOfUser } from '@quartermaster/db/repositories/identities.ts';
import SqliteDatabase from 'better-sqlite3';
import pino from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { ConfigError, readConfig, ROOT } from '../src/config.ts';
import { secretBox, SecretUnreadableError } from '../src/platform/secret-box.ts';
import { founderDigest } from '../src/resources/onboarding/founder.ts';
import { resealSecrets } from '../src/server/secret-rotation.ts';
import { type RunningServer, startServer } from '../src/server/start.ts';
import { LOOPBACK, startPeer } from './inventory-sync/peers.ts';
import { databaseFile, newBootstrapKey } from './support/environment.ts';
import { memberWithToken, registeredUser } from './support/people.ts';
import { type Body, startTestServer } from './support/server.ts';

const key = () => randomBytes(32);

test('a secret of a former key can be decrypted, and is re-encrypted once with the current key', () => {
  const [old, current] = [key(), key()];
  const sealed = secretBox(old).seal('hidden', 'record:1');
  const box = secretBox(current, [key(), old]);
  expect(box.open(sealed, 'record:1')).toBe('hidden');
  const resealed = box.reseal(sealed, 'record:1');
  expect(resealed).not.toBeNull();
  expect(secretBox(current).open(resealed ?? '', 'record:1')).toBe('hidden');
  expect(box.reseal(resealed ?? '', 'record:1')).toBeNull();
  expect(() => secretBox(old).open(resealed ?? '', 'record:1')).toThrow(SecretUnreadableError);
});

test('decryption fails without the key, for another identity and after a changed byte, with the same error', () => {
  const box = secretBox(key());
  const sealed = box.seal('hidden', 'record:1');
  const last = sealed.at(-2) === 'A' ? 'B' : 'A';
  const changed = `${sealed.slice(0, -2)}${last}${sealed.slice(-1)}`;
  const rows: [string, string][] = [
    [sealed, 'record:2'],
    [changed, 'record:1'],
    ['v1.', 'record:1'],
    ['v2.AAAA', 'record:1'],
    ['', 'record:1'],
  ];
  for (const [text, identity] of rows) {
    for (const work of [box.open, box.reseal]) expect(() => work(text, identity)).toThrow(SecretUnreadableError);
  }
  expect(() => secretBox(key()).open(sealed, 'record:1')).toThrow('none of the configured keys opens the secret');
});

type Environment = Record<string, string>;
type Logged = { msg: string; resealed?: number; unreadable?: number };

test('a start with a new and the former key re-encrypts everything; the next start needs only the new key', async () => {
  const database = await databaseFile();
  const bootstrap = newBootstrapKey();
  const lines: string[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(line) });
  const logged = () => lines.splice(0).map((line) => JSON.parse(line) as Logged);
  const as = { 'x-api-key': bootstrap };
  const start = (environment: Environment) =>
    startServer(
      readConfig({
        PORT: '0',
        DATABASE_URL: `sqlite:${database}`,
        QM_METRICS_PORT: 'off',
        QM_OTLP_GRPC_PORT: 'off',
        QM_CONSOLE: 'off',
        QM_RATE_LIMITS: 'off',
        QM_SHUTDOWN_DELAY_MS: '0',
        QM_BOOTSTRAP_API_KEY: bootstrap,
        ...LOOPBACK,
        ...environment,
      }),
      { log, syncLimits: { pauseMs: 1 } },
    );
  const call = async ({ url }: RunningServer, method: string, path: string, body: object = {}) => {
    const sent = method === 'GET' ? {} : { body: JSON.stringify(body) };
    const headers = { ...as, 'content-type': 'application/json' };
    const response = await fetch(`${url}${path}`, { method, headers, ...sent });
    return { status: response.status, body: (await response.json()) as Body };
  };
  const sealed = () => {
    const db = new SqliteDatabase(database, { readonly: true });
    const rows = db.prepare('select id, secret from credentials where secret is not null order by id').all();
    db.close();
    return rows as { id: string; secret: string }[];
  };
  const seen: (string | undefined)[] = [];
  const peer = await startPeer((req, res) => {
    seen.push(req.headers.authorization);
    res.end('{"object":"list","data":[]}');
  });
  const [old, current] = [key().toString('base64'), key().toString('base64')];

  let server = await start({ QM_SECRET_KEY: old });
  const provider = await call(server, 'POST', '/v1/providers', { name: 'llm', kind: 'llm', baseUrl: peer.url });
  const path = `/v1/providers/${provider.body.id}`;
  expect((await call(server, 'PUT', `${path}/credential`, { secret: 'sk-1' })).status).toBe(200);
  const gateway = await call(server, 'POST', '/v1/gateways', { name: 'edge' });
  const session = `/v1/gateways/${gateway.body.id}/sessions`;
  expect((await call(server, 'POST', session)).status).toBe(200);
  await server.stop();
  const before = sealed();
  expect(before).toHaveLength(2);
  const sealedNow = () => sealed().filter(({ id }) => before.some((row) => row.id === id));

  // Without the former key it starts only with QM_SECRET_KEY_LOST=1. Then it creates another signing key, keeps all records, and
  // operations that need a secret report that it cannot be decrypted.
  await expect(start({ QM_SECRET_KEY: current })).rejects.toThrow(ConfigError);
  server = await start({ QM_SECRET_KEY: current, QM_SECRET_KEY_LOST: '1' });
  const failed = await call(server, 'POST', `${path}/sync`);
  expect(failed.status).toBe(502);
  expect(failed.body.detail).toMatch(/the credential of the provider cannot be opened/);
  expect(seen).toEqual([]);
  await server.stop();
  expect(sealedNow()).toEqual(before);
  logged();

  server = await start({ QM_SECRET_KEY: current, QM_SECRET_KEY_PREVIOUS: `${key().toString('base64')}, ${old}` });
  expect(logged().find(({ resealed }) => resealed !== undefined)?.resealed).toBe(2);
  await server.stop();
  const after = sealedNow();
  expect(after.map(({ id }) => id)).toEqual(before.map(({ id }) => id));
  for (const [index, { secret }] of after.entries()) expect(secret).not.toBe(before[index]?.secret);

  server = await start({ QM_SECRET_KEY: current, QM_SECRET_KEY_PREVIOUS: old });
  expect(logged().find(({ resealed }) => resealed !== undefined)?.resealed).toBe(0);
  await server.stop();
  expect(sealedNow()).toEqual(after);

  server = await start({ QM_SECRET_KEY: current });
  expect((await call(server, 'POST', `${path}/sync`)).status).toBe(200);
  expect(seen).toEqual(['Bearer sk-1']);
  expect((await call(server, 'POST', session)).status).toBe(200);
  await server.stop();

  // A single secret that no key can decrypt does not prevent a start. It is counted, and its ciphertext is not logged.
  const [lost] = after;
  const db = new SqliteDatabase(database);
  db.prepare('update credentials set secret = ? where id = ?').run(secretBox(key()).seal('x', 'y'), lost?.id);
  db.close();
  const damaged = sealedNow();
  logged();
  server = await start({ QM_SECRET_KEY: current, QM_SECRET_KEY_PREVIOUS: old });
  const logText = lines.join('\n');
  expect(logged().find(({ unreadable }) => unreadable !== undefined)?.unreadable).toBe(1);
  for (const { secret } of damaged) expect(logText).not.toContain(secret.slice(3));
  await server.stop();
  expect(sealedNow()).toEqual(damaged);
  expect((await readFile(database)).includes(Buffer.from('sk-1'))).toBe(false);
});

test('an erased founder is still recognized after two key changes', async () => {
  const [first, second, third] = [key().toString('base64'), key().toString('base64'), key().toString('base64')];
  const original = await startTestServer({ QM_SECRET_KEY: first });
  onTestFinished(() => original.removeDatabase());
  const founder = await registeredUser(original);
  const identity = await findIdentityOfUser(original.services.db, founder.id);
  if (!identity) throw new Error('the founder has no identity');
  const body = { organization: { displayName: 'Ours' } };
  const { tenant } = await original.ok('POST', '/v1/onboarding/organization', { as: founder, body });
  await memberWithToken(original, { tenantId: tenant.id }, 'owner');
  await original.ok('DELETE', `/v1/users/${founder.id}`, { as: founder });
  await original.end();
  for (const [current, former] of [
    [second, first],
    [third, second],
  ] as const) {
    const environment = { QM_SECRET_KEY: current, QM_SECRET_KEY_PREVIOUS: former };
    const server = await startTestServer({ DATABASE_URL: original.databaseUrl, ...environment });
    const { db, secrets } = server.services;
    const isKnown = (subject: string) =>
      hasFoundedTenant(db, { userId: 'usr_new', digest: founderDigest(secrets, { ...identity, subject }) });
    expect([await isKnown(identity.subject), await isKnown('another')]).toEqual([true, false]);
    await server.end();
  }
});

// Regression: such a start went on. Then every new gateway session was a 500, and the audit was reported as broken.
test('after an interrupted change of the key, a start needs both keys', async () => {
  const [old, current] = [key().toString('base64'), key().toString('base64')];
  const original = await startTestServer({ QM_SECRET_KEY: old });
  onTestFinished(() => original.removeDatabase());
  const { databaseUrl } = original;
  await original.ok('POST', '/v1/gateways', { as: original.admin, body: { name: 'edge' } });
  const names = ['one', 'two', 'three'];
  for (const name of names) {
    const body = { name, kind: 'llm', baseUrl: 'https://llm.example' };
    const { id } = await original.ok('POST', '/v1/providers', { as: original.admin, body });
    await original.ok('PUT', `/v1/providers/${id}/credential`, { as: original.admin, body: { secret: 'sk-1' } });
  }
  await original.end();

  // The process ends when two secrets are sealed with the new key.
  const db = await openDatabase(databaseUrl, ROOT);
  const secrets = secretBox(Buffer.from(current, 'base64'), [Buffer.from(old, 'base64')]);
  let sealed = 0;
  const ending: typeof secrets = {
    ...secrets,
    reseal: (...given) => {
      sealed += 1;
      if (sealed > 2) throw new Error('the process ended');
      return secrets.reseal(...given);
    },
  };
  await expect(resealSecrets({ db, log: pino({ level: 'silent' }), secrets: ending })).rejects.toThrow('ended');
  await db.destroy();

  const start = (environment: Environment) => startTestServer({ DATABASE_URL: databaseUrl, ...environment });
  await expect(start({ QM_SECRET_KEY: current })).rejects.toThrow(/^QM_SECRET_KEY: .*QM_SECRET_KEY_PREVIOUS/);
  await (await start({ QM_SECRET_KEY: current, QM_SECRET_KEY_PREVIOUS: old })).end();
  await expect(start({ QM_SECRET_KEY: old })).rejects.toThrow(ConfigError);
  await (await start({ QM_SECRET_KEY: current })).end();
});
