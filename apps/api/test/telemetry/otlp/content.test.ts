import { describe, expect, test } from 'vitest';
import type { Attributes, OtlpSpan } from '../../../src/telemetry/otlp/span.ts';
import { contentFilter } from '../../../src/telemetry/content/content.ts';
import { span } from './wire.ts';

const SECRET = 'the customer said so';

const content = [
  'gen_ai.input.messages',
  'gen_ai.output.messages',
  'gen_ai.system_instructions',
  'gen_ai.tool.definitions',
  'gen_ai.tool.call.arguments',
  'gen_ai.tool.call.result',
  'gen_ai.retrieval.query.text',
  'gen_ai.retrieval.documents',
  'gen_ai.memory.records',
  'gen_ai.prompt',
  'gen_ai.prompt.0.content',
  'gen_ai.prompt.0.tool_calls.0.arguments',
  'gen_ai.completion',
  'gen_ai.completion.0.content',
  'gen_ai.event.content',
  'input.value',
  'output.value',
  'llm.input_messages',
  'llm.input_messages.0.message.content',
  'llm.output_messages.1.message.tool_calls.0.tool_call.function.arguments',
  'llm.prompts.0.prompt.text',
  'llm.choices.0.completion.text',
  'llm.invocation_parameters',
  'llm.prompt_template.variables',
  'llm.tools.0.tool.json_schema',
  'tool.parameters',
  'retrieval.documents.0.document.content',
  'reranker.input_documents.3.document.content',
  'embedding.embeddings.0.embedding.text',
  'traceloop.entity.input',
  'traceloop.entity.output',
  'traceloop.entity.name',
  'llm.completions.0.content',
  'mcp.request.argument',
  'ai.prompt.messages',
  'ai.toolCall.args',
  'gcp.vertex.agent.llm_request',
  'http.request.header.authorization',
  'http.response.header.set-cookie',
  'rpc.grpc.request.metadata.authorization',
  'exception.message',
  'exception.stacktrace',
  'error.message',
  'process.command_args',
  'process.command_line',
  'process.environment_variable.HOME',
  // Regression: these were stored, since no list of a convention had them
  'langfuse.observation.input',
  'langfuse.observation.output',
  'langfuse.trace.input',
  'langfuse.trace.output',
  'mlflow.spanInputs',
  'mlflow.spanOutputs',
  'pydantic_ai.all_messages',
  'all_messages',
  'all_messages_events',
  'events',
  'final_result',
  'tool_arguments',
  'tool_response',
  'request_data',
  'db.query.text',
  'db.query.parameter.0',
  'db.statement',
  'url.query',
  'gen_ai.input',
  'gen_ai.output',
  'gen_ai.prompts',
  'my_agent.prompt',
  'completions',
  'crewai.task.output',
  'agent.inputs',
  'tool.arguments',
  'step.result',
];

const secrets = [
  'api_key',
  'openai.apikey',
  'deployment.API_KEY',
  'service.clientSecret',
  'db.password',
  'auth.token',
  'session.access_token',
  'proxy.authorization',
  'http.request.header.authorization',
  'browser.cookie',
  'http.response.header.set-cookie',
  'aws.secret_access_key',
];

const governance = [
  'gen_ai.prompt.name',
  'gen_ai.request.model',
  'gen_ai.tool.name',
  'gen_ai.tool.call.id',
  'gen_ai.agent.description',
  'gen_ai.output.type',
  'gen_ai.prompter',
  'llm.model_name',
  'llm.token_count.prompt',
  'llm.prompt_template.version',
  'input.mime_type',
  'tool.name',
  'traceloop.span.kind',
  'ai.response.model',
  'ai.toolCall.name',
  'http.request.method',
  'http.request.headers_size',
  'exception.type',
  'error.type',
  'service.name',
  'process.command',
  'gen_ai.usage.input_tokens',
  'gen_ai.request.max_tokens',
  'gen_ai.tool.message_id',
  'db.query.summary',
  'events.count',
];

const entries = (names: string[]): Attributes => Object.fromEntries(names.map((name) => [name, SECRET]));

describe('without content', () => {
  const filter = contentFilter({ keepContent: false });

  test.each(content)('%s is removed everywhere', (name) => {
    const attributes = { [name]: SECRET, kept: 1 };
    const dirty = span({
      attributes,
      resource: { ...attributes },
      scope: { name: 's', version: null, attributes: { ...attributes } },
      events: [{ name: 'exception', time: 't', attributes: { ...attributes } }],
      links: [{ traceId: 'a', spanId: 'b', attributes: { ...attributes } }],
    });
    const clean = filter(dirty);
    expect(JSON.stringify(clean)).not.toContain(SECRET);
    for (const place of [clean, clean.scope, clean.events[0], clean.links[0]]) {
      expect(place?.attributes).toEqual({ kept: 1 });
    }
    expect(clean.resource).toEqual({ kept: 1 });
  });

  test.each(governance)('%s is kept', (name) => {
    expect(filter(span({ attributes: { [name]: 'x' } })).attributes).toEqual({ [name]: 'x' });
  });

  test('content inside structured values is removed, by its path and by its name', () => {
    const attributes = {
      gen_ai: { input: { messages: [SECRET] }, request: { model: 'm' } },
      llm: { input_messages: [{ 'message.content': SECRET }] },
      list: [{ 'gen_ai.output.messages': SECRET, n: 1 }],
    };
    expect(filter(span({ attributes })).attributes).toEqual({
      gen_ai: { request: { model: 'm' } },
      llm: {},
      list: [{ n: 1 }],
    });
  });

  test.each([
    'gen_ai.user.message',
    'gen_ai.system.message',
    'gen_ai.assistant.message',
    'gen_ai.tool.message',
    'gen_ai.choice',
    'gen_ai.content.prompt',
    'gen_ai.content.completion',
  ])('the event %s keeps its name and what is no content', (name) => {
    const attributes = { content: SECRET, message: { body: SECRET }, tool_calls: [SECRET], 'gen_ai.prompt': SECRET };
    const event = { name, time: 't', attributes: { ...attributes, 'gen_ai.system': 'openai', index: 0 } };
    expect(filter(span({ events: [event] })).events).toEqual([
      { name, time: 't', attributes: { 'gen_ai.system': 'openai', index: 0 } },
    ]);
  });

  test('a status message is removed, its code kept', () => {
    const status: OtlpSpan['status'] = { code: 'error', message: SECRET };
    expect(filter(span({ status })).status).toEqual({ code: 'error', message: null });
  });

  test('keys that name what objects inherit are copied as own properties', () => {
    const attributes = JSON.parse(`{"__proto__":{"polluted":true},"constructor":"c","exception.message":"x"}`);
    const filtered = filter(span({ attributes })).attributes;
    expect(JSON.stringify(filtered)).toBe('{"__proto__":{"polluted":true},"constructor":"c"}');
    expect(Object.getPrototypeOf(filtered)).toBe(Object.prototype);
  });
});

describe('with content', () => {
  const filter = contentFilter({ keepContent: true });

  test('content is kept whole, all else is cut', () => {
    const long = 'x'.repeat(5000);
    const filtered = filter(
      span({
        attributes: { 'gen_ai.input.messages': [{ content: long }], 'exception.message': long, other: long },
        events: [{ name: 'gen_ai.choice', time: 't', attributes: { message: long } }],
        status: { code: 'error', message: 'boom' },
      }),
    );
    expect(filtered.attributes).toEqual({
      'gen_ai.input.messages': [{ content: long }],
      'exception.message': long,
      other: long.slice(0, 1024),
    });
    expect(filtered.events[0]?.attributes.message).toBe(long);
    expect(filtered.status.message).toBe('boom');
  });
});

describe.each([true, false])('keepContent %s', (keepContent) => {
  test.each(secrets)('the secret %s is removed everywhere', (name) => {
    const attributes = { [name]: SECRET, nested: { [name]: [SECRET] }, kept: 1 };
    const dirty = span({
      attributes,
      resource: { ...attributes },
      events: [{ name: 'e', time: 't', attributes: { ...attributes } }],
    });
    const clean = contentFilter({ keepContent })(dirty);
    expect(JSON.stringify(clean)).not.toContain(SECRET);
    expect(clean.attributes).toEqual({ nested: {}, kept: 1 });
    expect(clean.resource).toEqual({ nested: {}, kept: 1 });
  });

  test('numbers and booleans are neither content nor secrets, whatever they are called', () => {
    const counts = {
      'llm.token_count.prompt': 7,
      'usage.completion': 2,
      'cache.token': 3,
      'http.cookie': true,
      result: 0,
    };
    const counted = span({ attributes: counts });
    expect(contentFilter({ keepContent })(counted)).toBe(counted);
  });

  test.each([
    ['url.full', 'https://user:hunter2@llm.example.com/v1?key=k#f', 'https://llm.example.com/v1', '?key=k#f'],
    ['http.url', 'https://hunter2@llm.example.com', 'https://llm.example.com', ''],
    ['url.full', 'https://a@b:hunter2@llm.example.com/x@y', 'https://llm.example.com/x@y', ''],
    ['url.full', 'https://llm.example.com/?mail=a@b', 'https://llm.example.com/', '?mail=a@b'],
    ['http.target', '/v1/chat?api_key=k', '/v1/chat', '?api_key=k'],
  ])('%s keeps no user and password, and its query as content alone: %s', (name, url, plain, query) => {
    const { attributes } = contentFilter({ keepContent })(span({ attributes: { [name]: url } }));
    expect(attributes).toEqual({ [name]: keepContent ? plain + query : plain });
  });

  test('a span that needs no change is returned as it is', () => {
    const clean = span({
      attributes: { ...entries(governance), list: [1, { a: 'b' }] },
      resource: { 'service.name': 'agents' },
      events: [{ name: 'e', time: 't', attributes: { n: 1 } }],
      links: [{ traceId: 'a', spanId: 'b', attributes: {} }],
    });
    expect(contentFilter({ keepContent })(clean)).toBe(clean);
  });

  test('the input is never changed', () => {
    const dirty = span({ attributes: entries([...content, 'x'.repeat(2000)]), resource: entries(content) });
    const before = structuredClone(dirty);
    contentFilter({ keepContent })(dirty);
    expect(dirty).toEqual(before);
  });

  test('what spans share stays shared', () => {
    const resource = { 'exception.message': SECRET, long: 'x'.repeat(2000) };
    const scope = { name: 'x'.repeat(2000), version: null, attributes: {} };
    const filter = contentFilter({ keepContent });
    const [a, b] = [filter(span({ resource, scope })), filter(span({ resource, scope }))];
    expect(a.resource).not.toBe(resource);
    expect(a.resource).toBe(b.resource);
    expect(a.scope).toBe(b.scope);
  });

  test('every other string is cut at 1,024 bytes of UTF-8, between code points', () => {
    const long = `${'x'.repeat(1022)}😀${'x'.repeat(1000)}`;
    const short = 'x'.repeat(1022);
    const filtered = contentFilter({ keepContent })(
      span({
        name: long,
        traceState: long,
        attributes: { plain: long, nested: [{ deep: [long] }], [long]: 1, exact: 'é'.repeat(512) },
        resource: { long },
        scope: { name: long, version: long, attributes: { long } },
        events: [{ name: long, time: 't', attributes: { long } }],
        links: [{ traceId: 'a', spanId: 'b', attributes: { long } }],
      }),
    );
    expect(filtered).toMatchObject({
      name: short,
      traceState: short,
      attributes: { plain: short, nested: [{ deep: [short] }], [short]: 1, exact: 'é'.repeat(512) },
      resource: { long: short },
      scope: { name: short, version: short, attributes: { long: short } },
      events: [{ name: short, attributes: { long: short } }],
      links: [{ attributes: { long: short } }],
    });
  });
});
