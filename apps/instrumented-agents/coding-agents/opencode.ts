import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout } from 'node:timers/promises';
import { MARKERS } from '../model-server/markers.ts';
import { countAgent, mcpCommand, modelServerUrl, telemetryUrl } from '../recorder/program.ts';
import { FAILING_QUESTION, HOME, QUESTION, runCli, startCli } from './run-cli.ts';

mkdirSync(join(HOME, '.config/opencode'), { recursive: true });
writeFileSync(
  join(HOME, '.config/opencode/opencode.json'),
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
      build: { prompt: MARKERS.instructions },
      weather_agent: { mode: 'subagent', description: MARKERS.toolDescription, prompt: MARKERS.instructions },
    },
    experimental: { openTelemetry: true },
  }),
);
const environment = {
  OPENCODE_DISABLE_MODELS_FETCH: 'true',
  OTEL_EXPORTER_OTLP_ENDPOINT: telemetryUrl,
  OTEL_EXPORTER_OTLP_HEADERS: 'x-api-key=recorded',
};
// Its command is a script that runs the program of the platform.
const program = '.pnpm/node_modules/opencode-linux-x64/bin/opencode';

// `opencode run` ends without sending what it has collected, so a server runs the agents.
const server = startCli(program, ['serve', '--port', '0'], environment);
let url: string | undefined;
for await (const line of createInterface({ input: server.stdout })) {
  url = /http:\/\/\S+/.exec(line)?.[0];
  if (url !== undefined) break;
}
server.stdout.resume();
countAgent('build');
countAgent('weather_agent');
for (const question of [QUESTION, FAILING_QUESTION]) {
  await runCli(program, ['run', '--attach', url ?? '', question], environment);
}
// It sends every 5 seconds.
await setTimeout(7000);
server.kill();
