import { mkdir, readdir, readFile, rm, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { freePort } from '@quartermaster/db/testing/free-port.ts';
import { temporaryFolder } from '@quartermaster/db/testing/temporary-folder.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DIST, installInto, packQuartermaster, run, sizeOf } from './support/packed.ts';
import { serve, type Serving } from './support/serving.ts';

const ROOT = join(import.meta.dirname, '../../..');

/** What an installation takes without Node, in bytes. */
const MAX_INSTALLED = 40_000_000;

/** Larger ones are read in a worker thread. */
const LARGE_BODY = 700_000;

let folder = '';
let tarball = '';

beforeAll(async () => {
  folder = await temporaryFolder('quartermaster-package-');
  tarball = await packQuartermaster(folder);
});

afterAll(() => rm(folder, { recursive: true, force: true }));

/** Node 22 is installed from npm, which takes half a minute, so only the full form tests with it. */
const NODES = process.env['QM_TEST_FULL'] === undefined ? ['this'] : ['this', '22'];

describe.each(NODES)('the package on Node %s', (version) => {
  let node = process.execPath;
  let project = '';
  let server: Serving;
  let key = '';

  beforeAll(async () => {
    if (version !== 'this') node = await installNode(version);
    project = join(folder, `project-${version}`);
    await mkdir(project);
    await installInto(project, [tarball], node);
    server = await serve({ folder: project, node, port: await freePort() });
    key = (await readFile(join(project, 'quartermaster-data/quartermaster.db.bootstrap-key'), 'utf8')).trim();
  });

  afterAll(() => server?.stop());

  const command = (...args: string[]) =>
    run(join(project, 'node_modules/.bin/quartermaster'), args, {
      cwd: project,
      node,
      env: { PORT: new URL(server.url).port, QM_API_KEY: key },
    });
  const get = (path: string) => fetch(`${server.url}${path}`, { headers: { 'X-API-Key': key } });

  test('is small, has no TypeScript and no install script, and only better-sqlite3 is native', async () => {
    const modules = join(project, 'node_modules');
    expect(await sizeOf(modules)).toBeLessThan(MAX_INSTALLED);
    const files = (await readdir(modules, { recursive: true })).filter((path) => !path.startsWith('.cache'));
    expect(files.filter((path) => /^quartermaster\/.*\.tsx?$/.test(path))).toEqual([]);
    const native = files.filter((path) => path.endsWith('.node'));
    expect(native.length).toBeGreaterThan(0);
    expect(native.filter((path) => !path.startsWith('better-sqlite3/'))).toEqual([]);
    const manifests = files.filter((path) => /^(@[^/]+\/)?[^/]+\/package\.json$/.test(path));
    for (const path of manifests) {
      const { scripts = {} } = JSON.parse(await readFile(join(modules, path), 'utf8')) as { scripts?: object };
      expect(Object.keys(scripts).filter((name) => /^(pre|post)?install$/.test(name))).toEqual([]);
    }
  });

  test('answers within 10 seconds, and serves API, console, API reference and document', async () => {
    expect(server.startMs).toBeLessThan(10_000);
    expect(await (await get('/v1/tenants')).json()).toMatchObject({ items: [{ id: 'default' }] });
    const page = await (await get('/console/inbox')).text();
    const [script = ''] = /\/console\/assets\/[^"]+\.js/.exec(page) ?? [];
    for (const path of [script, '/docs/swagger-ui-bundle.js', '/openapi.json', '/favicon.ico', '/readyz']) {
      expect({ path, status: (await get(path)).status }).toEqual({ path, status: 200 });
    }
  });

  test('keeps its data, and the files beside it, to their owner', async () => {
    const data = join(project, 'quartermaster-data');
    expect((await stat(join(data, 'quartermaster.db.key'))).mode & 0o077).toBe(0);
    expect((await stat(join(data, 'quartermaster.db.bootstrap-key'))).mode & 0o077).toBe(0);
  });

  test('reads a large request in a worker thread', async () => {
    const account = { id: 'agent', name: 'Agent', tenantId: 'default' };
    await post('/v1/service-accounts', account);
    const { key: ingest } = await post('/v1/service-accounts/agent/keys?tenant_id=default', {
      scopes: ['traces:write'],
    });
    const answer = await fetch(`${server.url}/v1/traces`, {
      method: 'POST',
      headers: { 'X-API-Key': ingest, 'Content-Type': 'application/json' },
      body: JSON.stringify(tracesOf('x'.repeat(LARGE_BODY))),
    });
    expect({ status: answer.status, body: await answer.json() }).toEqual({ status: 200, body: {} });
    // The cost of the call comes from the list of prices, whose files are in the package.
    const { items } = (await (await get('/v1/usage?tenant_id=default')).json()) as { items: { cost?: object }[] };
    expect(items).toEqual([expect.objectContaining({ cost: expect.anything() })]);
  });

  test('healthcheck, dev-token and an unknown command have exit codes', async () => {
    expect(await command('healthcheck')).toBe('ready\n');
    expect(await command('dev-token')).toMatch(/^eyJ/);
    const version = await run('npx', ['--no-install', 'quartermaster', 'version'], { cwd: project, node });
    expect(version).toMatch(/^\d+\.\d+\.\d+\n$/);
    await expect(command('start')).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringContaining('no such command'),
    });
    await expect(command('serve')).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^QM_OIDC_ISSUER: is required by npx quartermaster serve: /),
    });
  });

  test('seeds, makes a backup, stops on SIGTERM, and starts again with its data', async () => {
    expect(await command('seed')).toContain('/console/inbox?tenant=northwind');
    const copy = join(project, 'copy.db');
    expect(await command('backup', '--to', 'copy.db')).toContain(copy);
    expect(await server.stop()).toBe(0);
    const port = await freePort();
    const env = { DATABASE_URL: `sqlite:${copy}`, QM_SECRET_KEY: await secretKey(), QM_OIDC_ISSUER: 'none' };
    await expect(
      run(join(project, 'node_modules/.bin/quartermaster'), ['serve'], { cwd: project, node, env }),
    ).rejects.toMatchObject({
      stderr: expect.stringContaining('npx quartermaster remove-development-users'),
    });
    server = await serve({ folder: project, node, port });
    const { items } = (await (await get('/v1/tenants')).json()) as { items: { id: string }[] };
    expect(items.map(({ id }) => id)).toContain('northwind');
    expect(await command('admin-key')).toMatch(/^qm_key_/);
  });

  async function post(path: string, body: object): Promise<{ key: string }> {
    const headers = { 'X-API-Key': key, 'Content-Type': 'application/json' };
    const answer = await fetch(`${server.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    expect([200, 201]).toContain(answer.status);
    return (await answer.json()) as { key: string };
  }

  async function secretKey(): Promise<string> {
    return (await readFile(join(project, 'quartermaster-data/quartermaster.db.key'), 'utf8')).trim();
  }
});

test('the bill of materials lists exactly the packages whose licenses the package contains, all of them in the lock file', async () => {
  const { components } = JSON.parse(await readFile(join(DIST, 'sbom.cdx.json'), 'utf8')) as {
    components: { group?: string; name: string; version?: string; licenses?: object[] }[];
  };
  const names = components.map(
    ({ group, name, version }) => `${group === undefined ? '' : `${group}/`}${name}@${version}`,
  );
  expect(new Set(names).size).toBe(names.length);
  const licenses = await readFile(join(DIST, 'THIRD-PARTY-LICENSES.txt'), 'utf8');
  const licensed = [...licenses.matchAll(/^(\S+) (\d\S*) \(.+\)$/gm)].map(([, name, version]) => `${name}@${version}`);
  expect(names.toSorted()).toEqual(licensed.toSorted());
  const lock = await readFile(join(ROOT, 'pnpm-lock.yaml'), 'utf8');
  const locked = new Set(
    [...lock.matchAll(/^ {2}'?((?:@[^/\s]+\/)?[^@\s']+@[^:('\s]+)'?:/gm)].map(([, entry]) => entry),
  );
  expect(names.filter((name) => !locked.has(name))).toEqual([]);
  expect(components.filter(({ licenses: found = [] }) => found.length === 0)).toEqual([]);
  const require = createRequire(join(DIST, 'lib/quartermaster.js'));
  expect(names).toContain(`better-sqlite3@${require('better-sqlite3/package.json').version}`);
});

async function installNode(version: string): Promise<string> {
  const nodes = join(folder, `node-${version}`);
  await mkdir(nodes);
  await installInto(nodes, [`node-${process.platform}-${process.arch}@${version}`]);
  return join(nodes, `node_modules/node-${process.platform}-${process.arch}/bin/node`);
}

function tracesOf(padding: string): object {
  const now = `${Math.floor(Date.now() / 1000)}000000000`;
  const text = (key: string, value: string) => ({ key, value: { stringValue: value } });
  const attributes = [
    text('gen_ai.operation.name', 'chat'),
    text('gen_ai.provider.name', 'openai'),
    text('gen_ai.request.model', 'gpt-5'),
    { key: 'gen_ai.usage.input_tokens', value: { intValue: '1000' } },
    text('padding', padding),
  ];
  const span = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), name: 'chat gpt-5', kind: 3 };
  const spans = [{ ...span, startTimeUnixNano: now, endTimeUnixNano: now, attributes }];
  return { resourceSpans: [{ resource: { attributes: [text('service.name', 'agent')] }, scopeSpans: [{ spans }] }] };
}
