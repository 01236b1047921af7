/**
 * Axiom's instrumentation of the AI SDK: an agent with a local tool and MCP tools, a streamed answer, a web search, a failure, and
 * a call outside of `withSpan`.
 */
import { createMCPClient } from '@ai-sdk/mcp';
import { Experimental_StdioMCPTransport as StdioTransport } from '@ai-sdk/mcp/mcp-stdio';
import { createOpenAI } from '@ai-sdk/openai';
import { trace } from '@opentelemetry/api';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { generateText, stepCountIs, streamText, tool } from 'ai';
import { initAxiomAI, withSpan, wrapAISDKModel, wrapTools } from 'axiom/ai';
import { z } from 'zod';
import { MARKERS } from '../../model-server/markers.ts';
import { countTool, mcpCommand } from '../../recorder/program.ts';

const telemetry = new NodeSDK();
telemetry.start();
initAxiomAI({ tracer: trace.getTracer('weather-service') });

const mcp = await createMCPClient({ transport: new StdioTransport(mcpCommand) });
const { echo, 'get-sum': getSum } = await mcp.tools();
const getWeather = tool({
  description: MARKERS.toolDescription,
  inputSchema: z.object({ city: z.string() }),
  execute: () => {
    countTool('get_weather');
    return MARKERS.toolResult;
  },
});
const openai = createOpenAI();
const model = wrapAISDKModel(openai('gpt-5-mini'));
const prompt = MARKERS.question;
const tools = wrapTools({ get_weather: getWeather, echo, 'get-sum': getSum } as never);

await withSpan({ capability: 'weather', step: 'answer' }, () =>
  generateText({ model, system: MARKERS.instructions, prompt, tools, stopWhen: stepCountIs(5) }),
);
await withSpan({ capability: 'weather', step: 'stream' }, async () => {
  for await (const text of streamText({ model, prompt }).textStream) void text;
});
await withSpan({ capability: 'weather', step: 'search' }, () =>
  generateText({ model, prompt, tools: { web_search: openai.tools.webSearch({}) } }),
);
await withSpan({ capability: 'weather', step: 'fail' }, () =>
  generateText({ model, prompt: MARKERS.fail, maxRetries: 0 }),
).catch(() => undefined);
await generateText({ model, prompt });
await mcp.close();
await telemetry.shutdown();
