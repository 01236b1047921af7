import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What the server says: none of it may reach the database. */
export const SAID = { argument: 'Castrop-Rauxel', answer: 'Take an umbrella to the market hall.' };

/** A model is answered by a dated version of itself, as the real ones do. */
const VERSION = '2026-08-07';

const USAGE = { prompt_tokens: 21, completion_tokens: 8, total_tokens: 29 };

type ChatRequest = {
  model: string;
  stream?: boolean;
  stream_options?: { include_usage?: boolean };
  tools?: { function: { name: string } }[];
  messages: { role: string }[];
};

export type OpenAiServer = {
  /** What a client takes as its base URL. */
  url: string;
  port: number;
  /** Paths of the requests, in their order. */
  requests: string[];
  stop(): Promise<void>;
};

/**
 * Serves chat completions, whole and streamed, and embeddings as OpenAI does. A chat that brings tools, and no result of
 * one yet, is answered with a call of the first.
 */
export async function startOpenAiServer(): Promise<OpenAiServer> {
  const requests: string[] = [];
  const server = createServer((req, res) => {
    requests.push(req.url ?? '');
    void answer(req, res);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    port,
    requests,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of req) chunks.push(chunk as Buffer);
  const body = JSON.parse(Buffer.concat(chunks).toString()) as ChatRequest;
  if (req.url === '/v1/embeddings') sendJson(res, 200, embeddingOf(body));
  else if (req.url !== '/v1/chat/completions') sendJson(res, 404, { error: { message: `no ${req.url}` } });
  else if (body.stream === true) sendStream(res, body);
  else sendJson(res, 200, completionOf(body));
}

function completionOf(request: ChatRequest): object {
  const choice = { index: 0, logprobs: null, ...choiceOf(request) };
  return { ...headOf(request), object: 'chat.completion', choices: [choice], usage: USAGE };
}

function choiceOf({ tools, messages }: ChatRequest): { finish_reason: string; message: object } {
  const tool = messages.some(({ role }) => role === 'tool') ? undefined : tools?.[0];
  if (!tool) return { finish_reason: 'stop', message: { role: 'assistant', content: SAID.answer, refusal: null } };
  const call = { name: tool.function.name, arguments: JSON.stringify({ city: SAID.argument }) };
  return {
    finish_reason: 'tool_calls',
    message: { role: 'assistant', content: null, tool_calls: [{ id: 'call_1', type: 'function', function: call }] },
  };
}

/** Server-sent events: the answer word by word, the end, and the usage where the request asks for it. */
function sendStream(res: ServerResponse, request: ChatRequest): void {
  const event = (rest: object) => `data: ${JSON.stringify({ ...headOf(request), ...rest })}\n\n`;
  const delta = (content: string) => ({ choices: [{ index: 0, delta: { content }, finish_reason: null }] });
  res.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const word of SAID.answer.split(/(?= )/)) {
    res.write(event({ object: 'chat.completion.chunk', ...delta(word) }));
  }
  res.write(event({ object: 'chat.completion.chunk', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }));
  if (request.stream_options?.include_usage === true) {
    res.write(event({ object: 'chat.completion.chunk', choices: [], usage: USAGE }));
  }
  res.end('data: [DONE]\n\n');
}

function embeddingOf({ model }: ChatRequest): object {
  const data = [{ object: 'embedding', index: 0, embedding: [0.25, 0.5] }];
  return { object: 'list', model: `${model}-${VERSION}`, data, usage: { prompt_tokens: 4, total_tokens: 4 } };
}

function headOf({ model }: ChatRequest): object {
  return { id: 'chatcmpl-1', created: 1_763_720_000, model: `${model}-${VERSION}` };
}

function sendJson(res: ServerResponse, status: number, body: object): void {
  res.writeHead(status, { 'content-type': 'application/json' });
  res.end(JSON.stringify(body));
}
