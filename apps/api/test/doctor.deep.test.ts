import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import SqliteDatabase from 'better-sqlite3';
import { freePort } from '@quartermaster/db/testing/free-port.ts';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Finding } from '../src/commands/doctor/finding.ts';
import { runDoctor } from '../src/commands/doctor/run-doctor.ts';
import { ROOT } from '../src/config.ts';
import { startNginx } from './gateway-decisions/proxies/start.ts';
import { runInProcess } from './support/command.ts';
import { databaseFile, newBootstrapKey } from './support/environment.ts';
import { databaseServedOnce, startService } from './support/start.ts';

const KEY = newBootstrapKey();

type Diagnosis = { code: number; findings: Finding[]; text: string };

async function diagnose(environment: Record<string, string>, ...argv: string[]): Promise<Diagnosis> {
  const { stdout: text } = await runInProcess(runDoctor, argv, environment);
  const { code, stdout } = await runInProcess(runDoctor, [...argv, '--json'], environment);
  const { findings } = JSON.parse(stdout) as { findings: Finding[] };
  return { code, findings, text };
}

/** A running service with a known key. */
async function service(environment: Record<string, string> = {}) {
  const { url } = await startService({
    DATABASE_URL: `sqlite:${await databaseFile()}`,
    QM_BOOTSTRAP_API_KEY: KEY,
    ...environment,
  });
  return url;
}

/** A database with a signing key, which the second start makes. */
async function databaseWithSecrets() {
  const served = await databaseServedOnce();
  const { stop } = await startService({ DATABASE_URL: served.DATABASE_URL });
  await stop();
  return served;
}

/** A proxy in front of a service, which does something wrong. `handle` answers itself, or changes the request. */
async function proxyOf(target: string, handle: (req: IncomingMessage, res: ServerResponse) => void): Promise<string> {
  const proxy = createServer((req, res) => {
    handle(req, res);
    if (res.writableEnded) return;
    const forwarded = request(target + (req.url ?? ''), { method: req.method, headers: req.headers }, (answer) => {
      for (const [name, value] of Object.entries(answer.headers)) {
        if (!res.hasHeader(name) && value !== undefined) res.setHeader(name, value);
      }
      if (res.getHeader('x-request-id') === 'dropped') res.removeHeader('x-request-id');
      res.writeHead(answer.statusCode ?? 502);
      answer.pipe(res);
    });
    req.pipe(forwarded);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    proxy.close();
    proxy.closeAllConnections();
  });
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
}

type Broken = {
  name: string;
  check: string;
  found: RegExp;
  fix: RegExp;
  /** Makes the set-up. @returns the environment and the arguments of the doctor */
  make: () => Promise<{ environment?: Record<string, string>; argv?: string[] }>;
};

const BROKEN: Broken[] = [
  {
    name: 'a misspelt setting',
    check: 'settings',
    found: /QM_PUBLC_URL: is not a setting\. Did you mean QM_PUBLIC_URL\?/,
    fix: /change the variables/,
    make: async () => ({ environment: { QM_PUBLC_URL: 'https://qm.example.com' } }),
  },
  {
    name: 'a folder of the database that does not exist',
    check: 'folder',
    found: /\/missing does not exist/,
    fix: /create it, or set QM_DATA_DIR/,
    make: async () => ({ environment: { QM_DATA_DIR: `${dirname(await databaseFile())}/missing/data` } }),
  },
  {
    name: 'a database of a newer version',
    check: 'database',
    found: /has the migration 9999-future, which this version does not know: start a newer one/,
    fix: /DATABASE_URL/,
    make: async () => {
      const { DATABASE_URL, file } = await databaseServedOnce();
      const db = new SqliteDatabase(file);
      db.prepare('insert into kysely_migration (name, timestamp) values (?, ?)').run('9999-future', '2030-01-01');
      db.close();
      return { environment: { DATABASE_URL } };
    },
  },
  {
    name: 'a database of another program',
    check: 'database',
    found: /has a table customers of another application/,
    fix: /DATABASE_URL/,
    make: async () => {
      const file = await databaseFile();
      await mkdir(dirname(file), { recursive: true });
      const db = new SqliteDatabase(file);
      db.exec('create table customers (id integer)');
      db.close();
      return { environment: { DATABASE_URL: `sqlite:${file}` } };
    },
  },
  {
    name: 'a database server that is down',
    check: 'database',
    found: /cannot be used: connect ECONNREFUSED/,
    fix: /check that the database runs/,
    make: async () => {
      const QM_SECRET_KEY = Buffer.alloc(32, 7).toString('base64');
      return { environment: { DATABASE_URL: 'postgres://me:hunter2@127.0.0.1:1/qm', QM_SECRET_KEY } };
    },
  },
  {
    name: 'a restored database without its key file',
    check: 'secret key',
    found: /is missing, and the database has secrets/,
    fix: /restore the file/,
    make: async () => {
      const { DATABASE_URL, file } = await databaseWithSecrets();
      await rm(`${file}.key`);
      return { environment: { DATABASE_URL } };
    },
  },
  {
    name: 'the key of another database',
    check: 'secret key',
    found: /QM_SECRET_KEY is not the key of this database/,
    fix: /set QM_SECRET_KEY to the key/,
    make: async () => {
      const { DATABASE_URL } = await databaseWithSecrets();
      return { environment: { DATABASE_URL, QM_SECRET_KEY: Buffer.alloc(32, 9).toString('base64') } };
    },
  },
  {
    name: 'a server that does not run',
    check: 'address',
    found: /does not answer: ECONNREFUSED/,
    fix: /start the server/,
    make: async () => ({ argv: ['--url', `http://127.0.0.1:${await freePort()}`] }),
  },
  {
    name: 'another program at the address',
    check: 'address',
    found: /answers 200, but not as Quartermaster/,
    fix: /another program/,
    make: async () => ({ argv: ['--url', await proxyOf('', (_req, res) => res.end('hello'))] }),
  },
  {
    name: 'a proxy that redirects to https',
    check: 'address',
    found: /redirects to https:\/\/qm\.example\.com/,
    fix: /use that address/,
    make: async () => {
      const redirect = (_req: IncomingMessage, res: ServerResponse) =>
        res.writeHead(301, { Location: 'https://qm.example.com/' }).end();
      return { argv: ['--url', await proxyOf('', redirect)] };
    },
  },
  {
    name: 'a proxy that drops the header with the key',
    check: 'key',
    found: /the server got no key/,
    fix: /a proxy drops the header X-API-Key/,
    make: async () => {
      const drop = (req: IncomingMessage) => {
        delete req.headers['x-api-key'];
      };
      return { argv: ['--url', await proxyOf(await service(), drop)], environment: { QM_API_KEY: KEY } };
    },
  },
  {
    name: 'a proxy that accepts 1 MiB',
    check: 'large bodies',
    found: /refused \(413\)/,
    fix: /client_max_body_size 64m/,
    make: async () => {
      const limit = (req: IncomingMessage, res: ServerResponse) => {
        if (Number(req.headers['content-length'] ?? 0) > 1024 * 1024) {
          req.resume();
          res.writeHead(413).end();
        }
      };
      return { argv: ['--url', await proxyOf(await service(), limit)] };
    },
  },
  {
    name: 'a proxy that drops headers of answers',
    check: 'headers',
    found: /X-Request-Id is missing/,
    fix: /a proxy drops headers/,
    make: async () => ({
      argv: ['--url', await proxyOf(await service(), (_req, res) => void res.setHeader('x-request-id', 'dropped'))],
    }),
  },
  {
    name: 'a clock that is an hour ahead',
    check: 'clock',
    found: /this machine is 3[56]\d\d s behind the server/,
    fix: /NTP/,
    make: async () => {
      const late = (_req: IncomingMessage, res: ServerResponse) =>
        void res.setHeader('date', new Date(Date.now() + 3_600_000).toUTCString());
      return { argv: ['--url', await proxyOf(await service(), late)] };
    },
  },
  {
    name: 'a key that is not valid',
    check: 'key',
    found: /not valid: unknown, revoked or expired/,
    fix: /create a key/,
    make: async () => ({
      argv: ['--url', await service()],
      environment: { QM_API_KEY: newBootstrapKey() },
    }),
  },
  {
    name: 'an exporter that sends gRPC to the port of HTTP',
    check: 'exporter',
    found: /the protocol is grpc, and \S+ takes HTTP/,
    fix: /OTEL_EXPORTER_OTLP_PROTOCOL=http\/protobuf/,
    make: async () => {
      const url = await service();
      const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' };
      return { argv: ['--url', url], environment };
    },
  },
  {
    name: 'an exporter without a key',
    check: 'exporter',
    found: /OTEL_EXPORTER_OTLP_HEADERS has no key/,
    fix: /x-api-key=/,
    make: async () => {
      const url = await service();
      return { argv: ['--url', url], environment: { OTEL_EXPORTER_OTLP_ENDPOINT: url } };
    },
  },
];

describe('the doctor names what is broken, and what to do', () => {
  test.each(BROKEN)('$name', async ({ check, found, fix, make }) => {
    const { environment = {}, argv = [] } = await make();
    const { code, findings, text } = await diagnose(environment, ...argv);
    const failed = findings.filter(({ status }) => status === 'failed');
    expect(failed).toContainEqual({
      check,
      status: 'failed',
      found: expect.stringMatching(found),
      fix: expect.stringMatching(fix),
    });
    expect(code).toBe(1);
    // The one line of this check, without a stack trace or a secret.
    expect(text).toMatch(new RegExp(`^FAILED +${check} .+\\. To do: .+$`, 'm'));
    expect(text).not.toMatch(/hunter2|qm_key_|\n {4}at /);
  });
});

test('of a healthy server, it fails nothing, says for what the key is valid, and leaves no traces', async () => {
  const url = await service();
  const { code, findings } = await diagnose({ QM_API_KEY: KEY }, '--url', url);
  const statuses = Object.fromEntries(findings.map(({ check, status }) => [check, status]));
  expect(statuses).toEqual({
    address: 'ok',
    ready: 'ok',
    clock: 'ok',
    version: 'ok',
    headers: 'ok',
    'large bodies': 'ok',
    streams: 'ok',
    'request bodies': 'ok',
    key: 'ok',
    traces: 'ok',
    telemetry: 'warning',
    exporter: 'skipped',
  });
  expect(code).toBe(0);
  expect(findings).toContainEqual(
    expect.objectContaining({ found: expect.stringContaining('a platform administrator') }),
  );
});

/** nginx with the lines of the documentation, in front of a service. */
async function documentedNginx(target: string, change: (text: string) => string): Promise<string | null> {
  const page = await readFile(join(ROOT, 'docs/operations.md'), 'utf8');
  const [, documented = ''] = /^```nginx\n(upstream .*?)^```/ms.exec(page) ?? [];
  return startNginx((address) =>
    change(documented)
      .replace('127.0.0.1:8080', new URL(target).host)
      // Without a certificate.
      .replace('listen 443 ssl http2;', `listen ${address};`),
  );
}

test('behind nginx, configured as documented, it fails nothing; it says that nginx collects bodies of requests', async ({
  skip,
}) => {
  const target = await service();
  const url =
    (await documentedNginx(target, (text) => text)) ?? skip('nginx is not installed: apt-get install nginx-light');
  const { code, findings } = await diagnose({}, '--url', url);
  expect(code).toBe(0);
  const found = Object.fromEntries(findings.map((finding) => [finding.check, finding.found]));
  expect(found['streams']).toBe('streams of events are passed on as they come');
  expect(found['request bodies']).toMatch(/^a proxy collects bodies before it passes them on/);
  const passing = (text: string) => text.replace('proxy_pass', 'proxy_request_buffering off; proxy_pass');
  const other = (await documentedNginx(target, passing)) ?? '';
  const { findings: passed } = await diagnose({}, '--url', other);
  expect(passed).toContainEqual(
    expect.objectContaining({ check: 'request bodies', found: 'bodies of requests are passed on as they come' }),
  );
});

test('behind nginx that collects streams, it says so, and what to change', async ({ skip }) => {
  const collecting = (text: string) =>
    text
      .replace('proxy_http_version 1.1;', '')
      .replace('proxy_pass', 'proxy_ignore_headers X-Accel-Buffering; proxy_pass');
  const url =
    (await documentedNginx(await service(), collecting)) ?? skip('nginx is not installed: apt-get install nginx-light');
  const { code, findings, text } = await diagnose({}, '--url', url);
  expect(code).toBe(1);
  expect(findings.filter(({ status }) => status === 'failed').map(({ check }) => check)).toEqual(['streams']);
  expect(text).toMatch(/^FAILED +streams +a proxy collects a stream .+ To do: .+ nginx: proxy_buffering off.+$/m);
});

test('before the first start, it creates no file', async () => {
  const file = await databaseFile();
  const { findings } = await diagnose({ DATABASE_URL: `sqlite:${file}`, PORT: String(await freePort()) });
  expect(findings.map(({ check, status }) => [check, status])).toEqual([
    ['settings', 'ok'],
    ['folder', 'ok'],
    ['database', 'ok'],
    ['address', 'failed'],
  ]);
  await expect(writeFile(file, '', { flag: 'wx' })).resolves.toBeUndefined();
});

test('refuses an address that is not a URL, and unknown options, with exit code 2', async () => {
  for (const argv of [['--url', 'example'], ['--bogus']]) {
    expect(await runInProcess(runDoctor, argv)).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(/usage:/),
    });
  }
});
