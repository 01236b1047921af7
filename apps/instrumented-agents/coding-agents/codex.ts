import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MARKERS } from '../model-server/markers.ts';
import { mcpCommand, modelServerUrl, telemetryUrl } from '../recorder/program.ts';
import { HOME, QUESTION, runCli } from './run-cli.ts';

const exporter = (signal: string) =>
  `{ otlp-http = { endpoint = "${telemetryUrl}/v1/${signal}", protocol = "binary", headers = { "x-api-key" = "recorded" } } }`;

mkdirSync(join(HOME, '.codex'));
writeFileSync(
  join(HOME, '.codex/config.toml'),
  `model = "gpt-5-mini"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "danger-full-access"
developer_instructions = "${MARKERS.instructions}"

[model_providers.scripted]
name = "OpenAI"
base_url = "${modelServerUrl}/v1"
wire_api = "responses"
env_key = "SCRIPTED_API_KEY"

[otel]
log_user_prompt = true
exporter = ${exporter('logs')}
trace_exporter = ${exporter('traces')}
metrics_exporter = ${exporter('metrics')}

[mcp_servers.everything]
command = ${JSON.stringify(mcpCommand.command)}
args = ${JSON.stringify(mcpCommand.args)}
`,
);

// It does not send what it has collected when a turn fails, so the failure is one that it repeats.
const question = `${QUESTION} ${MARKERS.failOnce}`;
const code = await runCli('.bin/codex', ['exec', '--skip-git-repo-check', question], {
  SCRIPTED_API_KEY: 'sk-scripted',
});
if (code !== 0) throw new Error(`The agent ended with ${code}.`);
