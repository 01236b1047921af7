import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { VERSION } from '@quartermaster/api/src/config.ts';
import { launchBrowser } from '@quartermaster/console/testing/browser.ts';
import { signInByForm } from '@quartermaster/console/testing/sign-in.ts';
import { freePort } from '@quartermaster/db/testing/free-port.ts';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { run } from './support/packed.ts';

const WORKSPACE = join(import.meta.dirname, '..');

/** What the image takes on a disk, in bytes. */
const MAX_IMAGE = 180_000_000;

const USER = 10_001;

const isInstalled = (program: string) => spawnSync(program, ['--version']).status === 0;

/** A container without a daemon needs root, here or in a user namespace. */
const canBuild = process.getuid?.() === 0 && isInstalled('buildah') && isInstalled('mmdebstrap');

describe.skipIf(!canBuild)('the image (skipped without root, buildah and mmdebstrap)', () => {
  let folder = '';
  let root = '';
  let data = '';
  let env: Record<string, string> = {};
  let port = 0;

  const buildah = (...args: string[]) => run('buildah', args, { cwd: folder, env });

  beforeAll(async () => {
    folder = join(tmpdir(), `quartermaster-image-test-${process.pid}`);
    data = join(folder, 'data');
    await mkdir(data, { recursive: true, mode: 0o700 });
    await chown(data, USER, USER);
    const storage = { driver: 'vfs', graphroot: join(folder, 'root'), runroot: join(folder, 'run') };
    const lines = Object.entries(storage).map(([name, value]) => `${name} = "${value}"`);
    await writeFile(join(folder, 'storage.conf'), ['[storage]', ...lines, ''].join('\n'));
    env = { CONTAINERS_STORAGE_CONF: join(folder, 'storage.conf'), BUILDAH_ISOLATION: 'chroot' };
    await run(process.execPath, [join(WORKSPACE, 'image.ts')], { cwd: WORKSPACE, env });
    await buildah('from', '--name', 'tried', `quartermaster:${VERSION}`);
    root = (await buildah('mount', 'tried')).trim();
    port = await freePort();
  });

  afterAll(async () => {
    await buildah('rm', '--all').catch(() => {});
    await rm(folder, { recursive: true, force: true });
  });

  test('is small, and says what it is, who runs it and how its health is checked', async () => {
    const image = JSON.parse(await buildah('inspect', '--type', 'image', `quartermaster:${VERSION}`)) as {
      Docker: { config: Record<string, unknown> };
      Manifest: string;
    };
    const { layers } = JSON.parse(image.Manifest) as { layers: { size: number }[] };
    expect(layers.reduce((sum, { size }) => sum + size, 0)).toBeLessThan(MAX_IMAGE);
    expect(image.Docker.config).toMatchObject({
      User: `${USER}:${USER}`,
      Entrypoint: ['quartermaster'],
      Cmd: ['serve'],
      Volumes: { '/data': {} },
      Env: expect.arrayContaining(['HOST=0.0.0.0', 'QM_DATA_DIR=/data', 'SQLITE_TMPDIR=/data']),
      StopSignal: 'SIGTERM',
      Healthcheck: { Test: ['CMD', 'quartermaster', 'healthcheck'] },
      Labels: { 'org.opencontainers.image.version': VERSION, 'org.opencontainers.image.licenses': 'Apache-2.0' },
    });
  });

  test('has no shell, no package manager, and no file of the service that its user may change', async () => {
    const programs = await readdir(join(root, 'usr/bin'));
    expect(programs).toEqual([]);
    expect((await readdir(join(root, 'usr/local/bin'))).toSorted()).toEqual(['node', 'quartermaster']);
    const ofUser = ['(', '-uid', String(USER), '-o', '-perm', '-o+w', '-not', '-type', 'l', ')'];
    const found = await run('find', ['.', '-path', './dev', '-prune', '-o', ...ofUser, '-print'], { cwd: root });
    expect(found.trim().split('\n').toSorted()).toEqual(['./data', './tmp', './var/lock', './var/tmp']);
  });

  test('lists Node and the packages of Debian in its bill of materials', async () => {
    const bill = JSON.parse(await readFile(join(root, 'usr/share/sbom/quartermaster.cdx.json'), 'utf8')) as {
      components: { name: string; version: string; purl: string }[];
    };
    const versionOf = (name: string) => bill.components.find((component) => component.name === name)?.version;
    const purls = bill.components.map(({ purl }) => purl);
    expect(purls).toContain(`pkg:generic/node@${process.versions.node}`);
    for (const name of ['libc6', 'libstdc++6', 'express', 'react']) expect(versionOf(name), name).toBeDefined();
  });

  test('runs by buildah, and tells in one line what a start needs', async () => {
    expect(await buildah('run', 'tried', '--', 'quartermaster', 'version')).toBe(`${VERSION}\n`);
    await expect(buildah('run', 'tried', '--', 'quartermaster', 'serve')).rejects.toMatchObject({
      stderr: expect.stringMatching(
        /^QM_PUBLIC_URL: is required [^\n]+\nQM_OIDC_ISSUER: is required by quartermaster serve/,
      ),
    });
  });

  test('serves with a read-only root as its user, is backed up, and starts again on the backup', async () => {
    const first = await start();
    const key = (await readFile(join(data, 'quartermaster.db.bootstrap-key'), 'utf8')).trim();
    expect(await command('healthcheck')).toBe('ready\n');
    const headers = { 'X-API-Key': key };
    expect((await fetch(`${url()}/console/`)).status).toBe(200);
    const answer = await fetch(`${url()}/v1/providers`, {
      method: 'POST',
      headers: { ...headers, 'Content-Type': 'application/json' },
      body: '{"name":"openai","kind":"llm","baseUrl":"https://api.openai.com/v1","tenantId":"default"}',
    });
    expect(answer.ok).toBe(true);
    await command('backup', '--to', '/data/backup.db');
    await expect(command('backup', '--to', '/backup.db')).rejects.toMatchObject({
      stderr: expect.stringMatching(/EROFS|CANTOPEN|read-only|unable to open/i),
    });
    expect(await first.stop()).toBe(0);
    const second = await start({ DATABASE_URL: 'sqlite:/data/backup.db', QM_SECRET_KEY: await secretKey() });
    const { items } = (await (await fetch(`${url()}/v1/providers`, { headers })).json()) as { items: object[] };
    expect(items).toMatchObject([{ name: 'openai' }]);
    expect(await second.stop()).toBe(0);
  });

  test('is filled with sample data, which its console shows in a browser', async () => {
    const development = {
      DATABASE_URL: 'sqlite:/data/sample.db',
      HOST: '127.0.0.1',
      QM_PUBLIC_URL: undefined,
      QM_OIDC_ISSUER: undefined,
    };
    const server = await start(development, 'dev');
    expect(await command('seed')).toContain('/console/inbox?tenant=northwind');
    const secretFile = join(data, `sample.db.sign-in-127.0.0.1-${port}`);
    const { secret } = JSON.parse(await readFile(secretFile, 'utf8')) as { secret: string };
    const link = `${url()}/?secret=${secret}`;
    const browser = await launchBrowser();
    onTestFinished(() => browser.close());
    const page = await browser.newPage();
    const faults: string[] = [];
    page.on('pageerror', ({ message }) => faults.push(message));
    await page.goto(`${url()}/console/inbox?tenant=northwind`);
    await signInByForm(page, { devSignIn: { link, secretFile } }, 'admin@example.com');
    await page.getByRole('heading', { level: 1, name: 'Inbox' }).waitFor();
    await page.getByRole('row').nth(3).waitFor();
    expect(faults).toEqual([]);
    await browser.close();
    expect(await server.stop()).toBe(0);
  });

  test('a new container of the image goes on with the volume of the one before', async () => {
    const headers = { 'X-API-Key': (await readFile(join(data, 'quartermaster.db.bootstrap-key'), 'utf8')).trim() };
    const names = async () => {
      const answer = await fetch(`${url()}/v1/providers`, { headers });
      return ((await answer.json()) as { items: { name: string }[] }).items.map(({ name }) => name);
    };
    const before = await start();
    expect(await names()).toEqual(['openai']);
    expect(await before.stop()).toBe(0);
    await buildah('from', '--name', 'upgraded', `quartermaster:${VERSION}`);
    const former = root;
    root = (await buildah('mount', 'upgraded')).trim();
    onTestFinished(() => {
      root = former;
    });
    const after = await start();
    expect(await names()).toEqual(['openai']);
    expect(await command('healthcheck')).toBe('ready\n');
    expect(await after.stop()).toBe(0);
  });

  test('loses no request when it is stopped under load', async () => {
    const server = await start({ QM_SHUTDOWN_DELAY_MS: '500' });
    const key = (await readFile(join(data, 'quartermaster.db.bootstrap-key'), 'utf8')).trim();
    const stopping = new AbortController();
    let answered = 0;
    const client = async () => {
      while (!stopping.signal.aborted) {
        const answer = await fetch(`${url()}/v1/providers`, { headers: { 'X-API-Key': key } });
        expect(answer.status).toBe(200);
        await answer.json();
        answered += 1;
      }
    };
    const clients = Promise.all([client(), client(), client(), client()]);
    await sleep(300);
    const stopped = server.stop();
    // As a load balancer does: no new requests once the server says that it is not ready.
    while ((await fetch(`${url()}/readyz`)).ok) await sleep(20);
    stopping.abort();
    await clients;
    expect(await stopped).toBe(0);
    expect(answered).toBeGreaterThan(10);
  });

  test('tells in one line that it may not write to its volume', async () => {
    await chown(data, 0, 0);
    await chmod(data, 0o755);
    const { child, output } = spawnInside(['serve'], { DATABASE_URL: 'sqlite:/data/other.db' });
    expect(await once(child, 'close')).toEqual([2, null]);
    expect(output()).toMatch(/^DATABASE_URL: [^\n]*\/data\/other\.db[^\n]*\n$/);
  });

  const url = () => `http://127.0.0.1:${port}`;

  async function secretKey(): Promise<string> {
    return (await readFile(join(data, 'quartermaster.db.key'), 'utf8')).trim();
  }

  /** Starts the image's command with the root mounted read-only, as its user, with the volume. */
  function spawnInside(args: readonly string[], more: Record<string, string | undefined> = {}) {
    const mounts = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && mount --bind "$1" "$0/data"';
    const enter = `${mounts} && shift && exec chroot --userspec=${USER}:${USER} "$0" /usr/local/bin/quartermaster "$@"`;
    const child = spawn('unshare', ['--mount', 'sh', '-c', enter, root, data, ...args], {
      env: {
        PATH: '/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
        HOST: '0.0.0.0',
        QM_DATA_DIR: '/data',
        SQLITE_TMPDIR: '/data',
        PORT: String(port),
        QM_PUBLIC_URL: url(),
        QM_OIDC_ISSUER: 'none',
        QM_METRICS_PORT: 'off',
        QM_OTLP_GRPC_PORT: 'off',
        QM_SHUTDOWN_DELAY_MS: '0',
        ...more,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    // A test that failed must not leave a server to the next one.
    onTestFinished(() => void child.kill('SIGKILL'));
    let output = '';
    child.stdout.setEncoding('utf8').on('data', () => {});
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
    return { child, output: () => output };
  }

  async function start(more: Record<string, string | undefined> = {}, name: 'serve' | 'dev' = 'serve') {
    const { child, output } = spawnInside([name], more);
    const ended = once(child, 'close') as Promise<[number | null]>;
    while (!(await fetch(`${url()}/readyz`).catch(() => null))?.ok) {
      if (child.exitCode !== null) throw new Error(`the server ended: ${output()}`);
      await sleep(20);
    }
    return {
      stop: async () => {
        child.kill('SIGTERM');
        const [code] = await ended;
        return code;
      },
    };
  }

  async function command(...args: string[]): Promise<string> {
    const { child, output } = spawnInside(args);
    let stdout = '';
    child.stdout.on('data', (text: string) => {
      stdout += text;
    });
    const [code] = (await once(child, 'close')) as [number | null];
    if (code !== 0) throw Object.assign(new Error(`exit code ${code}: ${output()}`), { stderr: output() });
    return stdout;
  }
});
