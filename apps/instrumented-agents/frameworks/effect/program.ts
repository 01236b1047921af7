/**
 * Effect AI with Effect's own tracing: a chat with a local tool and MCP tools, a streamed answer, a web search, a failure, an
 * embedding.
 */
import { Chat, EmbeddingModel, LanguageModel, Tool, Toolkit } from '@effect/ai';
import { OpenAiClient, OpenAiEmbeddingModel, OpenAiLanguageModel, OpenAiTool } from '@effect/ai-openai';
import { NodeSdk } from '@effect/opentelemetry';
import { FetchHttpClient } from '@effect/platform';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { Effect, Layer, Redacted, Schema, Stream } from 'effect';
import { MARKERS } from '../../model-server/markers.ts';
import { countTool, mcpCommand } from '../../recorder/program.ts';

const mcp = new Client({ name: 'weather-agent', version: '1.0.0' });
await mcp.connect(new StdioClientTransport(mcpCommand));

const toolkit = Toolkit.make(
  Tool.make('get_weather', {
    description: MARKERS.toolDescription,
    parameters: { city: Schema.String },
    success: Schema.String,
  }),
  Tool.make('echo', { parameters: { message: Schema.String }, success: Schema.String }),
  Tool.make('get-sum', { parameters: { a: Schema.Number, b: Schema.Number }, success: Schema.String }),
);
const callMcpTool = (name: string) => (args: Record<string, unknown>) =>
  Effect.promise(async () => JSON.stringify((await mcp.callTool({ name, arguments: args })).content));
const tools = toolkit.toLayer({
  get_weather: () =>
    Effect.sync(() => {
      countTool('get_weather');
      return MARKERS.toolResult;
    }),
  echo: callMcpTool('echo'),
  'get-sum': callMcpTool('get-sum'),
});

/** Asks the model until it asks for no tool. */
const weatherAgent = Effect.gen(function* () {
  const chat = yield* Chat.fromPrompt([
    { role: 'system', content: MARKERS.instructions },
    { role: 'user', content: [{ type: 'text', text: MARKERS.question }] },
  ]);
  let answer = yield* chat.generateText({ prompt: [], toolkit });
  while (answer.toolCalls.length > 0) answer = yield* chat.generateText({ prompt: [], toolkit });
}).pipe(Effect.withSpan('weather_agent'));

const otherCalls = Effect.gen(function* () {
  yield* LanguageModel.generateText({
    prompt: MARKERS.question,
    toolkit: Toolkit.make(OpenAiTool.WebSearch({})),
  });
  yield* LanguageModel.streamText({ prompt: MARKERS.question }).pipe(Stream.runDrain);
  yield* LanguageModel.generateText({ prompt: MARKERS.fail }).pipe(Effect.ignore);
  yield* LanguageModel.generateObject({ prompt: MARKERS.question, schema: Schema.Struct({ weather: Schema.String }) });
  const embeddings = yield* EmbeddingModel.EmbeddingModel;
  yield* embeddings.embed(MARKERS.document);
});

const models = Layer.mergeAll(
  OpenAiLanguageModel.layer({ model: 'gpt-5-mini' }),
  OpenAiEmbeddingModel.layerBatched({ model: 'text-embedding-3-small' }),
).pipe(
  Layer.provide(
    OpenAiClient.layer({
      apiKey: Redacted.make('sk-scripted'),
      apiUrl: process.env['OPENAI_BASE_URL'] ?? '',
    }),
  ),
  Layer.provide(FetchHttpClient.layer),
);
const telemetry = NodeSdk.layer(() => ({
  resource: { serviceName: 'weather-service' },
  spanProcessor: new BatchSpanProcessor(new OTLPTraceExporter()),
}));

await Effect.runPromise(
  Effect.gen(function* () {
    yield* weatherAgent;
    yield* otherCalls;
  }).pipe(Effect.provide(Layer.mergeAll(models, tools)), Effect.provide(telemetry)),
);
await mcp.close();
