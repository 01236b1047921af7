/**
 * AI SDK 6 wrapped by LangSmith, in its OpenTelemetry mode: an agent with a local tool and MCP tools, a streamed
 * answer, a web search, a failure, an object.
 */
import * as ai from 'ai6';
import { createMCPClient } from 'ai6-mcp';
import { Experimental_StdioMCPTransport as StdioTransport } from 'ai6-mcp/mcp-stdio';
import { openai } from 'ai6-openai';
import { initializeOTEL } from 'langsmith/experimental/otel/setup';
import { wrapAISDK } from 'langsmith/experimental/vercel';
import { z } from 'zod';
import { MARKERS } from '../../model-server/markers.ts';
import { countAgent, countTool, mcpCommand } from '../../recorder/program.ts';

const { stepCountIs, tool } = ai;
const { DEFAULT_LANGSMITH_SPAN_PROCESSOR: processor } = initializeOTEL();
const { generateObject, generateText, streamText } = wrapAISDK(ai, {
  name: 'weather_agent',
  metadata: { note: MARKERS.metadata },
} as never);

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

await mcp.close();
await processor.shutdown();
