import Anthropic from '@anthropic-ai/sdk';
import { mcpTools } from '@anthropic-ai/sdk/helpers/beta/mcp';
import { betaZodTool } from '@anthropic-ai/sdk/helpers/beta/zod';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { z } from 'zod';
import { MARKERS } from '../model-server/markers.ts';
import { countTool, mcpCommand, modelServerUrl } from '../recorder/program.ts';
import { FAILING_QUESTION, QUESTION } from './run-cli.ts';

const provider = new NodeTracerProvider({ spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())] });
provider.register();

const client = new Anthropic({
  baseURL: modelServerUrl,
  apiKey: 'sk-ant-scripted',
  openTelemetry: { traces: { contentMode: 'content' } },
});
const request = {
  model: 'claude-sonnet-5',
  max_tokens: 1024,
  system: MARKERS.instructions,
  messages: [{ role: 'user' as const, content: QUESTION }],
};

await client.messages.countTokens({ model: request.model, messages: request.messages });
await client.messages.create({ ...request, tools: [{ type: 'web_search_20250305', name: 'web_search' }] });
await client.messages.stream({ ...request, stop_sequences: [MARKERS.metadata] }).finalMessage();

const mcp = new Client({ name: 'weather-service', version: '1.0.0' });
await mcp.connect(new StdioClientTransport(mcpCommand));
const { tools } = await mcp.listTools();
const getWeather = betaZodTool({
  name: 'get_weather',
  description: MARKERS.toolDescription,
  inputSchema: z.object({ city: z.string() }),
  run() {
    countTool('get_weather');
    return MARKERS.toolResult;
  },
});
await client.beta.messages.toolRunner({ ...request, tools: [getWeather, ...mcpTools(tools, mcp)] }).runUntilDone();
await mcp.close();

const failing = { ...request, messages: [{ role: 'user' as const, content: FAILING_QUESTION }] };
await client.messages.create(failing).then(
  () => Promise.reject(new Error('The request was to fail.')),
  () => undefined,
);
await provider.shutdown();
