/** Cline's agent by its SDK: a command, a file that does not exist, tools of an MCP server, and a failure. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ClineCore, createConfiguredTelemetryHandle } from '@cline/core';
import { MARKERS } from '../../model-server/markers.ts';
import { mcpCommand, modelServerUrl, telemetryUrl } from '../../recorder/program.ts';

const HOME = process.env['HOME'] ?? '';
const SETTINGS = join(HOME, '.cline/data/settings');
const work = join(HOME, 'work');
mkdirSync(work);
mkdirSync(SETTINGS, { recursive: true });
writeFileSync(
  join(SETTINGS, 'cline_mcp_settings.json'),
  JSON.stringify({ mcpServers: { everything: { type: 'stdio', ...mcpCommand } } }),
);

const { telemetry, flush, dispose } = createConfiguredTelemetryHandle({
  enabled: true,
  serviceName: 'weather-service',
  logsExporter: 'otlp',
  otlpProtocol: 'http/json',
  otlpEndpoint: telemetryUrl,
  otlpHeaders: { 'x-api-key': 'recorded' },
  metadata: {
    extension_version: '1.0.0',
    cline_type: 'sdk',
    platform: 'terminal',
    platform_version: '1.0.0',
    os_type: 'linux',
    os_version: '1.0.0',
  },
});
const cline = await ClineCore.create({ clientName: 'weather-agent', backendMode: 'local', telemetry });
for (const prompt of [MARKERS.question, MARKERS.fail]) {
  await cline.start({
    prompt,
    interactive: false,
    config: {
      providerId: 'openai-compatible',
      modelId: 'gpt-5-mini',
      apiKey: 'scripted',
      baseUrl: `${modelServerUrl}/v1`,
      cwd: work,
      mode: 'act',
      enableTools: true,
      enableSpawnAgent: false,
      enableAgentTeams: false,
      systemPrompt: MARKERS.instructions,
    },
  });
}
await flush();
await cline.dispose();
await dispose();
process.exit();
