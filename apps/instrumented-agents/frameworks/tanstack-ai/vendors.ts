/** TanStack AI with the models of Anthropic and Google: for each a chat with a local tool, a web search of the vendor and a failure. */
import { trace } from '@opentelemetry/api';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { chat, maxIterations, toolDefinition } from '@tanstack/ai';
import { otelMiddleware } from '@tanstack/ai/middlewares/otel';
import { createAnthropicChat } from '@tanstack/ai-anthropic';
import { webSearchTool } from '@tanstack/ai-anthropic/tools';
import { createGeminiChat } from '@tanstack/ai-gemini';
import { googleSearchTool } from '@tanstack/ai-gemini/tools';
import { z } from 'zod';
import { MARKERS } from '../../model-server/markers.ts';
import { countTool, modelServerUrl } from '../../recorder/program.ts';

const telemetry = new NodeSDK();
telemetry.start();
const otel = otelMiddleware({ tracer: trace.getTracer('weather-service'), captureContent: true });

const getWeather = toolDefinition({
  name: 'get_weather',
  description: MARKERS.toolDescription,
  inputSchema: z.object({ city: z.string() }),
}).server(() => {
  countTool('get_weather');
  return MARKERS.toolResult;
});
const claude = { baseURL: modelServerUrl, maxRetries: 0 };
const gemini = { httpOptions: { baseUrl: modelServerUrl } };
const vendors = [
  {
    adapter: createAnthropicChat('claude-sonnet-4-5', 'scripted', claude as never),
    search: webSearchTool({ name: 'web_search', type: 'web_search_20250305' }),
  },
  {
    adapter: createGeminiChat('gemini-2.5-flash', 'scripted', gemini as never),
    search: googleSearchTool(),
  },
];
for (const { adapter, search } of vendors) {
  await ask({ adapter, content: MARKERS.question, tools: [getWeather] });
  await ask({ adapter, content: MARKERS.question, tools: [search] });
  await ask({ adapter, content: MARKERS.fail, tools: [] });
}
await telemetry.shutdown();

async function ask({
  adapter,
  content,
  tools,
}: {
  adapter: unknown;
  content: string;
  tools: unknown[];
}): Promise<void> {
  const options = {
    adapter,
    tools,
    systemPrompts: [MARKERS.instructions],
    messages: [{ role: 'user', content }],
    middleware: [otel],
    agentLoopStrategy: maxIterations(8),
  };
  try {
    for await (const chunk of chat(options as never) as AsyncIterable<unknown>) void chunk;
  } catch {
    // One of each vendor is meant to fail.
  }
}
