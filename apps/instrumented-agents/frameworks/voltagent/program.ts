/** VoltAgent: an agent with a local tool, MCP tools and a sub-agent, a streamed answer, a web search, a failure. */
import { openai } from '@ai-sdk/openai';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { Agent, createTool, MCPConfiguration, VoltAgentObservability } from '@voltagent/core';
import { z } from 'zod';
import { MARKERS } from '../../model-server/markers.ts';
import { countAgent, countTool, mcpCommand } from '../../recorder/program.ts';

const observability = new VoltAgentObservability({
  serviceName: 'weather-service',
  spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
});

const mcp = new MCPConfiguration({ servers: { everything: { type: 'stdio', ...mcpCommand } } });
const mcpTools = (await mcp.getTools()).filter(({ name }) => /(echo|get-sum)$/.test(name));

const getWeather = createTool({
  name: 'get_weather',
  description: MARKERS.toolDescription,
  parameters: z.object({ city: z.string() }),
  execute: async () => {
    countTool('get_weather');
    return MARKERS.toolResult;
  },
});

const shared = {
  instructions: MARKERS.instructions,
  model: openai('gpt-5-mini'),
  maxRetries: 0,
  observability,
};

const umbrellaAgent = new Agent({
  ...shared,
  name: 'umbrella_agent',
  purpose: MARKERS.instructions,
  hooks: { onStart: () => countAgent('umbrella_agent') },
});
const weatherAgent = new Agent({
  ...shared,
  name: 'weather_agent',
  tools: [getWeather, ...mcpTools],
  subAgents: [umbrellaAgent],
  hooks: { onStart: () => countAgent('weather_agent') },
});
const searchAgent = new Agent({
  ...shared,
  name: 'search_agent',
  tools: [openai.tools.webSearch({})],
  hooks: { onStart: () => countAgent('search_agent') },
});

const options = { context: { note: MARKERS.metadata }, userId: 'user-1', conversationId: 'conversation-1' };
await weatherAgent.generateText(MARKERS.question, options);
await searchAgent.generateText(MARKERS.question, options);

const stream = await umbrellaAgent.streamText(MARKERS.question, options);
for await (const text of stream.textStream) void text;

await umbrellaAgent.generateText(MARKERS.fail, options).catch(() => undefined);

await mcp.disconnect();
await observability.forceFlush();
process.exit(0);
