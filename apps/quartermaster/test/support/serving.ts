import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { environmentOf } from './packed.ts';

export type Serving = {
  url: string;
  /** Milliseconds from the start of the process to the first answer that it is ready. */
  startMs: number;
  output: () => string;
  /** Sends SIGTERM. @returns the exit code */
  stop: () => Promise<number | null>;
};

type Options = { folder: string; node: string; port: number; command?: string; env?: Record<string, string> };

/** Starts the installed command of a folder, and waits until it serves. */
export async function serve({ folder, node, port, command, env = {} }: Options): Promise<Serving> {
  const startedAt = performance.now();
  const child = spawn(join(folder, 'node_modules/.bin/quartermaster'), command === undefined ? [] : [command], {
    cwd: folder,
    env: environmentOf(node, { PORT: String(port), ...OFF, ...env }),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const ended = once(child, 'close') as Promise<[number | null]>;
  const url = `http://127.0.0.1:${port}`;
  for (;;) {
    if (child.exitCode !== null) throw new Error(`the server ended: ${output}`);
    const answer = await fetch(`${url}/readyz`).catch(() => null);
    if (answer?.ok) break;
    await sleep(20);
  }
  return {
    url,
    startMs: performance.now() - startedAt,
    output: () => output,
    stop: async () => {
      child.kill('SIGTERM');
      const [code] = await ended;
      return code;
    },
  };
}

const OFF = { QM_METRICS_PORT: 'off', QM_OTLP_GRPC_PORT: 'off', QM_SHUTDOWN_DELAY_MS: '0' };
