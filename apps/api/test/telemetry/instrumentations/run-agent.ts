import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished } from 'vitest';
import { accountWithKey, type Place, unique } from '../../support/people.ts';
import type { Body, TestServer } from '../../support/server.ts';
import { textOf } from '../../support/tables.ts';
import { SAID, startOpenAiServer } from './openai-server.ts';

/** What the agent is asked: it goes into the command line too, as with any agent that is a command. */
const QUESTION = 'Will it rain on the parade of the miners?';

const PROGRAMS = {
  openai: import.meta.resolve('@quartermaster/instrumented-agents/openai.ts'),
  langchain: import.meta.resolve('@quartermaster/instrumented-agents/langchain.ts'),
  traceloop: import.meta.resolve('@quartermaster/instrumented-agents/traceloop.ts'),
};

/** A program that hangs fails its test by this, with its output, and not by the test's own time. */
const TIME_LIMIT_MS = 40_000;

type Seen = { provider: string; kind: string; name: string; unknown: boolean; occurrences: number };

export type Traffic = {
  /** What each span says, under the span's name; {@link inOrder}. */
  genAi: [string, Body][];
  observed: Seen[];
  /** Everything that the database holds, as text. */
  stored: string;
  /** Paths that the model's server was asked for. */
  requests: string[];
};

/**
 * Runs a program of apps/instrumented-agents as a process of its own, since instrumentations patch modules, against a
 * local model server. Its tenant has the provider `openai` at OpenAI's own address and, where asked for, `local-models` at
 * the local server's; both have the model `gpt-5-mini`.
 */
export async function runAgent(
  server: TestServer,
  program: keyof typeof PROGRAMS,
  { declaresLocal }: { declaresLocal: boolean },
): Promise<Traffic> {
  const models = await startOpenAiServer();
  onTestFinished(() => models.stop());
  const place = { tenantId: unique('instrumented') };
  const sender = await accountWithKey(server, place, ['traces:write']);
  const reader = await accountWithKey(server, place);
  await declare(server, place, { name: 'openai', baseUrl: 'https://api.openai.com/v1' });
  if (declaresLocal) await declare(server, place, { name: 'local-models', baseUrl: models.url });

  await promisify(execFile)(process.execPath, [fileURLToPath(PROGRAMS[program]), QUESTION], {
    timeout: TIME_LIMIT_MS,
    env: {
      PATH: process.env['PATH'],
      OPENAI_BASE_URL: models.url,
      OPENAI_API_KEY: 'sk-local',
      OTEL_EXPORTER_OTLP_ENDPOINT: server.url,
      OTEL_EXPORTER_OTLP_HEADERS: `x-api-key=${sender.key}`,
      TRACELOOP_BASE_URL: server.url,
      TRACELOOP_HEADERS: `x-api-key=${sender.key}`,
    },
  });

  return {
    genAi: await genAiOf(server, reader),
    observed: await observedBy(server, reader),
    stored: await textOf(server.services.db),
    requests: models.requests,
  };
}

/** Nothing that was asked, answered, or given to a tool is kept; the models' names are, so that the search finds things. */
export function expectNoContent({ stored }: Traffic): void {
  expect(stored).toContain('gpt-5-mini');
  for (const said of [QUESTION, SAID.argument, SAID.answer, 'sunny']) expect(stored).not.toContain(said);
}

/** What a span says that says nothing. */
export const SAYS_NOTHING = {
  operation: null,
  provider: null,
  model: null,
  agent: null,
  tool: null,
  conversationId: null,
  inputTokens: null,
  outputTokens: null,
};

async function declare(server: TestServer, place: Place, { name, baseUrl }: { name: string; baseUrl: string }) {
  const body = { name, kind: 'llm', baseUrl, ...place };
  const provider = await server.ok('POST', '/v1/providers', { as: server.admin, body });
  const item = { kind: 'model', name: 'gpt-5-mini' };
  await server.ok('POST', `/v1/providers/${provider.id}/inventory`, { as: server.admin, body: item });
}

async function genAiOf(server: TestServer, reader: { key: string }): Promise<[string, Body][]> {
  const { items: traces } = await server.ok('GET', '/v1/traces', { as: reader });
  const spans: Body[] = [];
  for (const { traceId } of traces) {
    spans.push(...(await server.ok('GET', `/v1/traces/${traceId}/spans`, { as: reader })).items);
  }
  return inOrder(spans.map((span) => [span.name, span.genAi]));
}

/** By name and agent: the times of some clocks are too coarse to tell a span from its first child. */
export function inOrder(spans: [string, Body][]): [string, Body][] {
  return spans.toSorted((a, b) => (`${a[0]} ${a[1].agent}` < `${b[0]} ${b[1].agent}` ? -1 : 1));
}

async function observedBy(server: TestServer, reader: { key: string }): Promise<Seen[]> {
  const { items: providers } = await server.ok('GET', '/v1/providers', { as: reader });
  const nameOf = new Map(providers.map(({ id, name }: Body) => [id, name]));
  const { items } = await server.ok('GET', '/v1/runtime-observations', { as: reader });
  const seen: Seen[] = items.map(({ providerId, kind, name, unknown, occurrences }: Body) => {
    return { provider: nameOf.get(providerId), kind, name, unknown, occurrences };
  });
  const key = ({ provider, kind, name }: Seen) => `${provider} ${kind} ${name}`;
  return seen.toSorted((a, b) => (key(a) < key(b) ? -1 : 1));
}
