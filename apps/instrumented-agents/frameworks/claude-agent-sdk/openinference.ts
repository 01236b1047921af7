/** Claude Agent SDK under OpenInference: an agent with built-in tools, tools of MCP servers and a subagent, and a failure. */
import * as sdk from '@anthropic-ai/claude-agent-sdk';
import { ClaudeAgentSDKInstrumentation } from '@arizeai/openinference-instrumentation-claude-agent-sdk';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { z } from 'zod';
import { CLAUDE_CODE_WITHOUT_TELEMETRY } from '../../coding-agents/claude-code-environment.ts';
import { MARKERS } from '../../model-server/markers.ts';
import { countAgent, countTool, mcpCommand } from '../../recorder/program.ts';

const telemetry = new NodeSDK();
telemetry.start();
const instrumentation = new ClaudeAgentSDKInstrumentation();
const { createSdkMcpServer, query, tool } = instrumentation.manuallyInstrument(sdk) as typeof sdk;

const HOME = process.env['HOME'] ?? '';
const ENVIRONMENT = { PATH: process.env['PATH'], HOME, ...CLAUDE_CODE_WITHOUT_TELEMETRY };

const getWeather = tool('get_weather', MARKERS.toolDescription, { city: z.string() }, () => {
  countTool('get_weather', { server: 'weather' });
  return Promise.resolve({ content: [{ type: 'text', text: MARKERS.toolResult }] });
});

// The instrumentation's name for every agent that is no subagent.
countAgent('ClaudeAgent');
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
      agents: { weather_agent: { description: MARKERS.toolDescription, prompt: MARKERS.instructions } },
    },
  });
  try {
    for await (const message of messages) void message;
  } catch {
    // The second question is to fail.
  }
}
await telemetry.shutdown();
