import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../../support/server.ts';
import { chat, newTraceId } from '../traces/sending.ts';
import { callsTenant } from './calls-tenant.ts';
import { at, outerAndInner } from './timed-spans.ts';

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

describe('a trace whose spans report more than 4,000 calls', () => {
  const parts = Array.from({ length: 60 }, (_, index) => ({
    type: 'mcp_call',
    id: `call_${index}`,
    server_label: 'files',
    name: `read_${index}`,
  }));
  const answer = {
    'gen_ai.provider.name': 'anthropic',
    'gen_ai.output.messages': JSON.stringify([{ role: 'assistant', parts }]),
  };
  /** Spans with 61 calls each. */
  const answers = (traceId: string, count: number) =>
    Array.from({ length: count }, () => at(traceId, chat('claude-sonnet-5', answer)));
  const counts = (ofAnswers: number, echo: Record<string, number>) => {
    const tools = parts.map(({ name }) => [`tool ${name} at files`, ofAnswers]);
    return { ...Object.fromEntries(tools), 'model claude-sonnet-5 at anthropic': ofAnswers, ...echo };
  };

  // Each further span resolved the whole trace twice, which blocked all other requests for seconds.
  test('is resolved per batch, and its earlier calls do not count again', async () => {
    const tenant = await callsTenant(server);
    const traceId = newTraceId();
    const sendPair = async () => {
      const { outer, inner } = outerAndInner();
      for (const span of [outer, inner]) await tenant.send([{ ...span, traceId }]);
    };
    await tenant.send(answers(traceId, 64));
    await sendPair();
    expect(await tenant.observed()).toEqual(counts(64, { 'tool echo at mcp.example.com': 1 }));
    await tenant.send(answers(traceId, 2));
    await sendPair();
    const echo = { 'tool echo at mcp.example.com': 2, 'tool echo at travel-agent': 1 };
    expect(await tenant.observed()).toEqual(counts(66, echo));
  });

  // A request of 2,000 spans with 60 calls each blocked all others for a second.
  test('is stored in several batches, if one request has all of them', async () => {
    const tenant = await callsTenant(server);
    const traceId = newTraceId();
    const [outer, inner] = Object.values(outerAndInner()).map((span) => ({ ...span, traceId }));
    await tenant.send([outer, ...answers(traceId, 140), inner].flatMap((span) => span ?? []));
    const echo = { 'tool echo at mcp.example.com': 1, 'tool echo at travel-agent': 1 };
    expect(await tenant.observed()).toEqual(counts(140, echo));
  });
});
