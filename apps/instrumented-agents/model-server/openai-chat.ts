import { MARKERS } from './markers.ts';
import { type Answer, type ModelRequest, type Route, serverSentEvent, wordsOf } from './route.ts';
import {
  ANSWER,
  datedModel,
  ERROR_TEXT,
  jsonAnswer,
  mustFail,
  type PlannedCall,
  planCalls,
  TOKENS,
} from './scenario.ts';

type ToolCall = { id: string; type: 'function'; function: { name: string; arguments: string } };

type ChatRequest = {
  model: string;
  stream?: boolean;
  stream_options?: { include_usage?: boolean };
  tools?: { function: { name: string } }[];
  response_format?: { type: string; json_schema?: { schema: unknown } };
  messages: { role: string; content?: unknown; tool_calls?: ToolCall[]; tool_call_id?: string }[];
};

const USAGE = {
  prompt_tokens: TOKENS.input,
  completion_tokens: TOKENS.output,
  total_tokens: TOKENS.input + TOKENS.output,
  prompt_tokens_details: { cached_tokens: TOKENS.cachedInput },
  completion_tokens_details: { reasoning_tokens: TOKENS.reasoningOutput },
};

/**
 * Chat completions as OpenAI serves them: https://platform.openai.com/docs/api-reference/chat. No id is given twice: receivers
 * may take two spans with one id for the same call.
 */
export function openAiChat(): Route {
  let lastId = 0;
  const nextId = (prefix: string) => `${prefix}_${++lastId}`;
  return {
    path: /^\/v1\/chat\/completions$/,
    vendor: 'openai',
    answer(request) {
      const body = request.body as ChatRequest;
      if (mustFail(body)) return openAiFailure(request);
      const called = body.messages.flatMap((message) => message.tool_calls ?? []).map((call) => call.function.name);
      const offered = (body.tools ?? []).map((tool) => tool.function.name);
      const planned = body.messages.some(isSubagentTask) ? [] : planCalls({ offered, called });
      const calls = planned.map((call) => toolCall(call, nextId('call')));
      const head = { id: nextId('chatcmpl'), created: 1_763_720_000, model: datedModel(body.model) };
      const counts = {
        model: body.model,
        inputTokens: TOKENS.input,
        outputTokens: TOKENS.output,
        toolResults: newToolResults(body),
      };
      const schema = body.response_format?.json_schema?.schema;
      const text = schema === undefined ? ANSWER : jsonAnswer(schema);
      if (body.stream === true) return { ...counts, response: { events: chatEvents(body, { head, text, calls }) } };
      return { ...counts, response: { status: 200, json: completion({ head, text, calls }) } };
    },
  };
}

/** A subagent answers at once. */
function isSubagentTask({ role, content }: ChatRequest['messages'][number]): boolean {
  return role === 'user' && JSON.stringify(content).includes(MARKERS.subagentTask);
}

/** The results that came with this request for the first time: those after the last answer. A tool that was denied has none. */
function newToolResults({ messages }: ChatRequest): { name: string; failed: boolean }[] {
  const calls = messages.flatMap((message) => message.tool_calls ?? []);
  const lastAnswer = messages.findLastIndex(({ role }) => role === 'assistant');
  return messages.slice(lastAnswer + 1).flatMap(({ role, tool_call_id: id, content }) => {
    if (/permission was declined/.test(JSON.stringify(content))) return [];
    const name = role === 'tool' ? calls.find((call) => call.id === id)?.function.name : undefined;
    return name === undefined ? [] : [{ name, failed: false }];
  });
}

/** An error as every endpoint of OpenAI words it. Clients do not repeat a 400. */
export function openAiFailure({ body }: ModelRequest): Answer {
  const error = { message: ERROR_TEXT, type: 'invalid_request_error', param: null, code: 'scripted_failure' };
  return {
    model: String(body['model']),
    inputTokens: 0,
    outputTokens: 0,
    response: { status: 400, json: { error } },
  };
}

type Content = { head: object; text: string; calls: ToolCall[] };

function completion({ head, text, calls }: Content): object {
  const message =
    calls.length === 0
      ? { role: 'assistant', content: text, refusal: null }
      : { role: 'assistant', content: null, refusal: null, tool_calls: calls };
  const choice = { index: 0, logprobs: null, finish_reason: finishReason(calls), message };
  return { ...head, object: 'chat.completion', choices: [choice], usage: USAGE };
}

function chatEvents(body: ChatRequest, { head, text, calls }: Content): string[] {
  const chunk = (rest: object) => serverSentEvent({ ...head, object: 'chat.completion.chunk', ...rest });
  const delta = (content: object, reason: string | null = null) =>
    chunk({ choices: [{ index: 0, delta: content, finish_reason: reason }] });
  const content =
    calls.length === 0
      ? wordsOf(text).map((word) => delta({ content: word }))
      : calls.map((call, index) => delta({ tool_calls: [{ index, ...call }] }));
  const usage = body.stream_options?.include_usage === true ? [chunk({ choices: [], usage: USAGE })] : [];
  const start = delta({ role: 'assistant', content: null });
  return [start, ...content, delta({}, finishReason(calls)), ...usage, 'data: [DONE]\n\n'];
}

function toolCall({ name, arguments: args }: PlannedCall, id: string): ToolCall {
  return { id, type: 'function', function: { name, arguments: JSON.stringify(args) } };
}

function finishReason(calls: ToolCall[]): string {
  return calls.length === 0 ? 'stop' : 'tool_calls';
}
