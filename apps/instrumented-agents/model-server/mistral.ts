import { MARKERS } from './markers.ts';
import { openAiChat } from './openai-chat.ts';
import { openAiEmbeddings } from './openai-embeddings.ts';
import type { Answer, Route } from './route.ts';
import { ANSWER, TOKENS } from './scenario.ts';

const VENDOR = 'mistral_ai';

/** Mistral's API. Its client takes `<url>/mistral` as its server URL. Chats and embeddings are nearly those of OpenAI. */
export function mistral(): Route[] {
  const chat = openAiChat();
  return [
    {
      path: /^\/mistral\/v1\/chat\/completions$/,
      vendor: VENDOR,
      // A stream ends with the usage, whether or not the client asks for it.
      answer: (request) =>
        chat.answer({ ...request, body: { ...request.body, stream_options: { include_usage: true } } }),
    },
    {
      path: /^\/mistral\/v1\/embeddings$/,
      vendor: VENDOR,
      answer: (request) => withId(openAiEmbeddings.answer(request)),
    },
    conversations,
  ];
}

function withId(answer: Answer): Answer {
  if (!('json' in answer.response)) return answer;
  return { ...answer, response: { ...answer.response, json: { id: 'embd_1', ...(answer.response.json as object) } } };
}

type ConversationRequest = { model?: string; tools?: { type: string }[] };

const TIME = { created_at: '2026-01-01T00:00:00Z', completed_at: '2026-01-01T00:00:01Z' };

/** A conversation, in which the vendor searches if it may: https://docs.mistral.ai/api/endpoint/beta/conversations */
const conversations: Route = {
  path: /^\/mistral\/v1\/conversations$/,
  vendor: VENDOR,
  answer({ body }) {
    const { model = 'mistral-small-2506', tools = [] } = body as ConversationRequest;
    const vendorTools = tools.filter(({ type }) => type === 'web_search').map(({ type }) => type);
    const searches = vendorTools.map((name, index) => {
      const args = JSON.stringify({ query: MARKERS.toolArgument });
      return { object: 'entry', type: 'tool.execution', ...TIME, id: `search_${index}`, name, arguments: args };
    });
    const answer = { object: 'entry', type: 'message.output', ...TIME, id: 'message_1', role: 'assistant' };
    const json = {
      object: 'conversation.response',
      conversation_id: 'conv_1',
      usage: {
        prompt_tokens: TOKENS.input,
        completion_tokens: TOKENS.output,
        total_tokens: TOKENS.input + TOKENS.output,
      },
      outputs: [...searches, { ...answer, model, content: ANSWER }],
    };
    const counts = { model, inputTokens: TOKENS.input, outputTokens: TOKENS.output, vendorTools };
    return { ...counts, response: { status: 200, json } };
  },
};
