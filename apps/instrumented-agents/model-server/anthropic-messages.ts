import { type Route, serverSentEvent } from './route.ts';
import { MARKERS } from './markers.ts';
import { ANSWER, ERROR_TEXT, mustFail, planCalls, TOKENS } from './scenario.ts';

type Block = {
  type: string;
  id?: string;
  name?: string;
  text?: string;
  tool_use_id?: string;
  [field: string]: unknown;
};

type MessagesRequest = {
  model: string;
  stream?: boolean;
  messages: { role: string; content: string | Block[] }[];
  tools?: { name: string; type?: string }[];
  /** The SDK's tool runner sends only what is new, once the server has answered. */
  thread?: { previous_message_id?: string };
};

type Message = Record<string, unknown> & { content: Block[]; stop_reason: string };

const USAGE = {
  input_tokens: TOKENS.input - TOKENS.cachedInput,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: TOKENS.cachedInput,
  output_tokens: TOKENS.output,
  service_tier: 'standard',
};

/**
 * Messages as Anthropic serves them: https://platform.claude.com/docs/en/api/messages. Clients may continue a thread, so
 * each server remembers what it was told.
 */
export function anthropicMessages(): Route {
  const requestsByAnswer = new Map<string, MessagesRequest>();
  const nextId = (prefix: string) => `${prefix}_${crypto.randomUUID().replaceAll('-', '').slice(0, 24)}`;
  return {
    path: /^\/v1\/messages$/,
    vendor: 'anthropic',
    answer(request) {
      const sent = request.body as MessagesRequest;
      const before = requestsByAnswer.get(sent.thread?.previous_message_id ?? '');
      const body = before ? { ...before, ...sent, messages: [...before.messages, ...sent.messages] } : sent;
      if (mustFail(body)) {
        // Claude Code repeats a 400 with fewer features, and reports one call.
        const error = { type: 'permission_error', message: ERROR_TEXT };
        const json = { type: 'error', error, request_id: nextId('req') };
        return { model: body.model, inputTokens: 0, outputTokens: 0, response: { status: 403, json } };
      }
      const { content, vendorTools } = plan(body, nextId);
      const message: Message = {
        id: nextId('msg'),
        type: 'message',
        role: 'assistant',
        model: datedModel(body.model),
        content,
        stop_reason: content.some(({ type }) => type === 'tool_use') ? 'tool_use' : 'end_turn',
        stop_sequence: null,
        usage: vendorTools.length > 0 ? { ...USAGE, server_tool_use: { web_search_requests: 1 } } : USAGE,
      };
      const answered = { role: 'assistant', content };
      requestsByAnswer.set(message['id'] as string, { ...body, messages: [...body.messages, answered] });
      const counts = {
        model: body.model,
        inputTokens: TOKENS.input,
        outputTokens: TOKENS.output,
        vendorTools,
        toolResults: newToolResults(body),
      };
      if (body.stream === true) return { ...counts, response: { events: messageEvents(message) } };
      return { ...counts, response: { status: 200, json: message } };
    },
  };
}

export const anthropicTokenCount: Route = {
  path: /^\/v1\/messages\/count_tokens$/,
  vendor: 'anthropic',
  answer: () => ({ response: { status: 200, json: { input_tokens: TOKENS.input } } }),
};

/** A web search is done once in a conversation, if it is offered; functions are called in the order of the scenario. */
function plan(
  { messages, tools = [] }: MessagesRequest,
  nextId: (prefix: string) => string,
): { content: Block[]; vendorTools: string[] } {
  const answer: Block = { type: 'text', text: ANSWER };
  if (messages.some(({ content }) => textsOf(content).some((text) => text.startsWith(MARKERS.subagentTask)))) {
    return { content: [answer], vendorTools: [] };
  }
  const blocks = messages.flatMap(({ content }) => (typeof content === 'string' ? [] : content));
  const offersSearch = tools.some(({ type }) => type?.startsWith('web_search') === true);
  const searches = offersSearch && !blocks.some(({ type }) => type === 'server_tool_use');
  const id = nextId('srvtoolu');
  const result = { type: 'web_search_result', url: 'https://weather.example/', title: MARKERS.document };
  const search: Block[] = [
    { type: 'server_tool_use', id, name: 'web_search', input: { query: MARKERS.toolArgument } },
    {
      type: 'web_search_tool_result',
      tool_use_id: id,
      content: [{ ...result, encrypted_content: 'none', page_age: null }],
    },
  ];
  const offered = tools.filter(({ type }) => type === undefined || type === 'custom').map(({ name }) => name);
  const called = blocks.filter(({ type }) => type === 'tool_use').map(({ name }) => name ?? '');
  const calls = planCalls({ offered, called }).map(
    (call): Block => ({ type: 'tool_use', id: nextId('toolu'), name: call.name, input: call.arguments }),
  );
  return {
    content: [...(searches ? search : []), ...(calls.length > 0 ? calls : [answer])],
    vendorTools: searches ? ['web_search'] : [],
  };
}

/** The results that came with this request for the first time: those after the last answer. */
function newToolResults({ messages }: MessagesRequest): { name: string; failed: boolean }[] {
  const blocks = messages.flatMap(({ role, content }) =>
    typeof content === 'string' ? [{ type: role }] : content.map((block) => ({ ...block, role })),
  ) as (Block & { role?: string })[];
  const lastAnswer = blocks.findLastIndex(({ role, type }) => role === 'assistant' || type === 'assistant');
  return blocks.slice(lastAnswer + 1).flatMap((block) => {
    if (block.type !== 'tool_result') return [];
    const name = blocks.find(({ id }) => id !== undefined && id === block.tool_use_id)?.name;
    return name === undefined ? [] : [{ name, failed: block['is_error'] === true }];
  });
}

function messageEvents({ content, stop_reason, ...message }: Message): string[] {
  const event = (type: string, rest: object) => serverSentEvent({ type, ...rest }, type);
  return [
    event('message_start', {
      message: { ...message, content: [], stop_reason: null, usage: { ...USAGE, output_tokens: 1 } },
    }),
    ...content.flatMap((block, index) => blockEvents(block, index, event)),
    event('message_delta', { delta: { stop_reason, stop_sequence: null }, usage: message['usage'] }),
    event('message_stop', {}),
  ];
}

function blockEvents(block: Block, index: number, event: (type: string, rest: object) => string): string[] {
  const start = (content_block: Block) => event('content_block_start', { index, content_block });
  const delta = (change: object) => event('content_block_delta', { index, delta: change });
  const stop = event('content_block_stop', { index });
  if (block.type === 'text') {
    return [start({ ...block, text: '' }), delta({ type: 'text_delta', text: block.text }), stop];
  }
  if ('input' in block) {
    const partial_json = JSON.stringify(block['input']);
    return [start({ ...block, input: {} }), delta({ type: 'input_json_delta', partial_json }), stop];
  }
  return [start(block), stop];
}

/** A model is answered by a dated version of itself. */
function datedModel(model: string): string {
  return /-\d{8}$/.test(model) ? model : `${model}-20260101`;
}

function textsOf(content: string | Block[]): string[] {
  return typeof content === 'string' ? [content] : content.map(({ text }) => text ?? '');
}
