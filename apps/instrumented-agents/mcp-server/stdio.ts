/**
 * `@modelcontextprotocol/server-everything` over stdio, with its tool calls counted: `node stdio.ts <truth file>`. The file
 * is an argument, because MCP clients do not hand their environment on.
 */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { countToolCalls, EVERYTHING_PROGRAM } from './counted-calls.ts';

const truthFile = process.argv[2] ?? '';
const server = spawn(process.execPath, [EVERYTHING_PROGRAM, 'stdio'], {
  // One of its tools answers with the whole environment.
  env: {},
  stdio: ['pipe', 'inherit', 'inherit'],
});
const lines = createInterface({ input: process.stdin });
lines.on('line', (line) => {
  countToolCalls(line, truthFile);
  server.stdin.write(`${line}\n`);
});
lines.on('close', () => server.stdin.end());
server.on('exit', (code) => process.exit(code ?? 1));
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => server.kill(signal));
