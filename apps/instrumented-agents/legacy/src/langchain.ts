/**
 * A LangChain agent with a tool under `@arizeai/openinference-instrumentation-langchain`; then a streamed answer and an
 * embedding. Where spans and requests go, and with which keys, is read from OTEL_* and OPENAI_* as the SDKs document them.
 */
import { LangChainInstrumentation } from '@arizeai/openinference-instrumentation-langchain';
import * as callbackManager from '@langchain/core/callbacks/manager';
import { ChatOpenAI, OpenAIEmbeddings } from '@langchain/openai';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { createAgent, tool } from 'langchain';
import { z } from 'zod';

const tracing = new NodeTracerProvider({
  resource: resourceFromAttributes({ 'service.name': 'langchain-agent', 'process.command_args': process.argv }),
  spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
});
tracing.register();
new LangChainInstrumentation({ tracerProvider: tracing }).manuallyInstrument(callbackManager);

const question = process.argv[2] ?? '';
const model = new ChatOpenAI({ model: 'gpt-5-mini', maxRetries: 0 });

const agent = createAgent({
  name: 'weather_agent',
  model,
  tools: [
    tool(({ city }: { city: string }) => `sunny, for ${city}`, {
      name: 'get_weather',
      description: 'The weather in a city',
      schema: z.object({ city: z.string() }),
    }),
  ],
});
const asked = { messages: [{ role: 'user', content: question }] };
await agent.invoke(asked, { configurable: { thread_id: 'conversation-1' } });

const stream = await model.stream(question);
for await (const chunk of stream) void chunk;

await new OpenAIEmbeddings({ model: 'text-embedding-3-small', maxRetries: 0 }).embedQuery(question);
await tracing.shutdown();
