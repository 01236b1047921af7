/**
 * A provider of `gpt-5-mini` for Effect 4, which annotates spans as `@effect/ai-openai` does. The newest release of that package,
 * 4.0.0-beta.106, imports modules that effect 4.1 has moved.
 */
import { Effect, Layer, Stream } from 'effect-4';
import { AiError, LanguageModel, type Prompt, type Response, Telemetry, Tool } from 'effect-4/ai';
import { HttpClient, HttpClientRequest } from 'effect-4/http';
import { modelServerUrl } from '../../recorder/program.ts';

const MODEL = 'gpt-5-mini';

type Call = { id: string; type: 'function'; function: { name: string; arguments: string } };

type Answer = {
  id: string;
  model: string;
  choices: [{ message: { content: string | null; tool_calls?: Call[] } }];
  usage: { prompt_tokens: number; completion_tokens: number };
};

export const model = Layer.effect(
  LanguageModel.LanguageModel,
  Effect.gen(function* () {
    const client = yield* HttpClient.HttpClient;
    const ask = Effect.fnUntraced(function* ({ prompt, tools, span }: LanguageModel.ProviderOptions) {
      Telemetry.addGenAIAnnotations(span, {
        provider: { name: 'openai' },
        operation: { name: 'chat' },
        request: { model: MODEL },
      });
      const request = HttpClientRequest.post(`${modelServerUrl}/v1/chat/completions`).pipe(
        HttpClientRequest.bearerToken('sk-scripted'),
        HttpClientRequest.bodyJsonUnsafe({
          model: MODEL,
          messages: prompt.content.flatMap(messagesOf),
          ...(tools.length > 0 && { tools: tools.map(functionOf) }),
        }),
      );
      const answer = yield* client.execute(request);
      const text = yield* answer.text;
      if (answer.status !== 200) return yield* Effect.fail(new Error(text));
      const { id, model, choices, usage }: Answer = JSON.parse(text);
      Telemetry.addGenAIAnnotations(span, {
        response: { id, model },
        usage: { inputTokens: usage.prompt_tokens, outputTokens: usage.completion_tokens },
      });
      return choices[0].message;
    }, Effect.mapError(failureOf));
    return yield* LanguageModel.make({
      generateText: (options) =>
        Effect.map(ask(options), ({ content, tool_calls = [] }) => [
          ...(content === null ? [] : [{ type: 'text' as const, text: content }]),
          ...tool_calls.map(partOf),
        ]),
      streamText: (options) =>
        Stream.unwrap(
          Effect.map(ask(options), ({ content, tool_calls = [] }) =>
            Stream.fromIterable([...(content === null ? [] : deltasOf(content)), ...tool_calls.map(partOf)]),
          ),
        ),
    });
  }),
);

function failureOf(cause: unknown): AiError.AiError {
  const reason = new AiError.InvalidRequestError({ description: String(cause) });
  return AiError.make({ module: 'Model', method: 'ask', reason });
}

function partOf({ id, function: { name, arguments: args } }: Call): Response.ToolCallPartEncoded {
  return { type: 'tool-call', id, name, params: JSON.parse(args) };
}

function deltasOf(text: string): Response.StreamPartEncoded[] {
  return [
    { type: 'text-start', id: '1' },
    { type: 'text-delta', id: '1', delta: text },
    { type: 'text-end', id: '1' },
  ];
}

function functionOf(tool: Tool.Any): object {
  const { name } = tool;
  const description = Tool.getDescription(tool);
  return { type: 'function', function: { name, description, parameters: Tool.getJsonSchema(tool) } };
}

/** The messages of OpenAI's chat completions. Each result of a tool is a message. */
function messagesOf(message: Prompt.Message): object[] {
  if (message.role === 'system') return [message];
  const content: string[] = [];
  const calls: Call[] = [];
  const results: object[] = [];
  for (const part of message.content) {
    if (part.type === 'text') content.push(part.text);
    if (part.type === 'tool-call') {
      calls.push({
        id: part.id,
        type: 'function',
        function: { name: part.name, arguments: JSON.stringify(part.params) },
      });
    }
    if (part.type === 'tool-result') {
      results.push({ role: 'tool', tool_call_id: part.id, content: JSON.stringify(part.result) });
    }
  }
  if (message.role === 'tool') return results;
  return [{ role: message.role, content: content.join(''), ...(calls.length > 0 && { tool_calls: calls }) }];
}
