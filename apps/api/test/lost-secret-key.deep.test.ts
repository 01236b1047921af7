import { spawn, spawnSync } from 'node:child_process';
import { copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import SqliteDatabase from 'better-sqlite3';
import { expect, onTestFinished, test, vi } from 'vitest';
import { databaseFile, newBootstrapKey } from './support/environment.ts';
import { MAIN, NODE_COMPILE_CACHE, SERVER_SH } from './support/process.ts';
import { startFailure, startService } from './support/start.ts';

const BOOTSTRAP = newBootstrapKey();
const OTHER_KEY = Buffer.alloc(32, 9).toString('base64');

/** A database with a signing key that is encrypted with the key file next to it. No server has it open. */
async function sealedDatabase(): Promise<{ file: string; environment: Record<string, string> }> {
  const file = await databaseFile();
  const environment = { DATABASE_URL: `sqlite:${file}`, QM_BOOTSTRAP_API_KEY: BOOTSTRAP };
  const { url, stop } = await startService(environment);
  expect(await openSession(url, 'edge')).toBe(200);
  await stop();
  return { file, environment };
}

/** Opens a session at a new gateway, which needs the signing key. Returns the status. */
async function openSession(url: string, name: string): Promise<number> {
  const post = (path: string, body: object) =>
    fetch(url + path, {
      method: 'POST',
      headers: { 'x-api-key': BOOTSTRAP, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const { id } = (await (await post('/v1/gateways', { name })).json()) as { id: string };
  return (await post(`/v1/gateways/${id}/sessions`, {})).status;
}

// Regression: after a restore without its key file a new key was created. The loss was noticed only when a secret was used.
test('a start on a restored database without its key file is refused in one line, and no new key is created', async () => {
  const { file, environment } = await sealedDatabase();
  const restored = await databaseFile();
  await copyFile(file, restored);
  const { message, exitCode } = await startFailure({ ...environment, DATABASE_URL: `sqlite:${restored}` });
  expect(exitCode).toBe(2);
  expect(message).toMatch(/^QM_SECRET_KEY: none of the configured keys opens [^\n]+\.key is missing[^\n]*$/);
  await expect(readFile(`${restored}.key`)).rejects.toThrow('ENOENT');

  await copyFile(`${file}.key`, `${restored}.key`);
  const { url } = await startService({ ...environment, DATABASE_URL: `sqlite:${restored}` });
  expect(await openSession(url, 'again')).toBe(200);
});

test.each(['in the key file', 'in QM_SECRET_KEY'])(
  'a start with a wrong key %s is refused, and the key is not printed',
  async (where) => {
    const { file, environment } = await sealedDatabase();
    if (where === 'in the key file') await writeFile(`${file}.key`, `${OTHER_KEY}\n`);
    const configured: Record<string, string> = where === 'in QM_SECRET_KEY' ? { QM_SECRET_KEY: OTHER_KEY } : {};
    const { message, exitCode } = await startFailure({ ...environment, ...configured });
    expect(exitCode).toBe(2);
    expect(message).toMatch(/^QM_SECRET_KEY: none of the configured keys opens [^\n]+$/);
    expect(message).not.toContain(OTHER_KEY.slice(0, 8));
  },
);

test('a start with a damaged key file is refused', async () => {
  const file = await databaseFile();
  await writeFile(`${file}.key`, 'hunter2\n');
  const { message, exitCode } = await startFailure({ DATABASE_URL: `sqlite:${file}` });
  expect(exitCode).toBe(2);
  expect(message).toMatch(/^QM_SECRET_KEY: [^\n]+\.key should hold 32 bytes, base64$/);
});

test('regression: a key file that cannot be read is reported in one line', async () => {
  const file = await databaseFile();
  // Not even root can read this as a file.
  await mkdir(`${file}.key`);
  const { message, exitCode } = await startFailure({ DATABASE_URL: `sqlite:${file}` });
  expect(exitCode).toBe(2);
  expect(message).toMatch(/^QM_SECRET_KEY: [^\n]+\.key cannot be read: EISDIR$/);
});

test('a start with only the former key re-encrypts everything with a new key in the file', async () => {
  const { file, environment } = await sealedDatabase();
  const former = (await readFile(`${file}.key`, 'utf8')).trim();
  await rm(`${file}.key`);
  const first = await startService({ ...environment, QM_SECRET_KEY_PREVIOUS: former });
  await first.stop();
  expect((await readFile(`${file}.key`, 'utf8')).trim()).not.toBe(former);
  const { url } = await startService(environment);
  expect(await openSession(url, 'again')).toBe(200);
});

test('with QM_SECRET_KEY_LOST=1 the service starts, and replaces the lost signing key', async () => {
  const { file, environment } = await sealedDatabase();
  await rm(`${file}.key`);
  const first = await startService({ ...environment, QM_SECRET_KEY_LOST: '1' });
  expect(await openSession(first.url, 'again')).toBe(200);
  await first.stop();
  const second = await startService(environment);
  expect(await openSession(second.url, 'and again')).toBe(200);
});

// Regression: the next start went on without QM_SECRET_KEY_LOST, and reported the audit of every tenant as broken.
test('a start with QM_SECRET_KEY_LOST=1 that is interrupted has to be repeated', async () => {
  const { file, environment } = await sealedDatabase();
  const sealing = await startService(environment);
  await sealing.services.audit.sealer.pass();
  await sealing.stop();
  await writeFile(`${file}.key`, `${OTHER_KEY}\n`);
  const lost = { ...environment, QM_SECRET_KEY_LOST: '1' };
  const db = new SqliteDatabase(file);
  db.exec(`create trigger interrupted before update on audit_heads begin select raise(abort, 'interrupted'); end`);
  await expect(startService(lost)).rejects.toThrow('interrupted');
  db.exec('drop trigger interrupted');
  db.close();

  expect(await startFailure(environment)).toMatchObject({ exitCode: 2 });
  await (await startService(lost)).stop();
  const { url } = await startService(environment);
  const answer = await fetch(`${url}/v1/audit-events/verify?tenant_id=default`, {
    headers: { 'x-api-key': BOOTSTRAP },
  });
  expect(await answer.json()).toMatchObject({ status: 'intact' });
});

/** Runs a script with mounts of its own. Only root may mount without a namespace of users. */
const IN_NAMESPACE = process.getuid?.() === 0 ? ['-m', 'sh', '-ec'] : ['-rm', 'sh', '-ec'];
const canMount = spawnSync('unshare', [...IN_NAMESPACE, 'mount -t tmpfs tmpfs /mnt']).status === 0;

test.skipIf(!canMount)('regression: a disk that is full at the first start leaves no empty key file', async () => {
  const file = await databaseFile();
  const script = `
    mkdir "$DISK" && mount -t tmpfs -o size=4k tmpfs "$DISK" && ln -s "$FILE" "$DISK/q.db"
    head -c 4096 /dev/zero > "$DISK/full"
    sh "$SERVER" "$MAIN" && exit 3
    rm "$DISK/full"
    exec sh "$SERVER" "$MAIN"`;
  const disk = `${file}-disk`;
  const child = spawn('unshare', [...IN_NAMESPACE, script], {
    env: {
      PATH: `${dirname(process.execPath)}:${process.env['PATH'] ?? ''}`,
      NODE_COMPILE_CACHE,
      DISK: disk,
      FILE: file,
      SERVER: SERVER_SH,
      MAIN,
      PORT: '0',
      DATABASE_URL: `sqlite:${disk}/q.db`,
      QM_BOOTSTRAP_API_KEY: BOOTSTRAP,
      QM_METRICS_PORT: 'off',
      QM_OTLP_GRPC_PORT: 'off',
      QM_CONSOLE: 'off',
    },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data: Buffer) => (output += String(data)));
  await vi.waitFor(() => expect(output).toContain('Quartermaster listens on'), { timeout: 60_000 });
  expect(output).toMatch(/QM_SECRET_KEY: [^\n]+ cannot be written: ENOSPC/);
});
