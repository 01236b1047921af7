/**
 * Mastra's OpenTelemetry exporter with the models of Anthropic and Google: for each an agent with a local tool, also streamed, one
 * with a web search of the vendor, and a failure.
 */
import { createAnthropic } from '@ai-sdk/anthropic';
import { createGoogleGenerativeAI } from '@ai-sdk/google';
import { Agent } from '@mastra/core/agent';
import { Mastra } from '@mastra/core/mastra';
import { createTool } from '@mastra/core/tools';
import { Observability } from '@mastra/observability';
import { OtelExporter } from '@mastra/otel-exporter';
import { z } from 'zod';
import { MARKERS } from '../../model-server/markers.ts';
import { countAgent, countTool, modelServerUrl, telemetryUrl } from '../../recorder/program.ts';

const anthropic = createAnthropic({ apiKey: 'scripted', baseURL: `${modelServerUrl}/v1` });
const google = createGoogleGenerativeAI({ apiKey: 'scripted', baseURL: `${modelServerUrl}/v1beta` });

const getWeather = createTool({
  id: 'get_weather',
  description: MARKERS.toolDescription,
  inputSchema: z.object({ city: z.string() }),
  execute: async () => {
    countTool('get_weather');
    return { weather: MARKERS.toolResult };
  },
});
const vendors = [
  {
    vendor: 'claude',
    model: anthropic('claude-sonnet-5'),
    search: { web_search: anthropic.tools.webSearch_20250305({}) },
  },
  { vendor: 'gemini', model: google('gemini-3-flash'), search: { google_search: google.tools.googleSearch({}) } },
];
const agents = vendors.flatMap(({ vendor, model, search }) => {
  const shared = { instructions: MARKERS.instructions, model, maxRetries: 0 };
  return [
    new Agent({ ...shared, id: `${vendor}_agent`, name: `${vendor}_agent`, tools: { get_weather: getWeather } }),
    new Agent({ ...shared, id: `${vendor}_search`, name: `${vendor}_search`, tools: search as never }),
  ];
});

const custom = { endpoint: telemetryUrl, headers: { 'x-api-key': 'recorded' }, protocol: 'http/protobuf' as const };
const exporter = new OtelExporter({ provider: { custom } });
const mastra = new Mastra({
  agents: Object.fromEntries(agents.map((agent) => [agent.id, agent])),
  observability: new Observability({ configs: { otel: { serviceName: 'weather-service', exporters: [exporter] } } }),
});
for (const { id } of agents) {
  countAgent(id);
  const agent = mastra.getAgent(id);
  await agent.generate(MARKERS.question, { maxSteps: 8 });
  if (id.endsWith('_search')) continue;
  const stream = await agent.stream(MARKERS.question, { maxSteps: 8 });
  await stream.consumeStream();
  await agent.generate(MARKERS.fail).catch(() => undefined);
}
await mastra.shutdown();
