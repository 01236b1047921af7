/**
 * Strands with the models of Anthropic and Google: for each an agent with a local tool, one with a web search of the vendor, and
 * one whose model call fails.
 */
import { Agent, tool } from '@strands-agents/sdk';
import { AnthropicModel } from '@strands-agents/sdk/models/anthropic';
import { GoogleModel } from '@strands-agents/sdk/models/google';
import { setupTracer } from '@strands-agents/sdk/telemetry';
import { z } from 'zod';
import { MARKERS } from '../../model-server/markers.ts';
import { countAgent, countTool, modelServerUrl } from '../../recorder/program.ts';

const telemetry = setupTracer({ exporters: { otlp: true } });

const getWeather = tool({
  name: 'get_weather',
  description: MARKERS.toolDescription,
  inputSchema: z.object({ city: z.string() }),
  callback: () => {
    countTool('get_weather');
    return MARKERS.toolResult;
  },
});
const claude = (params = {}) =>
  new AnthropicModel({
    modelId: 'claude-sonnet-5',
    maxTokens: 1000,
    apiKey: 'scripted',
    clientConfig: { baseURL: modelServerUrl, maxRetries: 0 },
    params,
  });
const gemini = (options = {}) =>
  new GoogleModel({
    modelId: 'gemini-3-flash',
    apiKey: 'scripted',
    clientConfig: { httpOptions: { baseUrl: modelServerUrl } },
    ...options,
  });
const vendors = [
  {
    vendor: 'claude',
    model: claude(),
    withSearch: claude({ tools: [{ type: 'web_search_20250305', name: 'web_search' }] }),
  },
  { vendor: 'gemini', model: gemini(), withSearch: gemini({ builtInTools: [{ googleSearch: {} }] }) },
];
for (const { vendor, model, withSearch } of vendors) {
  await ask(new Agent({ name: `${vendor}_agent`, model, tools: [getWeather], printer: false }), MARKERS.question);
  await ask(new Agent({ name: `${vendor}_search`, model: withSearch, printer: false }), MARKERS.question);
  await ask(new Agent({ name: `${vendor}_failing`, model, printer: false }), MARKERS.fail);
}
await (telemetry as unknown as { forceFlush(): Promise<void> }).forceFlush();

async function ask(agent: Agent, text: string): Promise<void> {
  countAgent(agent.name ?? '');
  await agent.invoke(text).catch(() => undefined);
}
