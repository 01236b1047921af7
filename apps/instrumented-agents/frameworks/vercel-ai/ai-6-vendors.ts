/**
 * AI SDK 6 with the models of two vendors: for each an agent with a local tool and MCP tools, a web search, a streamed answer. An
 * embedding by Google.
 */
import { NodeSDK } from '@opentelemetry/sdk-node';
import { embed, generateText, stepCountIs, streamText, ToolLoopAgent, tool } from 'ai6';
import { createAnthropic } from 'ai6-anthropic';
import { createGoogleGenerativeAI } from 'ai6-google';
import { createMCPClient } from 'ai6-mcp';
import { Experimental_StdioMCPTransport as StdioTransport } from 'ai6-mcp/mcp-stdio';
import { z } from 'zod';
import { MARKERS } from '../../model-server/markers.ts';
import { countAgent, countTool, mcpCommand, modelServerUrl } from '../../recorder/program.ts';

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

const anthropic = createAnthropic({ apiKey: 'scripted', baseURL: `${modelServerUrl}/v1` });
const google = createGoogleGenerativeAI({ apiKey: 'scripted', baseURL: `${modelServerUrl}/v1beta` });
const vendors = [
  {
    agent: 'claude_agent',
    model: anthropic('claude-sonnet-5'),
    search: { web_search: anthropic.tools.webSearch_20250305({}) },
  },
  {
    agent: 'gemini_agent',
    model: google('gemini-3-flash'),
    search: { google_search: google.tools.googleSearch({}) },
  },
];
for (const { agent: functionId, model, search } of vendors) {
  const experimental_telemetry = { isEnabled: true, functionId };
  const shared = { model, maxRetries: 0, experimental_telemetry };
  countAgent(functionId);
  const agent = new ToolLoopAgent({
    ...shared,
    instructions: MARKERS.instructions,
    tools: { get_weather: getWeather, echo, 'get-sum': getSum },
    stopWhen: stepCountIs(8),
  });
  await agent.generate({ prompt: MARKERS.question });
  await generateText({ ...shared, prompt: MARKERS.question, tools: search });
  const streamed = streamText({ ...shared, prompt: MARKERS.question, tools: search });
  await streamed.consumeStream();
}

await embed({
  model: google.embedding('gemini-embedding-001'),
  value: MARKERS.document,
  maxRetries: 0,
  experimental_telemetry: { isEnabled: true },
});

await mcp.close();
await telemetry.shutdown();
