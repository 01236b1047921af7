import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MARKERS } from '../model-server/markers.ts';
import { countAgent, mcpCommand, modelServerUrl, telemetryUrl } from '../recorder/program.ts';
import { HOME, runBoth, runCli } from './run-cli.ts';

mkdirSync(join(HOME, '.copilot/agents'), { recursive: true });
writeFileSync(
  join(HOME, '.copilot/agents/weather_agent.agent.md'),
  `---\nname: weather_agent\ndescription: ${MARKERS.toolDescription}\n---\n${MARKERS.instructions}\n`,
);
const servers = { mcpServers: { everything: { type: 'local', tools: ['*'], ...mcpCommand } } };
// All other tools are left out, so that the recording stays small.
const tools = ['bash', 'view', 'task', 'everything-echo', 'everything-get-sum'];
const options = ['--allow-all-tools', '--allow-all-paths', '--no-auto-update', '--available-tools', ...tools];

// Its own provider settings: without GitHub, no sign-in is needed. `node copilot-cli.ts content` records content too.
const environment = {
  COPILOT_OFFLINE: 'true',
  COPILOT_PROVIDER_BASE_URL: `${modelServerUrl}/v1`,
  COPILOT_PROVIDER_TYPE: 'openai',
  COPILOT_PROVIDER_WIRE_API: 'responses',
  COPILOT_PROVIDER_API_KEY: 'sk-scripted',
  COPILOT_MODEL: 'gpt-5-mini',
  OTEL_EXPORTER_OTLP_ENDPOINT: telemetryUrl,
  OTEL_EXPORTER_OTLP_HEADERS: 'x-api-key=recorded',
  OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
  ...(process.argv[2] === 'content' && { OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'true' }),
};
countAgent('weather_agent');
await runBoth((question) =>
  runCli('.bin/copilot', ['-p', question, ...options, '--additional-mcp-config', JSON.stringify(servers)], environment),
);
