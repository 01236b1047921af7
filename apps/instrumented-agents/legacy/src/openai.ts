/**
 * The `openai` client under `@opentelemetry/instrumentation-openai`: a chat with a tool, a streamed chat, an embedding.
 * Where spans and requests go, and with which keys, is read from OTEL_* and OPENAI_* as the SDKs document them.
 */
import { register } from 'node:module';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { registerInstrumentations } from '@opentelemetry/instrumentation';
import { OpenAIInstrumentation } from '@opentelemetry/instrumentation-openai';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import type { ChatCompletionMessageParam } from 'openai/resources/chat/completions';

// ES modules cannot be patched once they are loaded: the hook first, then the client.
register('@opentelemetry/instrumentation/hook.mjs', import.meta.url);
const tracing = new NodeTracerProvider({
  resource: resourceFromAttributes({ 'service.name': 'openai-agent', 'process.command_args': process.argv }),
  spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
});
tracing.register();
registerInstrumentations({
  tracerProvider: tracing,
  instrumentations: [new OpenAIInstrumentation({ captureMessageContent: true })],
});
const { OpenAI } = await import('openai');

const question = process.argv[2] ?? '';
const model = 'gpt-5-mini';
const client = new OpenAI({ maxRetries: 0 });

const tools = [
  { type: 'function', function: { name: 'get_weather', parameters: { type: 'object', properties: {} } } } as const,
];
const messages: ChatCompletionMessageParam[] = [{ role: 'user', content: question }];
const asked = await client.chat.completions.create({ model, messages, tools });
const message = asked.choices[0]?.message;
if (message) messages.push(message);
for (const call of message?.tool_calls ?? []) {
  const given = call.type === 'function' ? call.function.arguments : '';
  messages.push({ role: 'tool', tool_call_id: call.id, content: `sunny, for ${given}` });
}
await client.chat.completions.create({ model, messages, tools });

const stream = await client.chat.completions.create({
  model,
  messages: [{ role: 'user', content: question }],
  stream: true,
  stream_options: { include_usage: true },
});
// The span ends with the stream: it has to be read.
for await (const chunk of stream) void chunk;

await client.embeddings.create({ model: 'text-embedding-3-small', input: question });
await tracing.shutdown();
