import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MARKERS } from '../model-server/markers.ts';
import { countAgent, mcpCommand, modelServerUrl, telemetryUrl } from '../recorder/program.ts';
import { BUILT_IN, CLAUDE_CODE, CLAUDE_CODE_CONTENT, CLAUDE_CODE_TRACES } from './claude-code-environment.ts';
import { HOME, runBoth, runCli } from './run-cli.ts';

const ALL = { ...CLAUDE_CODE, ...CLAUDE_CODE_TRACES, ...CLAUDE_CODE_CONTENT };

/** What is switched on, by the argument of this program. */
const ENVIRONMENTS: Record<string, Record<string, string>> = {
  all: ALL,
  // Its events alone, as its defaults have them
  events: CLAUDE_CODE,
  bedrock: {
    ...CLAUDE_CODE,
    ...CLAUDE_CODE_TRACES,
    OTEL_LOG_TOOL_DETAILS: '1',
    CLAUDE_CODE_USE_BEDROCK: '1',
    CLAUDE_CODE_SKIP_BEDROCK_AUTH: '1',
    ANTHROPIC_BEDROCK_BASE_URL: modelServerUrl,
    AWS_REGION: 'us-east-1',
    ANTHROPIC_MODEL: 'us.anthropic.claude-sonnet-4-5-20250929-v1:0',
  },
  // Traces with requests and answers, sent by other exporters
  detailed: { ...ALL, ENABLE_BETA_TRACING_DETAILED: '1', BETA_TRACING_ENDPOINT: telemetryUrl },
};
const environment = ENVIRONMENTS[process.argv[2] ?? 'all'] ?? ALL;
const mcpConfig = join(HOME, 'mcp.json');
writeFileSync(mcpConfig, JSON.stringify({ mcpServers: { everything: mcpCommand } }));
const agents = { weather_agent: { description: MARKERS.toolDescription, prompt: MARKERS.instructions } };
const options = [
  '--mcp-config',
  mcpConfig,
  '--permission-mode',
  'bypassPermissions',
  '--agents',
  JSON.stringify(agents),
];
const instructions = ['--system-prompt', MARKERS.instructions, '--tools', BUILT_IN.join(',')];

countAgent('weather_agent');
// The wrapper finds the binary without the package's install script.
const program = '@anthropic-ai/claude-code/cli-wrapper.cjs';
await runBoth((question) => runCli(program, ['-p', question, ...options, ...instructions], environment));
