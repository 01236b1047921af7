/** What both programs do. An agent with a local tool, MCP tools and a sub-agent, a streamed answer, a web search, a failure. */
import { createOpenAI } from '@ai-sdk/openai';
import { Agent } from '@mastra/core/agent';
import { Mastra } from '@mastra/core/mastra';
import { createTool } from '@mastra/core/tools';
import { MCPClient } from '@mastra/mcp';
import { Observability } from '@mastra/observability';
import { z } from 'zod';
import { MARKERS } from '../../model-server/markers.ts';
import { countAgent, countTool, mcpCommand } from '../../recorder/program.ts';

const openai = createOpenAI({});
const mcp = new MCPClient({ servers: { everything: mcpCommand } });
const tools = await mcp.listTools();

const getWeather = createTool({
  id: 'get_weather',
  description: MARKERS.toolDescription,
  inputSchema: z.object({ city: z.string() }),
  execute: async () => {
    countTool('get_weather');
    return { weather: MARKERS.toolResult };
  },
});

const umbrellaAgent = new Agent({
  id: 'umbrella_agent',
  name: 'umbrella_agent',
  description: MARKERS.toolDescription,
  instructions: () => {
    countAgent('umbrella_agent');
    return MARKERS.instructions;
  },
  model: openai('gpt-5-mini'),
  maxRetries: 0,
});

const weatherAgent = new Agent({
  id: 'weather_agent',
  name: 'weather_agent',
  description: MARKERS.toolDescription,
  instructions: MARKERS.instructions,
  model: openai('gpt-5-mini'),
  maxRetries: 0,
  agents: { umbrella_agent: umbrellaAgent },
  tools: {
    get_weather: getWeather,
    ...Object.fromEntries(Object.entries(tools).filter(([name]) => /(echo|get-sum)$/.test(name))),
  },
});

const searchAgent = new Agent({
  id: 'search_agent',
  name: 'search_agent',
  instructions: MARKERS.instructions,
  model: openai('gpt-5-mini'),
  maxRetries: 0,
  tools: { web_search: openai.tools.webSearch({}) },
});

export async function runScenario(telemetry: ConstructorParameters<typeof Observability>[0]): Promise<void> {
  const mastra = new Mastra({
    agents: { weatherAgent, searchAgent, umbrellaAgent },
    observability: new Observability(telemetry),
  });

  const shared = { maxSteps: 8, tracingOptions: { metadata: { note: MARKERS.metadata }, tags: [MARKERS.metadata] } };

  countAgent('weather_agent');
  await mastra.getAgent('weatherAgent').generate(MARKERS.question, shared);

  countAgent('search_agent');
  await mastra.getAgent('searchAgent').generate(MARKERS.question, shared);

  const stream = await mastra.getAgent('weatherAgent').stream(MARKERS.question, { ...shared, toolChoice: 'none' });
  await stream.consumeStream();

  await mastra
    .getAgent('weatherAgent')
    .generate(MARKERS.fail, shared)
    .catch(() => undefined);

  await mcp.disconnect();
  await mastra.shutdown();
}
