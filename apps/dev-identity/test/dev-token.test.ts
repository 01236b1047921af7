import { execFile } from 'node:child_process';
import * as http from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runDevToken } from '../src/run-dev-token.ts';
import { obtainToken } from '../src/sign-in.ts';
import type { DevServer } from './server.ts';
import { startServer } from './server.ts';

let server: DevServer;

beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.close());

const PROGRAM = fileURLToPath(new URL('../src/dev-token.ts', import.meta.url));

/** The compile cache that `npm start` uses. */
const NODE_COMPILE_CACHE = fileURLToPath(new URL('../../../node_modules/.cache/quartermaster', import.meta.url));

type Result = { code: number; stdout: string; stderr: string };

/** Runs the program in a separate process. */
function spawnProgram(env: Record<string, string>, ...args: string[]): Promise<Result> {
  return new Promise((resolve) => {
    const options = { env: { PATH: process.env['PATH'], NODE_COMPILE_CACHE, ...env } };
    execFile(process.execPath, [PROGRAM, ...args], options, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}

/** Runs the command in this process. */
async function run(environment: Record<string, string>, ...argv: string[]): Promise<Result> {
  let [stdout, stderr] = ['', ''];
  const code = await runDevToken({
    argv,
    environment,
    stdout: { write: (text) => (stdout += text) },
    stderr: { write: (text) => (stderr += text) },
  });
  return { code, stdout, stderr };
}

const portOf = ({ origin }: DevServer) => new URL(origin).port;

test('the program prints the access token of the administrator and nothing else', async () => {
  const { code, stdout, stderr } = await spawnProgram({ PORT: portOf(server) });
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+\n$/);
  expect(decodeJwt(stdout.trim())['email']).toBe('admin@example.com');
});

test('if the sign-in is refused, the program exits with code 1 and prints one line, to stderr only', async () => {
  const { code, stdout, stderr } = await spawnProgram({ PORT: portOf(server) }, 'not an email');
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(/^dev-token: [^\n]+\n$/);
});

test('dev-token accepts an email', async () => {
  const { code, stdout, stderr } = await run({ PORT: portOf(server) }, 'viewer@example.com');
  expect([code, stderr]).toEqual([0, '']);
  expect(decodeJwt(stdout.trim())['email']).toBe('viewer@example.com');
});

test.each(['--help', '-h'])('dev-token %s prints its usage', async (option) => {
  const { code, stdout, stderr } = await run({}, option);
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toMatch(/^Usage: npm run --silent dev-token -- \[<email>\]\n/);
});

test.each([[['--mail']], [['a@example.com', 'b@example.com']]])('dev-token refuses %j', async (args) => {
  const { code, stdout, stderr } = await run({}, ...args);
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toMatch(/^Usage: /);
});

test('dev-token says that no server is running', async () => {
  const gone = await startServer();
  await gone.close();
  const { code, stdout, stderr } = await run({ PORT: portOf(gone) });
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(/^dev-token: no server answers at http:\/\/127\.0\.0\.1:\d+\. .*\n$/);
});

test('dev-token says that the server has no development identity provider', async () => {
  const other = http.createServer((_req, res) => res.writeHead(404).end());
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  const { code, stdout, stderr } = await run({ PORT: String((other.address() as AddressInfo).port) });
  other.close();
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(/without the development identity provider/);
});

test('dev-token says that an email was refused', async () => {
  const { code, stdout, stderr } = await run({ PORT: portOf(server) }, 'not an email');
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(/as not an email was refused/);
});

test('obtainToken can be aborted', async () => {
  const signal = AbortSignal.abort(new Error('stopped'));
  await expect(obtainToken({ issuer: server.issuer, email: 'a@example.com', signal })).rejects.toThrow('stopped');
});
