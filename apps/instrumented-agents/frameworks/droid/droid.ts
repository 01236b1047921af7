/** Droid without a terminal and without its vendor's servers: built-in tools, MCP tools, a subagent and a failure. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { MARKERS } from '../../model-server/markers.ts';
import { countAgent, mcpCommand, modelServerUrl, telemetryUrl } from '../../recorder/program.ts';

const [format = 'genai'] = process.argv.slice(2);
const HOME = process.env['HOME'] ?? '';
const SETTINGS = join(HOME, '.factory');
const MODEL = 'custom:gpt-5-mini-0';
const PROGRAM = fileURLToPath(new URL('node_modules/@factory/cli-linux-x64/bin/droid', import.meta.url));

mkdirSync(join(SETTINGS, 'droids'), { recursive: true });
const customModel = {
  id: MODEL,
  model: 'gpt-5-mini',
  displayName: 'gpt-5-mini',
  provider: 'generic-chat-completion-api',
  baseUrl: `${modelServerUrl}/v1`,
  apiKey: 'sk-scripted',
  maxOutputTokens: 4000,
};
writeFileSync(
  join(SETTINGS, 'settings.json'),
  JSON.stringify({ cloudSessionSync: false, customModels: [customModel] }),
);
writeFileSync(
  join(SETTINGS, 'mcp.json'),
  JSON.stringify({ mcpServers: { everything: { type: 'stdio', ...mcpCommand } } }),
);
writeFileSync(
  join(SETTINGS, 'droids/weather_agent.md'),
  `---\nname: weather_agent\ndescription: ${MARKERS.toolDescription}\nmodel: inherit\n---\n${MARKERS.instructions}\n`,
);

countAgent('droid');
countAgent('weather_agent');
for (const question of [`What is the weather? ${MARKERS.question}`, `Please fail. ${MARKERS.fail}`]) {
  const child = spawn(PROGRAM, ['exec', '--skip-permissions-unsafe', '-m', MODEL, question], {
    cwd: HOME,
    env: {
      PATH: process.env['PATH'],
      HOME,
      TMPDIR: HOME,
      FACTORY_API_KEY: 'scripted',
      FACTORY_API_BASE_URL: modelServerUrl,
      FACTORY_AIRGAP_ENABLED: 'true',
      FACTORY_DISABLE_KEYRING: 'true',
      FACTORY_DROID_AUTO_UPDATE_ENABLED: 'false',
      OTEL_CUSTOMER_ENABLED: 'true',
      OTEL_TELEMETRY_FORMAT: format,
      OTEL_LOG_MESSAGE_CONTENT: 'true',
      OTEL_EXPORTER_OTLP_ENDPOINT: telemetryUrl,
      OTEL_EXPORTER_OTLP_HEADERS: 'x-api-key=recorded',
    },
    stdio: ['ignore', 'ignore', 'inherit'],
    timeout: 50_000,
  });
  await once(child, 'exit');
}
