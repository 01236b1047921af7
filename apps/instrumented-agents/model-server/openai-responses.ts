import { openAiFailure } from './openai-chat.ts';
import { type Route, serverSentEvent, wordsOf } from './route.ts';
import { MARKERS } from './markers.ts';
import { ANSWER, datedModel, jsonAnswer, mustFail, planCalls, TOKENS } from './scenario.ts';

type Item = { type?: string; id?: string; name?: string; [field: string]: unknown };

type ResponsesRequest = {
  model: string;
  stream?: boolean;
  previous_response_id?: string | null;
  input: string | Item[];
  tools?: Tool[];
  text?: { format?: { type: string; schema?: unknown } };
};

/** Codex offers the tools of an MCP server as a namespace. */
type Tool = { type: string; name?: string; tools?: Tool[] };

const USAGE = {
  input_tokens: TOKENS.input,
  input_tokens_details: { cached_tokens: TOKENS.cachedInput },
  output_tokens: TOKENS.output,
  output_tokens_details: { reasoning_tokens: TOKENS.reasoningOutput },
  total_tokens: TOKENS.input + TOKENS.output,
};

/**
 * Responses as OpenAI serves them: https://platform.openai.com/docs/api-reference/responses. Clients may refer to earlier
 * responses and items by id, so each server remembers what it answered.
 */
export function openAiResponses({ path = /^\/v1\/responses$/, vendor = 'openai' } = {}): Route {
  const itemsById = new Map<string, Item>();
  const itemsByResponse = new Map<string, Item[]>();
  let lastId = 0;
  const nextId = (prefix: string) => `${prefix}_${++lastId}`;

  const historyOf = ({ input, previous_response_id: previous }: ResponsesRequest): Item[] => [
    ...(itemsByResponse.get(previous ?? '') ?? []),
    ...(typeof input === 'string' ? [] : input.map((item) => itemsById.get(item.id ?? '') ?? item)),
  ];

  return {
    path,
    vendor,
    answer(request) {
      const body = request.body as ResponsesRequest;
      if (mustFail(body)) return openAiFailure(request);
      const history = historyOf(body);
      const { output, vendorTools } = plan(body, history, nextId);
      const id = nextId('resp');
      for (const item of output) itemsById.set(item.id ?? '', item);
      itemsByResponse.set(id, [...history, ...output]);
      const response = { ...responseHead(body, id), status: 'completed', output, usage: USAGE };
      const counts = {
        model: body.model,
        inputTokens: TOKENS.input,
        outputTokens: TOKENS.output,
        vendorTools,
        toolResults: newToolResults(history),
      };
      if (body.stream === true) return { ...counts, response: { events: responseEvents(response) } };
      return { ...counts, response: { status: 200, json: response } };
    },
  };
}

/** A web search is done once in a conversation, if it is offered; functions are called in the order of the scenario. */
function plan(
  { tools = [], text: wanted }: ResponsesRequest,
  history: Item[],
  nextId: (prefix: string) => string,
): { output: Item[]; vendorTools: string[] } {
  const offersSearch = tools.some(({ type }) => type.startsWith('web_search'));
  const searches = offersSearch && !history.some(({ type }) => type === 'web_search_call');
  const action = { type: 'search', query: MARKERS.toolArgument };
  const search = { type: 'web_search_call', id: nextId('ws'), status: 'completed', action };

  const offered = tools.flatMap((tool) => offeredNames(tool));
  const called = history.filter(({ type }) => type === 'function_call').map(writtenName);
  const planned = history.some(isSubagentTask) ? [] : planCalls({ offered, called });
  const calls = planned.map(({ name, arguments: args }) => ({
    type: 'function_call',
    id: nextId('fc'),
    call_id: nextId('call'),
    ...namesOf(name),
    arguments: JSON.stringify(args),
    status: 'completed',
  }));

  const schema = wanted?.format?.schema;
  const text = schema === undefined ? ANSWER : jsonAnswer(schema);
  const content = [{ type: 'output_text', text, annotations: [], logprobs: [] }];
  const message = { type: 'message', id: nextId('msg'), role: 'assistant', status: 'completed', content };
  return {
    output: [...(searches ? [search] : []), ...(calls.length > 0 ? calls : [message])],
    vendorTools: searches ? ['web_search'] : [],
  };
}

/** Names inside a namespace are written `namespace/name`. */
function offeredNames({ type, name = '', tools = [] }: Tool): string[] {
  if (type === 'namespace') return tools.map((tool) => `${name}/${tool.name}`);
  return type === 'function' ? [name] : [];
}

function writtenName({ name = '', namespace }: Item): string {
  return typeof namespace === 'string' ? `${namespace}/${name}` : name;
}

function namesOf(written: string): { name: string; namespace?: string } {
  const [namespace = '', name] = written.split('/');
  return name === undefined ? { name: written } : { namespace, name };
}

function isSubagentTask({ role, content }: Item): boolean {
  return role === 'user' && JSON.stringify(content).includes(MARKERS.subagentTask);
}

/** The results that came with this request for the first time: those at its end. Only their text shows a failure. */
function newToolResults(history: Item[]): { name: string; failed: boolean }[] {
  const before = history.findLastIndex(({ type }) => type !== 'function_call_output');
  return history.slice(before + 1).flatMap(({ call_id: id, output }) => {
    const call = history.find(({ type, call_id: called }) => type === 'function_call' && called === id);
    const failed = /does not exist|no such file|unable to/i.test(JSON.stringify(output));
    return call?.name === undefined ? [] : [{ name: writtenName(call), failed }];
  });
}

function responseEvents(response: { output: Item[] }): string[] {
  let sequence = 0;
  const event = (type: string, rest: object) => serverSentEvent({ type, sequence_number: sequence++, ...rest }, type);
  const unfinished = { ...response, status: 'in_progress', output: [], usage: null };
  return [
    event('response.created', { response: unfinished }),
    event('response.in_progress', { response: unfinished }),
    ...response.output.flatMap((item, index) => itemEvents(item, index, event)),
    event('response.completed', { response }),
  ];
}

function itemEvents(item: Item, index: number, event: (type: string, rest: object) => string): string[] {
  const place = { output_index: index, item_id: item.id };
  const added = { ...item, status: 'in_progress' };
  const done = event('response.output_item.done', { output_index: index, item });
  if (item.type === 'function_call') {
    return [
      event('response.output_item.added', { output_index: index, item: { ...added, arguments: '' } }),
      event('response.function_call_arguments.delta', { ...place, delta: item['arguments'] }),
      event('response.function_call_arguments.done', { ...place, arguments: item['arguments'] }),
      done,
    ];
  }
  if (item.type === 'web_search_call') {
    return [
      event('response.output_item.added', { output_index: index, item: added }),
      event('response.web_search_call.in_progress', place),
      event('response.web_search_call.searching', place),
      event('response.web_search_call.completed', place),
      done,
    ];
  }
  const [{ text }] = item['content'] as [{ text: string }];
  const part = { type: 'output_text', text, annotations: [] };
  const content = { ...place, content_index: 0 };
  return [
    event('response.output_item.added', { output_index: index, item: { ...added, content: [] } }),
    event('response.content_part.added', { ...content, part: { ...part, text: '' } }),
    ...wordsOf(text).map((word) => event('response.output_text.delta', { ...content, delta: word, logprobs: [] })),
    event('response.output_text.done', { ...content, text, logprobs: [] }),
    event('response.content_part.done', { ...content, part }),
    done,
  ];
}

function responseHead({ model, tools = [] }: ResponsesRequest, id: string): object {
  return {
    id,
    object: 'response',
    created_at: 1_763_720_000,
    model: datedModel(model),
    error: null,
    incomplete_details: null,
    instructions: null,
    metadata: {},
    parallel_tool_calls: true,
    temperature: 1,
    tool_choice: 'auto',
    tools,
    top_p: 1,
  };
}
