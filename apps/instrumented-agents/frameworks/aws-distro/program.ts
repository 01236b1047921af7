/**
 * Three frameworks under the AWS Distro for OpenTelemetry: an agent of the AI SDK with a local tool and MCP tools, a web search, a
 * streamed answer and a failure; agents of OpenAI that hand over; an agent of LangChain, and a web search.
 */
import { createAnthropic } from '@ai-sdk/anthropic';
import { createMCPClient } from '@ai-sdk/mcp';
import { Experimental_StdioMCPTransport as StdioTransport } from '@ai-sdk/mcp/mcp-stdio';
import { openai } from '@ai-sdk/openai';
import { ChatAnthropic } from '@langchain/anthropic';
import { Agent, run, tool as toolOfOpenAi } from '@openai/agents';
import { trace } from '@opentelemetry/api';
import { generateText, stepCountIs, streamText, tool } from 'ai';
import { createAgent, tool as toolOfLangChain } from 'langchain';
import { z } from 'zod';
import { MARKERS } from '../../model-server/markers.ts';
import { countAgent, countTool, mcpCommand, modelServerUrl } from '../../recorder/program.ts';

const description = MARKERS.toolDescription;
const city = z.object({ city: z.string() });
async function getWeather(): Promise<string> {
  countTool('get_weather');
  return MARKERS.toolResult;
}

const mcp = await createMCPClient({ transport: new StdioTransport(mcpCommand) });
const { echo, 'get-sum': getSum } = await mcp.tools();
const anthropic = createAnthropic({ apiKey: 'scripted', baseURL: `${modelServerUrl}/v1` });
const shared = {
  system: MARKERS.instructions,
  prompt: MARKERS.question,
  maxRetries: 0,
  experimental_telemetry: { isEnabled: true, functionId: 'travel_agent', metadata: { note: MARKERS.metadata } },
};
countAgent('travel_agent');
const ofAiSdk = tool({ description, inputSchema: city, execute: getWeather });
const tools = { get_weather: ofAiSdk, echo, 'get-sum': getSum };
await generateText({ ...shared, model: openai('gpt-5-mini'), tools, stopWhen: stepCountIs(8) });
await generateText({
  ...shared,
  model: openai('gpt-5-mini'),
  tools: { web_search: openai.tools.webSearch({}) },
});
await generateText({
  ...shared,
  model: anthropic('claude-sonnet-5'),
  tools: { web_search: anthropic.tools.webSearch_20250305({}) },
});
await streamText({ ...shared, model: openai.chat('gpt-5-mini') }).consumeStream();
await generateText({ ...shared, model: openai.chat('gpt-5-mini'), prompt: MARKERS.fail }).catch(() => undefined);
await mcp.close();

const umbrellaAgent = new Agent({
  name: 'umbrella_agent',
  instructions: MARKERS.instructions,
  handoffDescription: description,
  model: 'gpt-5-mini',
});
umbrellaAgent.on('agent_start', () => countAgent('umbrella_agent'));
const ofOpenAi = toolOfOpenAi({ name: 'get_weather', description, parameters: city, execute: getWeather });
const weatherAgent = new Agent({
  name: 'weather_agent',
  instructions: MARKERS.instructions,
  model: 'gpt-5-mini',
  tools: [ofOpenAi],
  handoffs: [umbrellaAgent],
});
weatherAgent.on('agent_start', () => countAgent('weather_agent'));
await run(weatherAgent, MARKERS.question);

const claude = new ChatAnthropic({
  apiKey: 'scripted',
  maxRetries: 0,
  model: 'claude-sonnet-5',
  anthropicApiUrl: modelServerUrl,
});
const ofLangChain = toolOfLangChain(getWeather, { name: 'get_weather', description, schema: city });
countAgent('claude_agent');
await createAgent({
  name: 'claude_agent',
  model: claude,
  tools: [ofLangChain],
  systemPrompt: MARKERS.instructions,
}).invoke({ messages: [{ role: 'user', content: MARKERS.question }] });
await claude.bindTools([{ type: 'web_search_20250305', name: 'web_search' }]).invoke(MARKERS.question);

const provider = trace.getTracerProvider() as unknown as { getDelegate(): { forceFlush(): Promise<void> } };
await provider.getDelegate().forceFlush();
// The distribution keeps the process running.
process.exit(0);
