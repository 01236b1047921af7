import { randomBytes } from 'node:crypto';
import type { BatchTemplate } from '../load/plan.ts';
import { type Attributes, encodeBatch, type SentSpan } from './encode.ts';

const TRACE_ID_BYTES = 16;
const SPAN_ID_BYTES = 8;

/** The spans of one turn of an agent: the agent, model calls with their HTTP calls, and tool calls. */
const SPANS_PER_TURN = 10;

const RESOURCE: Attributes = {
  'service.name': 'checkout-assistant',
  'service.version': '2026.11.3',
  'service.instance.id': '6f1c1f0e-6d1b-4c25-9e43-7b0a6b9b2c11',
  'deployment.environment.name': 'production',
  'host.name': 'agents-7d9f8c5b4-x2x9q',
  'k8s.namespace.name': 'agents',
  'k8s.pod.name': 'agents-7d9f8c5b4-x2x9q',
  'process.pid': 27,
  'process.runtime.name': 'nodejs',
  'process.runtime.version': '24.21.0',
  'telemetry.sdk.language': 'nodejs',
  'telemetry.sdk.name': 'opentelemetry',
  'telemetry.sdk.version': '3.1.1',
};

const SCOPE = { name: '@opentelemetry/instrumentation-openai', version: '0.22.0' };

const MODELS = ['gpt-5.2', 'gpt-5.2-mini', 'gpt-4.1-nano'];
const TOOLS = ['search_orders', 'refund_payment', 'get_customer', 'send_mail'];

/** A request with the spans of agents' turns, and the positions of their ids. @param spans a multiple of ten */
export function batchTemplate(spans: number): BatchTemplate {
  const sent = Array.from({ length: spans / SPANS_PER_TURN }, (_, turn) => spansOfTurn(turn)).flat();
  const bytes = encodeBatch({ resource: RESOURCE, scope: SCOPE, spans: sent });
  const traceIds = [...new Map(sent.map(({ traceId }) => [traceId.toString('hex'), traceId])).values()];
  return {
    bytes,
    spans: sent.length,
    traceIds: traceIds.map((id) => placesOf(bytes, id)),
    spanIds: sent.map(({ spanId }) => placesOf(bytes, spanId)),
  };
}

/** One trace of this many spans, in one request. */
export function traceOf(spans: number): { traceId: string; bytes: Buffer } {
  const traceId = randomBytes(TRACE_ID_BYTES);
  const turns = Array.from({ length: Math.ceil(spans / SPANS_PER_TURN) }, (_, turn) => spansOfTurn(turn)).flat();
  const sent = turns.slice(0, spans).map((span) => Object.assign(span, { traceId }));
  return { traceId: traceId.toString('hex'), bytes: encodeBatch({ resource: RESOURCE, scope: SCOPE, spans: sent }) };
}

/** One trace of this many spans, in this many requests of equal size. */
export function traceInRequests(spans: number, requests: number): { traceId: string; requests: Buffer[] } {
  const traceId = randomBytes(TRACE_ID_BYTES);
  const turns = Array.from({ length: Math.ceil(spans / SPANS_PER_TURN) }, (_, turn) => spansOfTurn(turn)).flat();
  const sent = turns.slice(0, spans).map((span) => Object.assign(span, { traceId }));
  const size = Math.ceil(spans / requests);
  const encoded = Array.from({ length: requests }, (_, index) => {
    const part = sent.slice(index * size, (index + 1) * size);
    return encodeBatch({ resource: RESOURCE, scope: SCOPE, spans: part });
  });
  return { traceId: traceId.toString('hex'), requests: encoded };
}

/** Two model calls, each with its HTTP call, and five tools. */
function spansOfTurn(turn: number): SentSpan[] {
  const traceId = randomBytes(TRACE_ID_BYTES);
  const began = BigInt(Date.now()) * 1_000_000n + BigInt(turn);
  const conversation = `conv_${randomBytes(12).toString('hex')}`;
  const span = (order: number, parent: SentSpan | null, what: Pick<SentSpan, 'name' | 'kind' | 'attributes'>) => ({
    traceId,
    spanId: randomBytes(SPAN_ID_BYTES),
    parentSpanId: parent?.spanId ?? null,
    start: began + BigInt(order) * 41_000_137n,
    end: began + BigInt(order + 1) * 41_000_137n,
    events: [],
    failed: false,
    ...what,
  });
  const agent = span(0, null, {
    name: 'invoke_agent checkout-assistant',
    kind: 1,
    attributes: {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.provider.name': 'openai',
      'gen_ai.agent.name': 'checkout-assistant',
      'gen_ai.agent.id': 'asst_5j66UpCpwteGg4YSxUnt7lPY',
      'gen_ai.conversation.id': conversation,
      'gen_ai.request.model': 'gpt-5.2',
    },
  });
  const spans: SentSpan[] = [agent];
  for (const call of [0, 1]) {
    const model = MODELS[(turn + call) % MODELS.length] ?? '';
    const chat = span(1 + call * 2, agent, {
      name: `chat ${model}`,
      kind: 3,
      attributes: {
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': 'openai',
        'gen_ai.request.model': model,
        'gen_ai.request.temperature': 0.2,
        'gen_ai.request.max_tokens': 2048,
        'gen_ai.response.model': `${model}-2026-04-14`,
        'gen_ai.response.id': `chatcmpl-${randomBytes(12).toString('hex')}`,
        'gen_ai.response.finish_reasons': [call === 0 ? 'tool_calls' : 'stop'],
        'gen_ai.usage.input_tokens': 1843 + turn,
        'gen_ai.usage.output_tokens': 412 + turn,
        'gen_ai.conversation.id': conversation,
        'server.address': 'api.openai.com',
        'server.port': 443,
      },
    });
    const http = span(2 + call * 2, chat, {
      name: 'POST',
      kind: 3,
      attributes: {
        'http.request.method': 'POST',
        'url.full': 'https://api.openai.com/v1/chat/completions',
        'server.address': 'api.openai.com',
        'server.port': 443,
        'http.response.status_code': 200,
        'network.protocol.version': '1.1',
        'user_agent.original': 'OpenAI/JS 6.49.0',
      },
    });
    spans.push(chat, http);
  }
  for (let call = 0; spans.length < SPANS_PER_TURN; call += 1) {
    const tool = TOOLS[(turn + call) % TOOLS.length] ?? '';
    const called = span(5 + call, agent, {
      name: `execute_tool ${tool}`,
      kind: 1,
      attributes: {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': tool,
        'gen_ai.tool.type': 'function',
        'gen_ai.tool.call.id': `call_${randomBytes(12).toString('hex')}`,
        'gen_ai.agent.name': 'checkout-assistant',
        'gen_ai.conversation.id': conversation,
      },
    });
    const failed = turn % 10 === 0 && call === 0;
    const events = [{ name: 'exception', time: called.end, attributes: { 'exception.type': 'TimeoutError' } }];
    spans.push(failed ? { ...called, failed, events } : called);
  }
  return spans;
}

function placesOf(bytes: Buffer, id: Buffer): number[] {
  const places: number[] = [];
  for (let at = bytes.indexOf(id); at >= 0; at = bytes.indexOf(id, at + id.length)) places.push(at);
  return places;
}
