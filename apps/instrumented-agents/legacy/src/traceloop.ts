/**
 * The `openai` client under `@traceloop/node-server-sdk`: a workflow, in it an agent, in it a tool between two chats; then
 * a streamed chat and an embedding in a conversation. Where spans and requests go, and with which keys, is read from
 * TRACELOOP_* and OPENAI_* as the SDKs document them.
 */
import * as traceloop from '@traceloop/node-server-sdk';
import { OpenAI } from 'openai';
import type { ChatCompletionMessageParam } from 'openai/resources/chat/completions';

traceloop.initialize({
  appName: 'traceloop-agent',
  // ES modules cannot be patched once they are loaded: this one is handed over. Its types are those for `require`.
  instrumentModules: { openAI: OpenAI as never },
  silenceInitializationMessage: true,
});

const question = process.argv[2] ?? '';
const model = 'gpt-5-mini';
const client = new OpenAI({ maxRetries: 0 });

const tools = [
  { type: 'function', function: { name: 'get_weather', parameters: { type: 'object', properties: {} } } } as const,
];

async function answer(): Promise<string> {
  const messages: ChatCompletionMessageParam[] = [{ role: 'user', content: question }];
  const asked = await client.chat.completions.create({ model, messages, tools });
  const message = asked.choices[0]?.message;
  if (message) messages.push(message);
  for (const call of message?.tool_calls ?? []) {
    const given = call.type === 'function' ? call.function.arguments : '';
    const content = await traceloop.withTool(
      { name: 'get_weather' },
      async (city: string) => `sunny, for ${city}`,
      given,
    );
    messages.push({ role: 'tool', tool_call_id: call.id, content });
  }
  const answered = await client.chat.completions.create({ model, messages, tools });
  return answered.choices[0]?.message.content ?? '';
}

await traceloop.withWorkflow({ name: 'forecast' }, () => traceloop.withAgent({ name: 'weather_agent' }, answer));

await traceloop.withConversation('conversation-1', async () => {
  const stream = await client.chat.completions.create({
    model,
    messages: [{ role: 'user', content: question }],
    stream: true,
    stream_options: { include_usage: true },
  });
  // The span ends with the stream: it has to be read.
  for await (const chunk of stream) void chunk;
  await client.embeddings.create({ model: 'text-embedding-3-small', input: question });
});
await traceloop.forceFlush();
