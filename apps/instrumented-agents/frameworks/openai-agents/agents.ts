/**
 * The agents of the recordings of the OpenAI Agents SDK: one with a local tool, MCP tools and a web search that hands over to
 * another one; a streamed run over chat completions; a failure.
 */
import { Agent, MCPServerStdio, OpenAIProvider, run, tool, webSearchTool } from '@openai/agents';
import { z } from 'zod';
import { MARKERS } from '../../model-server/markers.ts';
import { countAgent, countTool, mcpCommand } from '../../recorder/program.ts';

export async function runAgents(): Promise<void> {
  const everything = new MCPServerStdio({
    name: 'everything',
    ...mcpCommand,
    toolFilter: { allowedToolNames: ['echo', 'get-sum'] },
  });
  await everything.connect();

  const getWeather = tool({
    name: 'get_weather',
    description: MARKERS.toolDescription,
    parameters: z.object({ city: z.string() }),
    execute: async () => {
      countTool('get_weather');
      return MARKERS.toolResult;
    },
  });

  const umbrellaAgent = new Agent({
    name: 'umbrella_agent',
    instructions: MARKERS.instructions,
    handoffDescription: MARKERS.toolDescription,
    model: 'gpt-5-mini',
  });
  umbrellaAgent.on('agent_start', () => countAgent('umbrella_agent'));

  const weatherAgent = new Agent({
    name: 'weather_agent',
    instructions: MARKERS.instructions,
    model: 'gpt-5-mini',
    tools: [getWeather, webSearchTool()],
    mcpServers: [everything],
    handoffs: [umbrellaAgent],
  });
  weatherAgent.on('agent_start', () => countAgent('weather_agent'));
  await run(weatherAgent, MARKERS.question);

  const streamingAgent = new Agent({
    name: 'weather_agent',
    instructions: MARKERS.instructions,
    model: await new OpenAIProvider({ useResponses: false }).getModel('gpt-5-mini'),
  });
  const stream = await run(streamingAgent, MARKERS.question, { stream: true });
  for await (const event of stream) void event;
  await stream.completed;

  await run(weatherAgent, MARKERS.fail).catch(() => undefined);

  await everything.close();
}
