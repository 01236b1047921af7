import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MARKERS } from '../model-server/scenario.ts';
import { countAgent, mcpCommand } from '../recorder/program.ts';
import { BUILT_IN, CLAUDE_CODE, CLAUDE_CODE_CONTENT, CLAUDE_CODE_TRACES } from './claude-code-environment.ts';
import { HOME, runBoth, runCli } from './run-cli.ts';

// `node claude-code.ts events` records its events alone, as its defaults have them.
const environment =
  process.argv[2] === 'events' ? CLAUDE_CODE : { ...CLAUDE_CODE, ...CLAUDE_CODE_TRACES, ...CLAUDE_CODE_CONTENT };
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
