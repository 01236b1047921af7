import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MARKERS } from '../model-server/markers.ts';
import { countAgent, mcpCommand, modelServerUrl, telemetryUrl } from '../recorder/program.ts';
import { HOME, runBoth, runCli } from './run-cli.ts';

// `node qwen-code.ts denied`: most tools need a permission, which a run without a terminal cannot ask for.
const isDenied = process.argv[2] === 'denied';
mkdirSync(join(HOME, '.qwen/agents'), { recursive: true });
writeFileSync(
  join(HOME, '.qwen/settings.json'),
  JSON.stringify({
    security: { auth: { selectedType: 'openai' } },
    privacy: { usageStatisticsEnabled: false },
    general: { enableAutoUpdate: false },
    model: { name: 'gpt-5-mini' },
    telemetry: {
      enabled: true,
      target: 'local',
      otlpEndpoint: telemetryUrl,
      otlpProtocol: 'http',
      logPrompts: true,
    },
    tools: { visible: ['mcp__everything__echo', 'mcp__everything__get-sum'] },
    mcpServers: { everything: { ...mcpCommand, trust: !isDenied, includeTools: ['echo', 'get-sum'] } },
  }),
);
writeFileSync(
  join(HOME, '.qwen/agents/weather_agent.md'),
  `---\nname: weather_agent\ndescription: ${MARKERS.toolDescription}\n---\n${MARKERS.instructions}\n`,
);
const instructions = join(HOME, 'system.md');
writeFileSync(instructions, MARKERS.instructions);

const environment = {
  OPENAI_API_KEY: 'sk-scripted',
  OPENAI_BASE_URL: `${modelServerUrl}/v1`,
  OPENAI_MODEL: 'gpt-5-mini',
  // Otherwise the first question is asked before the MCP server answers.
  QWEN_CODE_LEGACY_MCP_BLOCKING: '1',
  // Its own instructions would fill the recording.
  QWEN_SYSTEM_MD: instructions,
  OTEL_EXPORTER_OTLP_HEADERS: 'x-api-key=recorded',
  OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
};
countAgent('qwen-code');
if (!isDenied) countAgent('weather_agent');
await runBoth((question) =>
  runCli('.bin/qwen', ['-p', question, ...(isDenied ? [] : ['--yolo']), '-m', 'gpt-5-mini'], environment),
);
