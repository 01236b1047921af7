import { createSdkMcpServer, query, tool } from '@anthropic-ai/claude-agent-sdk';
import { z } from 'zod';
import { MARKERS } from '../model-server/markers.ts';
import { countAgent, countTool, mcpCommand } from '../recorder/program.ts';
import { BUILT_IN, CLAUDE_CODE, CLAUDE_CODE_CONTENT, CLAUDE_CODE_TRACES } from './claude-code-environment.ts';
import { FAILING_QUESTION, HOME, QUESTION } from './run-cli.ts';

const getWeather = tool('get_weather', MARKERS.toolDescription, { city: z.string() }, () => {
  countTool('get_weather', { server: 'weather' });
  return Promise.resolve({ content: [{ type: 'text', text: MARKERS.toolResult }] });
});

countAgent('weather_agent');
for (const prompt of [QUESTION, FAILING_QUESTION]) {
  const messages = query({
    prompt,
    options: {
      cwd: HOME,
      env: { PATH: process.env['PATH'], HOME, ...CLAUDE_CODE, ...CLAUDE_CODE_TRACES, ...CLAUDE_CODE_CONTENT },
      permissionMode: 'bypassPermissions',
      allowDangerouslySkipPermissions: true,
      systemPrompt: MARKERS.instructions,
      tools: BUILT_IN,
      mcpServers: {
        everything: { type: 'stdio', ...mcpCommand },
        weather: createSdkMcpServer({ name: 'weather', version: '1.0.0', tools: [getWeather] }),
      },
      agents: { weather_agent: { description: MARKERS.toolDescription, prompt: MARKERS.instructions } },
    },
  });
  try {
    for await (const message of messages) if (message.type === 'result') console.log(message.subtype, message.is_error);
  } catch (error) {
    if (prompt === QUESTION) throw error;
  }
}
