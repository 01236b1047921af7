/**
 * Effect 4 with its own OTLP exporter: a chat with local tools and a tool of an MCP server, a streamed answer that asks for a tool, a streamed
 * answer without tools, a failure. `model-4.ts` is the provider of the model.
 */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { Effect, Layer, Schema, Stream } from 'effect-4';
import { Chat, LanguageModel, Tool, Toolkit } from 'effect-4/ai';
import { FetchHttpClient } from 'effect-4/http';
import { Otlp } from 'effect-4/observability';
import { MARKERS } from '../../model-server/markers.ts';
import { countTool, mcpCommand, telemetryUrl } from '../../recorder/program.ts';
import { model } from './model-4.ts';

const mcp = new Client({ name: 'weather-agent', version: '1.0.0' });
await mcp.connect(new StdioClientTransport(mcpCommand));

const toolkit = Toolkit.make(
  Tool.make('get_weather', {
    description: MARKERS.toolDescription,
    parameters: Schema.Struct({ city: Schema.String }),
    success: Schema.String,
  }),
  Tool.make('echo', { parameters: Schema.Struct({ message: Schema.String }), success: Schema.String }),
  Tool.make('get-sum', { parameters: Schema.Struct({ a: Schema.Finite, b: Schema.Finite }), success: Schema.String }),
);
const localTool = (name: string) => () =>
  Effect.sync(() => {
    countTool(name);
    return MARKERS.toolResult;
  });
const tools = toolkit.toLayer({
  get_weather: localTool('get_weather'),
  echo: localTool('echo'),
  'get-sum': (args) =>
    Effect.promise(async () => JSON.stringify((await mcp.callTool({ name: 'get-sum', arguments: args })).content)),
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
  const streamed = LanguageModel.streamText({ prompt: MARKERS.question, toolkit });
  yield* streamed.pipe(Stream.runDrain, Effect.withSpan('answer'));
  yield* LanguageModel.streamText({ prompt: MARKERS.question }).pipe(Stream.runDrain);
  yield* LanguageModel.generateText({ prompt: MARKERS.fail }).pipe(Effect.ignore);
});

const telemetry = Otlp.layerJson({
  baseUrl: telemetryUrl,
  resource: { serviceName: 'weather-service' },
  headers: { 'x-api-key': 'recorded' },
  compression: 'gzip',
});

await Effect.runPromise(
  Effect.gen(function* () {
    yield* weatherAgent;
    yield* otherCalls;
  }).pipe(Effect.provide(Layer.merge(model, tools)), Effect.provide(telemetry), Effect.provide(FetchHttpClient.layer)),
);
await mcp.close();
