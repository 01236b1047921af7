/** LlamaIndex.TS under OpenLLMetry: an agent workflow with a local tool and MCP tools, a streamed answer, a failure, an embedding. */
import * as openaiModule from '@llamaindex/openai';
import * as llamaindexModule from 'llamaindex';
import { mcp } from '@llamaindex/tools';
import { agent } from '@llamaindex/workflow';
import * as traceloop from '@traceloop/node-server-sdk';
import { z } from 'zod';
import { MARKERS } from '../../model-server/markers.ts';
import { countAgent, countTool, mcpCommand } from '../../recorder/program.ts';

traceloop.initialize({
  appName: 'weather-service',
  baseUrl: process.env['OTEL_EXPORTER_OTLP_ENDPOINT'] ?? '',
  headers: { 'x-api-key': 'recorded' },
  instrumentModules: { llamaIndex: llamaindexModule as never, llamaIndexOpenAI: openaiModule as never },
  silenceInitializationMessage: true,
});
const { tool, Settings } = llamaindexModule;
const { openai, OpenAIEmbedding } = openaiModule;
const llm = openai({
  model: 'gpt-5-mini',
  maxRetries: 0,
  additionalSessionOptions: { defaultHeaders: { 'x-request-note': MARKERS.header } },
});
Settings.llm = llm;
const server = mcp({ command: mcpCommand.command, args: mcpCommand.args, verbose: false });
const fromServer = (await server.tools()).filter(({ metadata }) => ['echo', 'get-sum'].includes(metadata.name));
const getWeather = tool({
  name: 'get_weather',
  description: MARKERS.toolDescription,
  parameters: z.object({ city: z.string() }) as never,
  execute: () => {
    countTool('get_weather');
    return MARKERS.toolResult;
  },
});
countAgent('weather_agent');
const weatherAgent = agent({
  name: 'weather_agent',
  description: MARKERS.instructions,
  systemPrompt: MARKERS.instructions,
  llm,
  tools: [getWeather, ...fromServer],
});
await weatherAgent.run(MARKERS.question);
for await (const chunk of await llm.chat({ messages: [{ role: 'user', content: MARKERS.question }], stream: true }))
  void chunk;
await llm.chat({ messages: [{ role: 'user', content: MARKERS.fail }] }).catch(() => undefined);
await new OpenAIEmbedding({ model: 'text-embedding-3-small' }).getTextEmbedding(MARKERS.document);
await server.cleanup();
await traceloop.forceFlush();
