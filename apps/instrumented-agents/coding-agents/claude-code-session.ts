import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MARKERS } from '../model-server/markers.ts';
import { countAgent, mcpUrl } from '../recorder/program.ts';
import { BUILT_IN, CLAUDE_CODE, CLAUDE_CODE_TRACES } from './claude-code-environment.ts';
import { HOME, QUESTION, runCli } from './run-cli.ts';

// A hook rejects one tool of the MCP server.
const rejectSum = { type: 'command', command: 'if grep -q get-sum; then exit 2; fi' };
mkdirSync(join(HOME, '.claude'));
writeFileSync(
  join(HOME, '.claude/settings.json'),
  JSON.stringify({ hooks: { PreToolUse: [{ matcher: '*', hooks: [rejectSum] }] } }),
);
const mcpConfig = join(HOME, 'mcp.json');
writeFileSync(mcpConfig, JSON.stringify({ mcpServers: { everything: { type: 'http', url: mcpUrl } } }));
const agents = {
  weather_agent: { description: MARKERS.toolDescription, prompt: MARKERS.instructions, model: 'haiku' },
};
const options = [
  ...['--mcp-config', mcpConfig, '--permission-mode', 'bypassPermissions', '--agents', JSON.stringify(agents)],
  ...['--system-prompt', MARKERS.instructions, '--tools', BUILT_IN.join(',')],
];
const environment = { ...CLAUDE_CODE, ...CLAUDE_CODE_TRACES, OTEL_LOG_TOOL_DETAILS: '1' };

countAgent('weather_agent');
for (const args of [[QUESTION], [QUESTION, '--continue', '--model', 'claude-opus-5']]) {
  const code = await runCli('@anthropic-ai/claude-code/cli-wrapper.cjs', ['-p', ...args, ...options], environment);
  if (code !== 0) throw new Error(`The agent ended with ${code}.`);
}
