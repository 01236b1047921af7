/** Kilo Code without a terminal and without its vendor's servers: built-in tools, MCP tools, a subagent and a failure. */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { MARKERS } from '../../model-server/markers.ts';
import { countAgent, mcpCommand, modelServerUrl, telemetryUrl } from '../../recorder/program.ts';

const HOME = process.env['HOME'] ?? '';
const FOLDER = join(HOME, 'work');
const PROGRAM = fileURLToPath(new URL('node_modules/@kilocode/cli-linux-x64/bin/kilo', import.meta.url));

mkdirSync(FOLDER);
mkdirSync(join(HOME, '.config/kilo'), { recursive: true });
writeFileSync(
  join(HOME, '.config/kilo/kilo.json'),
  JSON.stringify({
    autoupdate: false,
    share: 'disabled',
    model: 'openai/gpt-5-mini',
    small_model: 'openai/gpt-5-mini',
    provider: {
      openai: {
        options: { baseURL: `${modelServerUrl}/v1`, apiKey: 'sk-scripted' },
        models: { 'gpt-5-mini': {} },
      },
    },
    permission: { '*': 'allow' },
    mcp: { everything: { type: 'local', command: [mcpCommand.command, ...mcpCommand.args] } },
    agent: {
      // Its own instructions would fill the recording.
      code: { prompt: MARKERS.instructions },
      weather_agent: { mode: 'subagent', description: MARKERS.toolDescription, prompt: MARKERS.instructions },
    },
    experimental: { openTelemetry: true },
  }),
);

// `kilo run` ends without sending what it has collected, so a server runs the agents.
const server = start(['serve', '--port', '0']);
let url: string | undefined;
for await (const line of createInterface({ input: server.stdout })) {
  url = /http:\/\/\S+/.exec(line)?.[0];
  if (url !== undefined) break;
}
server.stdout.resume();
countAgent('code');
countAgent('weather_agent');
for (const question of [`What is the weather? ${MARKERS.question}`, `Please fail. ${MARKERS.fail}`]) {
  const run = start(['run', '--attach', url ?? '', question]);
  run.stdout.pipe(process.stdout);
  await once(run, 'exit');
}
// It sends every 5 seconds.
await setTimeout(7000);
server.kill();

function start(args: string[]): ChildProcessByStdio<null, Readable, null> {
  return spawn(PROGRAM, args, {
    cwd: FOLDER,
    env: {
      PATH: process.env['PATH'],
      HOME,
      TMPDIR: HOME,
      TERM: 'dumb',
      LANG: 'C.UTF-8',
      KILO_DISABLE_MODELS_FETCH: 'true',
      KILO_DISABLE_SESSION_INGEST: 'true',
      KILO_TELEMETRY_LEVEL: 'off',
      OTEL_EXPORTER_OTLP_ENDPOINT: telemetryUrl,
      OTEL_EXPORTER_OTLP_HEADERS: 'x-api-key=recorded',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: 60_000,
  });
}
