/**
 * Observations that a program makes with Langfuse's own SDK: an agent with tools, of which one fails, a retriever, calls of models
 * whose usage is handed over as the vendors write it, a failed call and an embedding.
 */
import Anthropic from '@anthropic-ai/sdk';
import { LangfuseSpanProcessor } from '@langfuse/otel';
import { observe, propagateAttributes, startActiveObservation, updateActiveObservation } from '@langfuse/tracing';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { NodeSDK } from '@opentelemetry/sdk-node';
import OpenAI from 'openai7';
import { MARKERS } from '../../model-server/markers.ts';
import { countAgent, countTool, mcpCommand, modelServerUrl } from '../../recorder/program.ts';

const toReceiver = new LangfuseSpanProcessor({ exporter: new OTLPTraceExporter() });
const telemetry = new NodeSDK({ spanProcessors: [toReceiver] });
telemetry.start();
const openai = new OpenAI({ maxRetries: 0 });
const anthropic = new Anthropic({ baseURL: modelServerUrl, apiKey: 'sk-ant-scripted', maxRetries: 0 });
const mcp = new Client({ name: 'weather-agent', version: '1.0.0' });
await mcp.connect(new StdioClientTransport(mcpCommand));

const getWeather = observe(
  (_city: string) => {
    countTool('get_weather');
    return MARKERS.toolResult;
  },
  { name: 'get_weather', asType: 'tool' },
);
const failingTool = observe(
  async () => {
    countTool('failing_tool', { failed: true });
    throw new Error(MARKERS.errorText);
  },
  { name: 'failing_tool', asType: 'tool' },
);
const echo = observe((message: string) => mcp.callTool({ name: 'echo', arguments: { message } }), {
  name: 'echo',
  asType: 'tool',
});
const askGpt = observe(
  async (content: string) => {
    updateActiveObservation({ model: 'gpt-5-mini', input: content }, { asType: 'generation' });
    const messages = [{ role: 'user' as const, content }];
    const { choices, usage } = await openai.chat.completions.create({ model: 'gpt-5-mini', messages });
    const { prompt_tokens = 0, completion_tokens = 0, total_tokens = 0 } = usage ?? {};
    const usageDetails = { prompt_tokens, completion_tokens, total_tokens };
    updateActiveObservation({ output: choices[0]?.message.content, usageDetails }, { asType: 'generation' });
  },
  { name: 'answer question', asType: 'generation' },
);
const askClaude = observe(
  async (content: string) => {
    const model = 'claude-sonnet-5';
    updateActiveObservation({ model, input: content, modelParameters: { max_tokens: 100 } }, { asType: 'generation' });
    const messages = [{ role: 'user' as const, content }];
    const { usage } = await anthropic.messages.create({ model, max_tokens: 100, messages });
    const usageDetails = {
      input: usage.input_tokens,
      output: usage.output_tokens,
      cache_read_input_tokens: usage.cache_read_input_tokens ?? 0,
      cache_creation_input_tokens: usage.cache_creation_input_tokens ?? 0,
    };
    updateActiveObservation({ usageDetails }, { asType: 'generation' });
  },
  { name: 'ask claude', asType: 'generation' },
);
const weatherAgent = observe(
  async (question: string) => {
    countAgent('weather_agent');
    await askGpt(question);
    await getWeather(MARKERS.toolArgument);
    await echo(MARKERS.toolArgument);
    await failingTool().catch(() => undefined);
    const found = { input: question, output: MARKERS.document };
    await startActiveObservation('search documents', async (retriever) => void retriever.update(found), {
      asType: 'retriever',
    });
    await askClaude(question);
  },
  { name: 'weather_agent', asType: 'agent' },
);

await startActiveObservation('request', async (span) => {
  span.update({ input: MARKERS.question, metadata: { note: MARKERS.metadata } });
  const session = { sessionId: 'conversation-1', tags: [MARKERS.metadata] };
  await propagateAttributes(session, () => weatherAgent(MARKERS.question));
});
await askGpt(MARKERS.fail).catch(() => undefined);
await startActiveObservation(
  'embed',
  async (embedding) => {
    embedding.update({ model: 'text-embedding-3-small', input: MARKERS.document });
    const { usage } = await openai.embeddings.create({ model: 'text-embedding-3-small', input: MARKERS.document });
    embedding.update({ usageDetails: { input: usage.prompt_tokens, total: usage.total_tokens } });
  },
  { asType: 'embedding' },
);
await mcp.close();
await telemetry.shutdown();
