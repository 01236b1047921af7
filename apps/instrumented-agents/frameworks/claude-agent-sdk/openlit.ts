/**
 * Claude Agent SDK under OpenLIT: an agent with built-in tools, of which one runs in the background, tools of MCP servers and a subagent,
 * and a failure.
 */
import * as sdk from '@anthropic-ai/claude-agent-sdk';
import { Openlit } from 'openlit';
import { z } from 'zod';
import { CLAUDE_CODE_WITHOUT_TELEMETRY } from '../../coding-agents/claude-code-environment.ts';
import { MARKERS } from '../../model-server/markers.ts';
import { countAgent, countTool, mcpCommand, telemetryUrl } from '../../recorder/program.ts';

// OpenLIT replaces a function of the module, whose namespace is read-only.
const patched = { ...sdk };
Openlit.init({
  applicationName: 'weather-service',
  otlpEndpoint: telemetryUrl,
  otlpHeaders: { 'x-api-key': 'recorded' },
  disableBatch: true,
  // Else it is fetched from the network.
  pricingJson: {},
  instrumentations: { 'claude-agent-sdk': patched },
});
const { createSdkMcpServer, query, tool } = patched;

const HOME = process.env['HOME'] ?? '';
const ENVIRONMENT = { PATH: process.env['PATH'], HOME, ...CLAUDE_CODE_WITHOUT_TELEMETRY };

const getWeather = tool('get_weather', MARKERS.toolDescription, { city: z.string() }, () => {
  countTool('get_weather', { server: 'weather' });
  return Promise.resolve({ content: [{ type: 'text', text: MARKERS.toolResult }] });
});

const inBackground: sdk.HookCallback = (hook) => {
  const given = hook.hook_event_name === 'PreToolUse' ? (hook.tool_input as object) : {};
  const updatedInput = { ...given, run_in_background: true };
  return Promise.resolve({
    hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision: 'allow', updatedInput },
  });
};

countAgent('weather_agent');
for (const prompt of [`What is the weather? ${MARKERS.question}`, `Please fail. ${MARKERS.fail}`]) {
  const messages = query({
    prompt,
    options: {
      cwd: HOME,
      env: ENVIRONMENT,
      permissionMode: 'bypassPermissions',
      allowDangerouslySkipPermissions: true,
      systemPrompt: MARKERS.instructions,
      tools: ['Bash', 'Read', 'WebSearch', 'Agent'],
      mcpServers: {
        everything: { type: 'stdio', ...mcpCommand },
        weather: createSdkMcpServer({ name: 'weather', version: '1.0.0', tools: [getWeather] }),
      },
      hooks: { PreToolUse: [{ matcher: 'Bash', hooks: [inBackground] }] },
      agents: { weather_agent: { description: MARKERS.toolDescription, prompt: MARKERS.instructions } },
    },
  });
  try {
    for await (const message of messages) void message;
  } catch {
    // The second question is to fail.
  }
}
// Its own exit would not wait for the spans.
await new Promise((resolve) => setTimeout(resolve, 1000));
