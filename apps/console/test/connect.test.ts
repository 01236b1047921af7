import { chat, exportRequest, newTraceId } from '@quartermaster/api/test/telemetry/traces/sending.ts';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { FRAMEWORKS, partsOf, protocolOf } from '../src/screens/connect/frameworks.ts';
import { startWorld, type World } from '../testing/world.ts';

let world: World;

beforeAll(async () => {
  world = await startWorld({ isSeeded: false });
});
afterAll(() => world.close());

// Before anything is sent.
test('every screen of an empty installation leads to where an agent is connected', async () => {
  const { page, moveTo, done } = await world.open('/profile');
  const screens = ['agents', 'map', 'usage', 'traces', 'coverage', 'tasks', 'changes', 'providers', 'manifests'];
  // Accounts are never empty: the first administrator has one.
  for (const screen of [...screens, 'gateways', 'inbox?view=all']) {
    await moveTo(`/${screen}`);
    const links = page.getByRole('main').getByRole('link', { name: 'Connect an agent' });
    await links.waitFor();
    expect(await links.getAttribute('href'), screen).toMatch(/\/console\/connect$/);
  }
  // Regression: the view Denied looked like New, and a status without a row like an empty installation.
  await moveTo('/inbox?view=denied');
  await page.getByRole('heading', { name: 'Nothing was denied' }).waitFor();
  await page.getByText('What gateways denied to agents').waitFor();
  await moveTo('/inbox?view=all&status=rejected');
  await page.getByRole('heading', { name: 'Nothing matches these filters' }).waitFor();
  await done();
});

test('an agent is connected by mouse: an empty installation opens on it, and it says what arrives and why nothing does', async () => {
  const { page, expectAnswers, expectFaultless, done } = await world.open('/');
  await page.getByRole('heading', { level: 1, name: 'Connect an agent' }).waitFor();
  await expectFaultless('nothing chosen');

  const framework = page.getByRole('combobox', { name: 'Framework or coding agent' });
  await framework.fill('ai sdk');
  await page.getByRole('option', { name: /^OpenAI SDK with Langfuse/ }).waitFor();
  const found = await page.getByRole('option').allInnerTexts();
  const indexOf = (name: string) => found.findIndex((each) => each.startsWith(name));
  expect(indexOf('Vercel AI SDK (ai')).toBeLessThan(indexOf('AWS Distro'));
  expect(indexOf('AWS Distro')).toBeLessThan(indexOf('OpenAI SDK'));
  await framework.fill('pydantic');
  await page.getByRole('option', { name: 'Pydantic AI' }).click();
  const name = page.getByRole('textbox', { name: 'Name of the agent' });
  await name.fill('not an id');
  expectAnswers(422);
  await page.getByRole('button', { name: 'Create account and key' }).click();
  await page.getByRole('alert').getByText('Please correct: Name of the agent', { exact: true }).waitFor();
  expect(await name.getAttribute('aria-invalid')).toBe('true');
  await name.fill('support-triage');
  await page.getByRole('button', { name: 'Create account and key' }).click();
  const status = page.getByRole('status', { name: 'What arrives' });
  await status.getByText('Waiting for the first span').waitFor();
  await expectFaultless('waiting');

  const settings = await variablesOf(page);
  expect(settings).toEqual({
    OTEL_EXPORTER_OTLP_ENDPOINT: world.server.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
    OTEL_EXPORTER_OTLP_HEADERS: expect.stringMatching(/^x-api-key=qm_key_\w+$/),
    OTEL_SERVICE_NAME: 'support-triage',
  });
  const setUp = await page.getByLabel('Set-up of Pydantic AI').textContent();
  expect(setUp).toContain('Agent.instrument_all()');
  expect(setUp).toContain(`OTEL_EXPORTER_OTLP_ENDPOINT=${world.server.url} `);
  expect(setUp).toContain(settings['OTEL_EXPORTER_OTLP_HEADERS']);

  const send = (body: unknown) => sendWith(settings, body);
  expect(await send({ resourceSpans: 'none' })).toBe(400);
  await status.getByText('Nothing was counted').waitFor();
  await status.getByText('resourceSpans must be an array').waitFor();
  const attributes = { 'acme.model': 'gpt-5' };
  expect(await send(exportRequest([{ traceId: newTraceId(), name: 'step', scope: 'acme.agents', attributes }]))).toBe(
    200,
  );
  await status.getByText('Received, but nothing was understood').waitFor();
  await status.getByText(/^Not understood: acme\.agents \(1\), last \S/).waitFor();
  await expectFaultless('not understood');
  const start = BigInt(world.server.services.now().getTime()) * 1_000_000n;
  expect(await send(exportRequest([{ ...chat('gpt-5'), start }]))).toBe(200);
  await status.getByText('Connected').waitFor();
  await status.getByText(', last understood').waitFor();
  await status.getByRole('listitem').filter({ hasText: 'gpt-5' }).waitFor();
  await expectFaultless('connected');

  // Leaving and coming back continues, but the key is not in the address.
  expect(page.url()).not.toContain(settings['OTEL_EXPORTER_OTLP_HEADERS']?.replace('x-api-key=', ''));
  await page.reload();
  await status.getByText('Connected').waitFor();
  expect(await variablesOf(page)).toMatchObject({ OTEL_EXPORTER_OTLP_HEADERS: 'x-api-key=<key>' });
  await page.getByRole('button', { name: 'gRPC' }).click();
  // Its set-up imports the exporter for HTTP.
  await page.getByText('What Pydantic AI needs sends HTTP').waitFor();
  expect(await variablesOf(page)).toMatchObject({ OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf' });
  await page.getByRole('combobox', { name: 'Framework or coding agent' }).fill('fastmcp');
  await page.getByRole('option', { name: 'FastMCP (client and server)' }).click();
  const block = await page.getByLabel('Set-up of FastMCP').textContent();
  for (const lines of [await variablesOf(page), variablesIn(block)]) {
    const OTEL_EXPORTER_OTLP_ENDPOINT = expect.stringMatching(/:4317$/);
    expect(lines).toMatchObject({ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc', OTEL_EXPORTER_OTLP_ENDPOINT });
  }
  await page.getByRole('link', { name: 'Inbox', exact: true }).click();
  await page.getByRole('row', { name: /gpt-5/ }).waitFor();
  await done();
});

test.each(FRAMEWORKS)('regression: with gRPC, the lines of $name are for one protocol', (framework) => {
  const protocol = protocolOf(framework, 'grpc');
  const parts = partsOf(framework, { address: 'https://qm.example.com', key: 'key', service: 'agent', protocol });
  const text = parts.map((part) => part.text).join('\n');
  const other =
    protocol === 'grpc'
      ? /qm\.example\.com(?!:4317)|http\/protobuf|\/v1\/traces/
      : /OTLP_ENDPOINT=\S*:4317|PROTOCOL=grpc/;
  expect(text).not.toMatch(other);
  expect(protocolOf(framework, 'http')).toBe('http');
});

test('a link cannot put a command into the lines that are pasted into a shell', async () => {
  const account = encodeURIComponent('x; touch /tmp/pasted; $(id)');
  const { page, done } = await world.open(`/connect?account=${account}&of=default&framework=pydantic-ai`);
  await page.getByText('The lines appear here').waitFor();
  expect(await page.getByLabel('Environment variables').count()).toBe(0);
  await done();
});

test('the first choice for MCP is a gateway, which leads to the lines of its view Connect', async () => {
  const tenant = 'default';
  const { server } = world;
  const as = server.admin;
  const declared = { name: 'tickets', kind: 'mcp', baseUrl: 'https://mcp.example.com/mcp', tenantId: tenant };
  const provider = await server.ok('POST', '/v1/providers', { as, body: declared });
  const edge = { name: 'edge', providerIds: [provider['id']], mcpProxy: 'on', tenantId: tenant };
  const gateway = await server.ok('POST', '/v1/gateways', { as, body: edge });
  const { page, expectFaultless, done } = await world.open(`/connect?tenant=${tenant}`);
  const choice = page.getByRole('region', { name: 'MCP servers: by gateway, without instrumentation' });
  await expectFaultless('a gateway is offered');
  await choice.getByRole('link', { name: 'gateways' }).click();
  await page.getByRole('row', { name: /edge/ }).click();
  await page.getByRole('button', { name: 'Connect', exact: true }).click();
  await page.getByText(`/v1/gateways/${gateway['id']}/mcp/tickets`).first().waitFor();
  expect(new URL(page.url()).searchParams.get('view')).toBe('connect');
  await expectFaultless('how a client connects to a gateway');
  await page.getByRole('textbox', { name: 'Name of the agent' }).fill('ticket-agent');
  await page.getByRole('button', { name: 'Create account and key' }).click();
  await page.getByText('The key is shown this once').waitFor();
  const lines = (await page.getByLabel('Open a session').textContent()) ?? '';
  const [key = ''] = /qm_key_\w+/.exec(lines) ?? [];
  const sessions = `/v1/gateways/${gateway['id']}/sessions`;
  const session = await server.ok('POST', sessions, { as: { key }, body: {} });
  expect(session['subject']).toBe('service_account:default/ticket-agent');
  await done();
});

test('the first time on a page is compared with the present, and not with the load of the page', async () => {
  const { page, done } = await world.open('/connect', { ownWindow: true });
  await page.getByRole('heading', { level: 1, name: 'Connect an agent' }).waitFor();
  await page.clock.setSystemTime(new Date(Date.now() + 20 * 60_000));
  await page.getByRole('link', { name: 'Accounts and keys' }).click();
  const account = page.getByRole('row', { name: /support-triage/ });
  // Telemetry is sent by the first test of this file.
  await account
    .getByText(/^2\d min ago$/)
    .first()
    .waitFor();
  await done();
});

/** The environment variables that the page shows. */
async function variablesOf(page: Page): Promise<Record<string, string>> {
  return variablesIn(await page.getByLabel('Environment variables').textContent());
}

/** The variables that lines of a shell export. */
function variablesIn(text: string | null): Record<string, string> {
  const lines = (text ?? '').split('\n').filter((line) => line.startsWith('export '));
  return Object.fromEntries(
    lines.flatMap((line) => [...line.matchAll(/(\w+)=(\S+)/g)].map(([, name, value]) => [name, value])),
  );
}

/** Sends a request as an OTLP exporter with these variables does. */
async function sendWith(variables: Record<string, string>, body: unknown): Promise<number> {
  const [name = '', value = ''] = variables['OTEL_EXPORTER_OTLP_HEADERS']?.split('=') ?? [];
  const answer = await fetch(`${variables['OTEL_EXPORTER_OTLP_ENDPOINT']}/v1/traces`, {
    method: 'POST',
    headers: { [name]: value, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
  return answer.status;
}
