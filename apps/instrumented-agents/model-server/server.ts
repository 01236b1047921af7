import { isBuiltIn } from './built-in-tools.ts';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readBody } from '../recorder/read-body.ts';
import type { CountedEvent } from '../recorder/truth.ts';
import { anthropicMessages, anthropicTokenCount } from './anthropic-messages.ts';
import { bedrock } from './bedrock.ts';
import { gemini } from './gemini.ts';
import { mistral } from './mistral.ts';
import { openAiChat } from './openai-chat.ts';
import { openAiEmbeddings } from './openai-embeddings.ts';
import { openAiResponses } from './openai-responses.ts';
import type { Answer, ModelRequest, Route } from './route.ts';
import { MARKERS } from './markers.ts';
import { ERROR_TEXT } from './scenario.ts';

export type ModelServer = {
  /** Without a path: OpenAI's clients take `<url>/v1` as their base URL, Anthropic's and Gemini's the URL itself. */
  url: string;
  stop(): Promise<void>;
};

/** A new vendor's API is a file beside this one and a row here. */
function routes(): Route[] {
  return [
    openAiChat(),
    openAiResponses(),
    // Microsoft Foundry serves OpenAI's responses for each project.
    openAiResponses({ path: /^\/api\/projects\/\w+\/openai\/v1\/responses$/, vendor: 'azure.ai.inference' }),
    openAiEmbeddings,
    anthropicMessages(),
    anthropicTokenCount,
    gemini,
    ...bedrock(),
    ...mistral(),
  ];
}

/**
 * Serves the APIs of model vendors by script.
 * @param count is told of each model call and of each tool that ran at the vendor, when the server answers it
 */
export async function startModelServer(count: (event: CountedEvent) => void): Promise<ModelServer> {
  const table = routes();
  const hasFailed = { once: false };
  const server = createServer((req, res) => {
    void answerRequest(req, res, { table, hasFailed, count });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function answerRequest(
  req: IncomingMessage,
  res: ServerResponse,
  { table, hasFailed, count }: { table: Route[]; hasFailed: { once: boolean }; count: (event: CountedEvent) => void },
): Promise<void> {
  const body = await readBody(req);
  const url = new URL(req.url ?? '/', 'http://localhost');
  const route = table.find(({ path }) => path.test(url.pathname));
  if (route === undefined || req.method !== 'POST') {
    sendJson(res, 404, { error: { message: `The scripted server has no ${req.method} ${url.pathname}.` } });
    return;
  }
  const parsed = JSON.parse(body.toString()) as Record<string, unknown>;
  const request = { path: url.pathname, query: url.searchParams, body: parsed };
  const answer = failingOnce(request, hasFailed) ?? route.answer(request);
  const { model, inputTokens = 0, outputTokens = 0, vendorTools = [], toolResults = [], response } = answer;
  if (model !== undefined) {
    const failed = 'status' in response && response.status >= 400;
    count({ kind: 'model', name: model, vendor: route.vendor, inputTokens, outputTokens, failed });
  }
  for (const { name, failed } of toolResults) {
    if (isBuiltIn(name)) count({ kind: 'tool', name, server: null, runsAt: 'agent', failed });
  }
  for (const name of vendorTools) count({ kind: 'tool', name, server: null, runsAt: 'vendor', failed: false });
  if ('events' in response) {
    res.writeHead(200, { 'content-type': 'text/event-stream', 'request-id': newRequestId() });
    for (const event of response.events) res.write(event);
    res.end();
  } else if ('eventStream' in response) {
    res.writeHead(200, { 'content-type': 'application/vnd.amazon.eventstream' });
    res.end(Buffer.concat(response.eventStream));
  } else {
    sendJson(res, response.status, response.json);
  }
}

/** The first request that asks for it fails in a way that clients repeat. */
function failingOnce({ body }: ModelRequest, hasFailed: { once: boolean }): Answer | null {
  if (hasFailed.once || !JSON.stringify(body).includes(MARKERS.failOnce)) return null;
  hasFailed.once = true;
  const json = { error: { message: ERROR_TEXT, type: 'server_error', param: null, code: 'scripted_failure' } };
  return { model: String(body['model']), response: { status: 500, json } };
}

function sendJson(res: ServerResponse, status: number, body: unknown): void {
  res.writeHead(status, { 'content-type': 'application/json', 'request-id': newRequestId() });
  res.end(JSON.stringify(body));
}

/** Anthropic's way to name a request. */
function newRequestId(): string {
  return `req_${crypto.randomUUID()}`;
}
