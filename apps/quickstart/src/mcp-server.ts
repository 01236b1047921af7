import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { Failure } from './failure.ts';

const TIME_LIMIT_MS = 30_000;

/** Starts `@modelcontextprotocol/server-everything` over streamable HTTP, in a process that ends with this one. */
export async function startMcpServer(): Promise<{ url: string; stop: () => Promise<void> }> {
  const program = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'));
  const preload = new URL('./loopback-only.ts', import.meta.url).href;
  const child = spawn(process.execPath, ['--import', preload, program, 'streamableHttp'], {
    // One of its tools returns the whole environment, so it gets an empty one.
    env: {},
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  let output = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    output = (output + text).slice(-2000);
  });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const stop = () => {
    child.kill();
    return ended;
  };
  const listening = Promise.withResolvers<number>();
  child.once('message', (port) => listening.resolve(Number(port)));
  child.once('error', (cause) => listening.reject(new Failure('The MCP server could not be started.', { cause })));
  void ended.then(() => listening.reject(new Failure(`The MCP server ended:\n${output}`)));
  const late = () =>
    listening.reject(new Failure(`The MCP server did not start in ${TIME_LIMIT_MS / 1000} s:\n${output}`));
  const timer = setTimeout(late, TIME_LIMIT_MS);
  try {
    return { url: `http://127.0.0.1:${await listening.promise}/mcp`, stop };
  } catch (error) {
    await stop();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}
