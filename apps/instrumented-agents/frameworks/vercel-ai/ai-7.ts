/**
 * AI SDK 7 with `@ai-sdk/otel`: an agent with a local tool and MCP tools, a streamed answer, a web search, a failure, an
 * object, an embedding. With the argument `legacy` it sends the `ai.*` spans of the
 * versions before, with `openinference` OpenInference's attributes too. With `laminar`, Laminar reports the calls.
 */
import { LegacyOpenTelemetry, OpenTelemetry } from '@ai-sdk/otel';
import { OpenInferenceBatchSpanProcessor } from '@arizeai/openinference-vercel';
import { Laminar, LaminarAiSdkTelemetry } from '@lmnr-ai/lmnr';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { embed, generateText, isStepCount, Output, registerTelemetry, streamText, ToolLoopAgent, tool } from 'ai7';
import { createMCPClient } from 'ai7-mcp';
import { Experimental_StdioMCPTransport as StdioTransport } from 'ai7-mcp/mcp-stdio';
import { openai } from 'ai7-openai';
import { z } from 'zod';
import { MARKERS } from '../../model-server/markers.ts';
import { countAgent, countTool, mcpCommand } from '../../recorder/program.ts';

const form = process.argv[2] ?? '';
const exporter = new OTLPTraceExporter();
const sdk = new NodeSDK(
  form === 'openinference' ? { spanProcessors: [new OpenInferenceBatchSpanProcessor({ exporter })] } : {},
);
sdk.start();
const everything = {
  usage: true,
  providerMetadata: true,
  embedding: true,
  runtimeContext: true,
  headers: true,
  toolChoice: true,
  schema: true,
};
if (form === 'laminar') {
  const { origin, port } = new URL(process.env['OTEL_EXPORTER_OTLP_ENDPOINT'] ?? '');
  const baseUrl = origin.slice(0, -`:${port}`.length);
  Laminar.initialize({ projectApiKey: 'recorded', baseUrl, httpPort: Number(port), forceHttp: true });
  registerTelemetry(new LaminarAiSdkTelemetry());
} else {
  registerTelemetry(form === 'legacy' ? new LegacyOpenTelemetry() : new OpenTelemetry(everything));
}

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
  instructions: MARKERS.instructions,
  headers: { 'x-request-note': MARKERS.header },
  maxRetries: 0,
  runtimeContext: { note: MARKERS.metadata },
  telemetry: { functionId: 'weather_agent', includeRuntimeContext: { note: true } },
} as const;

countAgent('weather_agent');
const agent = new ToolLoopAgent({
  ...shared,
  model: openai('gpt-5-mini'),
  tools: { get_weather: getWeather, echo, 'get-sum': getSum },
  stopWhen: isStepCount(8),
});
await agent.generate({ prompt: MARKERS.question });

await generateText({
  ...shared,
  model: openai('gpt-5-mini'),
  prompt: MARKERS.question,
  tools: { web_search: openai.tools.webSearch({}) },
});

const streamed = streamText({ ...shared, model: openai.chat('gpt-5-mini'), prompt: MARKERS.question });
await streamed.consumeStream();

await generateText({ ...shared, model: openai.chat('gpt-5-mini'), prompt: MARKERS.fail }).catch(() => undefined);

await generateText({
  ...shared,
  model: openai('gpt-5-mini'),
  prompt: MARKERS.question,
  output: Output.object({ schema: z.object({ weather: z.string() }) }),
});

await embed({
  model: openai.embedding('text-embedding-3-small'),
  value: MARKERS.document,
  maxRetries: 0,
  telemetry: { functionId: 'weather_agent' },
});

await mcp.close();
if (form === 'laminar') await Laminar.shutdown();
await sdk.shutdown();
