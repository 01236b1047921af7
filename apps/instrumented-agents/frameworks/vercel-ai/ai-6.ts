/**
 * AI SDK 6: an agent with a local tool and MCP tools, a streamed answer, a web search, a failure, an object,
 * an embedding.
 */
import { NodeSDK } from '@opentelemetry/sdk-node';
import { embed, generateObject, generateText, stepCountIs, streamText, tool } from 'ai6';
import { createMCPClient } from 'ai6-mcp';
import { Experimental_StdioMCPTransport as StdioTransport } from 'ai6-mcp/mcp-stdio';
import { openai } from 'ai6-openai';
import { z } from 'zod';
import { MARKERS } from '../../model-server/markers.ts';
import { countAgent, countTool, mcpCommand } from '../../recorder/program.ts';

const telemetry = new NodeSDK();
telemetry.start();

const mcp = await createMCPClient({ transport: new StdioTransport(mcpCommand) });
const { echo, 'get-sum': getSum } = await mcp.tools();

const getWeather = tool({
  description: MARKERS.toolDescription,
  inputSchema: z.object({ city: z.string() }),
  execute: async () => {
    countTool('get_weather');
    return MARKERS.toolResult;
  },
});

const shared = {
  system: MARKERS.instructions,
  headers: { 'x-request-note': MARKERS.header },
  maxRetries: 0,
  experimental_telemetry: {
    isEnabled: true,
    functionId: 'weather_agent',
    metadata: { note: MARKERS.metadata },
  },
};

countAgent('weather_agent');
await generateText({
  ...shared,
  model: openai('gpt-5-mini'),
  prompt: MARKERS.question,
  tools: { get_weather: getWeather, echo, 'get-sum': getSum },
  stopWhen: stepCountIs(8),
});

await generateText({
  ...shared,
  model: openai('gpt-5-mini'),
  prompt: MARKERS.question,
  tools: { web_search: openai.tools.webSearch({}) },
});

const streamed = streamText({ ...shared, model: openai.chat('gpt-5-mini'), prompt: MARKERS.question });
await streamed.consumeStream();

await generateText({ ...shared, model: openai.chat('gpt-5-mini'), prompt: MARKERS.fail }).catch(() => undefined);

await generateObject({
  ...shared,
  model: openai('gpt-5-mini'),
  prompt: MARKERS.question,
  schema: z.object({ weather: z.string() }),
});

await embed({
  model: openai.embedding('text-embedding-3-small'),
  value: MARKERS.document,
  maxRetries: 0,
  experimental_telemetry: { isEnabled: true, functionId: 'weather_agent' },
});

await mcp.close();
await telemetry.shutdown();
