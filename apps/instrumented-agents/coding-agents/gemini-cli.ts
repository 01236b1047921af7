import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MARKERS } from '../model-server/markers.ts';
import { countAgent, mcpCommand, modelServerUrl, telemetryUrl } from '../recorder/program.ts';
import { HOME, runBoth, runCli } from './run-cli.ts';

mkdirSync(join(HOME, '.gemini/agents'), { recursive: true });
writeFileSync(
  join(HOME, '.gemini/settings.json'),
  JSON.stringify({
    security: { auth: { selectedType: 'gemini-api-key' } },
    privacy: { usageStatisticsEnabled: false },
    general: { enableAutoUpdate: false },
    experimental: { enableAgents: true },
    telemetry: {
      enabled: true,
      traces: true,
      target: 'local',
      otlpEndpoint: telemetryUrl,
      otlpProtocol: 'http',
      logPrompts: true,
    },
    mcpServers: { everything: { ...mcpCommand, trust: true, includeTools: ['echo', 'get-sum'] } },
  }),
);
writeFileSync(
  join(HOME, '.gemini/agents/weather_agent.md'),
  `---\nname: weather_agent\ndescription: ${MARKERS.toolDescription}\n---\n${MARKERS.instructions}\n`,
);
const instructions = join(HOME, 'system.md');
writeFileSync(instructions, MARKERS.instructions);

const environment = {
  GEMINI_API_KEY: 'scripted',
  GOOGLE_GEMINI_BASE_URL: modelServerUrl,
  // Its own instructions would fill the recording.
  GEMINI_SYSTEM_MD: instructions,
  OTEL_EXPORTER_OTLP_HEADERS: 'x-api-key=recorded',
  OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
};
countAgent('weather_agent');
await runBoth((question) =>
  runCli('.bin/gemini', ['-p', question, '--yolo', '--skip-trust', '-m', 'gemini-3-flash-preview'], environment),
);
