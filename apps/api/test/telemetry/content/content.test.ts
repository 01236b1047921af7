import { describe, expect, test } from 'vitest';
import type { Attributes, AttributeValue, OtlpSpan } from '../../../src/telemetry/otlp/span.ts';
import { DIALECTS } from '../../../src/telemetry/dialects/table.ts';
import { contentFilter } from '../../../src/telemetry/content/content.ts';
import { span } from '../otlp/wire.ts';

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
  'db.connection_string',
  'db.pwd',
  'auth.jwt',
  'key.passphrase',
];

/** Names that cannot hold content, in any dialect. */
const safe = [
  'gen_ai.prompt.name',
  'gen_ai.request.model',
  'gen_ai.tool.name',
  'gen_ai.tool.call.id',
  'gen_ai.output.type',
  'gen_ai.response.finish_reasons',
  'http.request.method',
  'http.route',
  'exception.type',
  'error.type',
  'service.name',
  'service.namespace',
  'k8s.pod.name',
  'telemetry.sdk.name',
  'session.id',
  'db.system.name',
  'rpc.method',
  'messaging.system',
  'server.address',
  'code.function.name',
];

/** Names that no list has, or that people fill with what they like: their strings are not stored. */
const unlisted = [
  'note',
  // Regression: prefixes made everything below them safe.
  'service.custom',
  'service.prompt',
  'cloud.output.text',
  'network.request.path',
  'net.http.target',
  'telemetry.note',
  'deployment.note',
  'process.runtime.note',
  'webengine.note',
  'gen_ai.openai.request.note',
  'my.attribute',
  'gen_ai.agent.description',
  'gen_ai.tool.description',
  'gen_ai.prompter',
  'gen_ai.request.stop_sequences',
  'ai.telemetry.metadata.note',
  'x:input',
  'y/arguments',
  'raw.metadata.body',
  'system_prompt',
  'agent.instructions',
  'shell.command',
  'process.command',
  'process.owner',
  'error',
  'status_message',
  'ai.request.text',
  'ai.documents',
  'ai.request.headers.x-note',
  'k8s.pod.annotation.note',
  'k8s.pod.label.note',
  'container.label.note',
  'user.email',
  'user_agent.original',
  'url.path',
  'db.query.summary',
  'tool.name',
  'constructor',
  '__proto__',
];

/** Names that one dialect declares safe. */
const safeInDialects: [string, string][] = [
  ['openinference', 'tool.name'],
  ['codex', 'tool.name'],
  ['openai-agents', 'tool.name'],
  ['voltagent', 'tool.name'],
  ['ax', 'tool.name'],
  ['openinference', 'llm.model_name'],
  ['openinference', 'input.mime_type'],
  ['openinference', 'openinference.span.kind'],
  ['openllmetry', 'traceloop.span.kind'],
  ['openllmetry', 'traceloop.entity.name'],
];

const LEFT_OUT = '(name left out)';
const PROSE = 'Patient Jane Roe has hepatitis C, what about her dosage today';

/** Of an instrumentation that makes the names of its spans itself. */
const OPENINFERENCE = { name: '@arizeai/openinference-instrumentation-openai', version: null, attributes: {} };

const entries = (names: string[]): Attributes => Object.fromEntries(names.map((name) => [name, SECRET]));

/** What an attribute list looks like once one text of it was left out. */
const without = (name: string, kept: Attributes = {}): Attributes => ({
  ...kept,
  'quartermaster.omitted': [name],
  'quartermaster.omitted.count': 1,
});

const inMapping = (name: string, value: AttributeValue): Attributes => Object.fromEntries([[name, value]]);

describe('without content', () => {
  const filter = contentFilter({ keepContent: false });
  const filtered = (attributes: Attributes, dialect: string | null = null) =>
    filter(span({ attributes }), dialect).attributes;

  describe.each([null, ...DIALECTS.map(({ name }) => name)])('in the dialect %s', (dialect) => {
    test.each([...content, ...unlisted])('%s is removed everywhere', (name) => {
      if (safeInDialects.some(([of, safeName]) => of === dialect && safeName === name)) return;
      const attributes = () => ({ ...inMapping(name, SECRET), kept: 1 });
      const dirty = span({
        attributes: attributes(),
        resource: attributes(),
        scope: { name: 's', version: null, attributes: attributes() },
        events: [{ name: 'exception', time: 't', attributes: attributes() }],
        links: [{ traceId: 'a', spanId: 'b', attributes: attributes() }],
      });
      const clean = filter(dirty, dialect);
      expect(JSON.stringify(clean)).not.toContain(SECRET);
      expect(clean.attributes).toEqual({ ...without(name, { kept: 1 }), 'quartermaster.omitted.count': 3 });
      expect(clean.resource).toEqual(without(name, { kept: 1 }));
      expect(clean.scope.attributes).toEqual(without(name, { kept: 1 }));
      expect(clean.events[0]?.attributes).toEqual({ kept: 1 });
      expect(clean.links[0]?.attributes).toEqual({ kept: 1 });
    });

    test.each(safe)('%s is kept', (name) => {
      expect(filtered({ [name]: 'x' }, dialect)).toEqual({ [name]: 'x' });
    });
  });

  test.each(safeInDialects)('%s: %s is kept', (dialect, name) => {
    expect(filtered({ [name]: 'x' }, dialect)).toEqual({ [name]: 'x' });
  });

  test.each(DIALECTS.map(({ name, content: ofDialect = [] }) => [name, ofDialect] as const))(
    '%s: everything that it lists as content is removed, numbers too',
    (dialect, names) => {
      for (const listed of names) {
        const name = listed.replaceAll('*', 'any');
        for (const value of [SECRET, 7, true, [1], { a: 1 }]) {
          for (const below of [name, `${name}.0.more`, `${name}:more`, `${name}/more`]) {
            const isRead = DIALECTS.find((one) => one.name === dialect)?.safe?.includes(below);
            if (!isRead) expect(filtered({ [below]: value }, dialect)).toEqual(without(below));
          }
        }
      }
    },
  );

  test('content inside structured values is removed, by its path and by its name', () => {
    const attributes = {
      gen_ai: { output: { messages: [SECRET] }, agent: { name: 'm', note: SECRET } },
      llm: { input_messages: [{ 'message.content': SECRET }] },
      list: [{ 'gen_ai.output.messages': SECRET, n: 1 }],
      free: { [SECRET]: 1, n: 1 },
    };
    expect(filtered(attributes)).toEqual({
      gen_ai: { agent: { name: 'm' } },
      llm: {},
      list: [{ n: 1 }],
      free: { n: 1 },
      'quartermaster.omitted': [
        'gen_ai.output',
        'gen_ai.agent.note',
        'llm.input_messages',
        'list.gen_ai.output.messages',
        'free',
      ],
      'quartermaster.omitted.count': 5,
    });
  });

  test.each<[string, AttributeValue]>([
    ['texts', ['a', 'b']],
    ['numbers and a text', [1, 'a']],
    ['many numbers, which may be an embedding', Array.from({ length: 17 }, () => 0.5)],
  ])('a list of %s is removed', (_what, value) => {
    expect(filtered({ list: value })).toEqual(without('list'));
  });

  test('a short list of numbers is kept, and a list under a safe name', () => {
    const attributes = { list: [1, 2.5, true], 'gen_ai.response.finish_reasons': ['stop', 'length'] };
    expect(filtered(attributes)).toEqual(attributes);
  });

  test('the name of an error is one word', () => {
    expect(filtered({ 'error.type': 'java.net.UnknownHostException' })).toEqual({
      'error.type': 'java.net.UnknownHostException',
    });
    expect(filtered({ 'error.type': SECRET })).toEqual(without('error.type'));
  });

  test('a name that may be content is counted and not repeated', () => {
    expect(filtered({ [SECRET]: 1, note: 'x' })).toEqual({
      'quartermaster.omitted': ['note'],
      'quartermaster.omitted.count': 2,
    });
  });

  test('at most 64 names are listed', () => {
    const many = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`name.${i}`, SECRET]));
    const clean = filtered(many);
    expect(clean['quartermaster.omitted']).toHaveLength(64);
    expect(clean['quartermaster.omitted.count']).toBe(100);
  });

  test('a sender cannot write the list of what was left out', () => {
    expect(filtered({ 'quartermaster.omitted': 3, 'quartermaster.omitted.count': 9, n: 1 })).toEqual({ n: 1 });
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
    const attributes = { content: SECRET, message: { body: SECRET }, tool_calls: [SECRET], tokens: 1 };
    const event = { name, time: 't', attributes: { ...attributes, 'gen_ai.system': 'openai', index: 0 } };
    const clean = filter(span({ events: [event] }), 'genai');
    expect(clean.events).toEqual([{ name, time: 't', attributes: { 'gen_ai.system': 'openai', index: 0 } }]);
    expect(clean.attributes['quartermaster.omitted']).toEqual(['content', 'message', 'tool_calls', 'tokens']);
  });

  test('the message of a status and the trace state are removed', () => {
    const status: OtlpSpan['status'] = { code: 'error', message: SECRET };
    const clean = filter(span({ status, traceState: `acme=${SECRET}` }), 'genai');
    expect(clean).toMatchObject({ status: { code: 'error', message: null }, traceState: null });
    expect(clean.attributes['quartermaster.omitted']).toEqual(['status.message', 'traceState']);
  });

  test.each<[string, string | null, string]>([
    ['GET', null, 'GET'],
    ['GET /users/{id}', null, 'GET /users/{id}'],
    ['GET /users?name=secret', null, 'GET /users'],
    ['middleware - query', null, 'middleware - query'],
    [SECRET, null, '(name left out)'],
    [SECRET, 'genai', '(name left out)'],
    ['chat gpt-5', 'genai', 'chat gpt-5'],
    ['tools/call search', 'mcp', 'tools/call search'],
    // Regression: all of these were stored.
    ['请告诉我病人张伟的艾滋病检测结果', null, LEFT_OUT],
    ['患者の秘密', 'genai', LEFT_OUT],
    ['{"ssn":"078-05-1120","q":"diagnosis"}', null, LEFT_OUT],
    [Buffer.from('the secret prompt is here').toString('base64'), null, LEFT_OUT],
    [Buffer.from('a'.repeat(30)).toString('hex'), null, LEFT_OUT],
    ['alice@example.com', null, LEFT_OUT],
    ['4111111111111111', null, LEFT_OUT],
    ['GET /users/alice@example.com/reset/x7', null, 'GET'],
    ['GET https://user:pw@example.com/secret', null, 'GET'],
    ['GET /users/:id/cards/{card}', null, 'GET /users/:id/cards/{card}'],
    ['router - /users/alice@example.com', null, 'router'],
    ['router - /users/:id', null, 'router - /users/:id'],
    ['fire bob - tomorrow evening', null, LEFT_OUT],
    ['resources/read file:///home/alice/hiv.pdf?token=x', 'mcp', 'resources/read'],
    ['chat claude-sonnet-4@20250514', 'genai', 'chat claude-sonnet-4@20250514'],
    [`chat ${SECRET}`, 'genai', 'chat'],
    ['mcp__files__delete_file', null, 'mcp__files__delete_file'],
    ['agent run', null, 'agent run'],
    [PROSE, 'openinference', LEFT_OUT],
    [PROSE, 'openllmetry', LEFT_OUT],
    [PROSE, 'langfuse', LEFT_OUT],
  ])("the name of an application's span %j in the dialect %s is %j", (name, dialect, kept) => {
    expect(filter(span({ name }), dialect).name).toBe(kept);
  });

  test.each<[string, string]>([
    [`${SECRET}\nand more`, SECRET],
    ['get the weather', 'get the weather'],
    ["agent run: 'weather_agent'", "agent run: 'weather_agent'"],
    ['x'.repeat(200), 'x'.repeat(128)],
    ['fetch https://user:pw@example.com/a?key=b', 'fetch https://example.com/a'],
    [PROSE, LEFT_OUT],
    ['请告诉我病人张伟的艾滋病检测结果', LEFT_OUT],
    ['{"prompt":"x"}', LEFT_OUT],
    ['mail alice@example.com', LEFT_OUT],
  ])("the name of a framework's own span %j is %j", (name, kept) => {
    expect(filter(span({ name, scope: OPENINFERENCE }), 'openinference').name).toBe(kept);
  });

  test.each<[string, string | null, string]>([
    ['exception', null, 'exception'],
    ['gen_ai.evaluation.result', null, 'gen_ai.evaluation.result'],
    ['something', null, '(event)'],
    ['something', 'genai', '(event)'],
    ['患者の秘密', 'openinference', '(event)'],
    [SECRET, 'openinference', '(event)'],
  ])('the name of the event %j in the dialect %s is %j', (name, dialect, kept) => {
    const events = [{ name, time: 't', attributes: {} }];
    expect(filter(span({ events }), dialect).events[0]?.name).toBe(kept);
    expect(filter(span({ events, scope: OPENINFERENCE }), dialect).events[0]?.name).toBe(kept);
  });

  test("a framework's own event keeps its name", () => {
    const own = span({ events: [{ name: 'something', time: 't', attributes: {} }], scope: OPENINFERENCE });
    expect(filter(own, 'openinference').events[0]?.name).toBe('something');
    expect(filter({ ...own, scope: span().scope }, 'openinference').events[0]?.name).toBe('(event)');
  });

  test('a scope keeps the name and version of a package', () => {
    const scope = { name: '@acme/agents', version: '1.2.3-beta+5', attributes: {} };
    expect(filter(span({ scope }), null).scope).toBe(scope);
    expect(filter(span({ scope: { ...scope, name: `"${SECRET}"`, version: `"${SECRET}"` } }), null).scope).toEqual({
      name: '(name left out)',
      version: null,
      attributes: {
        'quartermaster.omitted': ['scope.name', 'scope.version'],
        'quartermaster.omitted.count': 2,
      },
    });
  });

  test.each([
    ['url.full', 'https://user:hunter2@llm.example.com:8443/v1/secret?key=k#f', 'https://llm.example.com:8443'],
    ['http.url', 'https://hunter2@llm.example.com', 'https://llm.example.com'],
  ])('of %s, scheme and host are kept: %s', (name, url, origin) => {
    expect(filtered({ [name]: url })).toEqual({ [name]: origin });
  });

  const URL_WITH_SECRETS = 'https://user:hunter2@h.example.com:8443/docs?token=hunter2#hunter2';
  const readNames = [
    ...safe,
    ...DIALECTS.flatMap(({ safe = [], attributes = {} }) => [...safe, ...Object.values(attributes).flat()]),
  ];

  test.each([null, ...DIALECTS.map(({ name }) => name)])(
    '%s: a URL under any safe name or fact loses user, query and fragment',
    (dialect) => {
      const attributes = Object.fromEntries(readNames.map((name) => [name, URL_WITH_SECRETS]));
      expect(JSON.stringify(filtered(attributes, dialect))).not.toContain('hunter2');
    },
  );

  test.each([
    ['server.address', URL_WITH_SECRETS, 'h.example.com:8443'],
    ['server.address', 'user:hunter2@h.example.com', 'h.example.com'],
    ['http.host', 'h.example.com/secret?x=1', 'h.example.com'],
    ['server.address', '2001:db8::1', '2001:db8::1'],
    ['server.address', '[2001:db8::1]:443', '[2001:db8::1]:443'],
    ['server.address', '/var/run/agent.sock', '/var/run/agent.sock'],
    ['mcp.resource.uri', 'file:///home/docs/a.pdf?token=x', 'file:///home/docs/a.pdf'],
    ['mcp.resource.uri', 'https://user:pa/ss@h/x', 'https://'],
    ['http.route', '/users/{id}/orders', '/users/{id}/orders'],
    ['gen_ai.agent.name', 'Senior Market Research Analyst', 'Senior Market Research Analyst'],
    ['os.version', 'Darwin 23.1', 'Darwin 23.1'],
    ['error.type', 'grpc::StatusCode', 'grpc::StatusCode'],
  ])('%s: of %j, %j is kept', (name, value, kept) => {
    expect(filtered({ [name]: value })[name]).toBe(kept);
  });

  test.each([
    ['rpc.method', 'prose of a user'],
    ['code.function', 'prose of a user'],
    ['gen_ai.operation.name', 'Please translate this text'],
    ['gen_ai.data_source.id', 'the document about Jane'],
    ['db.operation.name', 'SELECT * FROM patients'],
    ['db.name', 'all of the patients of Jane'],
    ['error.type', 'user:alice/pw:hunter2'],
    ['http.route', '/users/alice@example.com/reset'],
    ['http.route', '/users/alice?token=x'],
    ['gen_ai.openai.request.response_format', '{"schema":{"description":"some prose"}}'],
    ['session.id', '请告诉我病人张伟的艾滋病检测结果'],
    ['host.name', '{"prompt":"x"}'],
    ['server.address', 'not a host at all'],
  ])('%s: %j is removed', (name, value) => {
    expect(filtered({ [name]: value })).toEqual(without(name));
  });

  test('JSON under a label is kept if it holds counts', () => {
    const name = 'langfuse.observation.usage_details';
    const counts = { [name]: '{"input":3,"output":{"cached":1}}' };
    expect(filtered(counts, 'langfuse')).toEqual(counts);
    for (const text of [
      '{"note":"some prose"}',
      '{"alice@example.com":3}',
      'prose that somebody wrote down',
      '["a b"]',
    ]) {
      expect(filtered({ [name]: text }, 'langfuse')).toEqual(without(name));
    }
  });

  test.each([
    '{"prompt":"x"}',
    '{"prompt":1}',
    '病人张伟艾滋病',
    'alice@example.com',
    'alice@example.com/diagnosis',
    Buffer.from('the secret prompt is here').toString('base64'),
    'card.4111111111111111',
    '....',
  ])('an attribute named %j is removed with its name, also inside others', (name) => {
    for (const value of [1, true, SECRET]) {
      expect(filtered({ [name]: value })).toEqual({
        'quartermaster.omitted': [],
        'quartermaster.omitted.count': 1,
      });
      expect(filtered({ usage: { [name]: value } })).toEqual({ usage: {}, ...without('usage') });
    }
  });

  test('what is no URL is removed', () => {
    expect(filtered({ 'url.full': SECRET })).toEqual(without('url.full'));
    expect(filtered({ 'http.target': `/v1/${SECRET}` })).toEqual(without('http.target'));
  });

  test('keys that name what objects inherit are copied as own properties', () => {
    const clean = filtered(JSON.parse(`{"__proto__":{"polluted":true},"constructor":1,"exception.message":"x"}`));
    expect(JSON.stringify(clean)).toMatch(/^\{"__proto__":\{"polluted":true\},"constructor":1,/);
    expect(Object.getPrototypeOf(clean)).toBe(Object.prototype);
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
      'genai',
    );
    expect(filtered.attributes).toEqual({
      'gen_ai.input.messages': [{ content: long }],
      'exception.message': long,
      other: long.slice(0, 1024),
    });
    expect(filtered.events[0]?.attributes.message).toBe(long);
    expect(filtered.status.message).toBe('boom');
  });

  const notSecret = content.filter((name) => !/authorization$|cookie$/.test(name));
  test.each([...notSecret, ...unlisted])('%s is kept', (name) => {
    const attributes = inMapping(name, SECRET);
    expect(filter(span({ attributes }), null).attributes).toEqual(attributes);
  });

  test.each([
    ['url.full', 'https://user:hunter2@llm.example.com/v1?key=k#f', 'https://llm.example.com/v1?key=k#f'],
    ['http.url', 'https://hunter2@llm.example.com', 'https://llm.example.com'],
    ['url.full', 'https://a@b:hunter2@llm.example.com/x@y', 'https://llm.example.com/x@y'],
    ['url.full', 'https://llm.example.com/?mail=a@b', 'https://llm.example.com/?mail=a@b'],
    ['http.target', '/v1/chat?api_key=k', '/v1/chat?api_key=k'],
    ['server.address', 'https://user:hunter2@llm.example.com', 'https://llm.example.com'],
    ['note', 'it called https://user:hunter2@a.example.com then', 'it called https://a.example.com then'],
  ])('%s keeps no user and password: %s', (name, url, plain) => {
    expect(filter(span({ attributes: { [name]: url } }), null).attributes).toEqual({ [name]: plain });
  });

  test('URLs in the name and the status of a span keep no user and password', () => {
    const url = 'https://user:hunter2@llm.example.com/v1';
    const status: OtlpSpan['status'] = { code: 'error', message: `refused by ${url}` };
    expect(filter(span({ name: `POST ${url}`, status }), null)).toMatchObject({
      name: 'POST https://llm.example.com/v1',
      status: { message: 'refused by https://llm.example.com/v1' },
    });
  });

  test('secrets inside content are removed', () => {
    const input = { user: 'alice', password: 'x', list: [{ apiKey: 'x', text: 'y' }], max_tokens: 3 };
    expect(filter(span({ attributes: { input } }), null).attributes).toEqual({
      input: { user: 'alice', list: [{ text: 'y' }], max_tokens: 3 },
    });
  });

  test('every other string is cut at 1,024 bytes of UTF-8, between code points', () => {
    const long = `${'x'.repeat(1022)}😀${'x'.repeat(1000)}`;
    const short = 'x'.repeat(1022);
    const filtered = filter(
      span({
        name: long,
        traceState: long,
        attributes: { plain: long, nested: [{ deep: [long] }], [long]: 1, exact: 'é'.repeat(512) },
        resource: { long },
        scope: { name: long, version: long, attributes: { long } },
        events: [{ name: long, time: 't', attributes: { long } }],
        links: [{ traceId: 'a', spanId: 'b', attributes: { long } }],
      }),
      null,
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

describe.each([true, false])('keepContent %s', (keepContent) => {
  test.each(secrets)('the secret %s is removed everywhere', (name) => {
    const attributes = { [name]: SECRET, nested: { [name]: [SECRET] }, kept: 1 };
    const dirty = span({
      attributes,
      resource: { ...attributes },
      events: [{ name: 'exception', time: 't', attributes: { ...attributes } }],
    });
    const clean = contentFilter({ keepContent })(dirty, null);
    expect(JSON.stringify(clean)).not.toContain(SECRET);
    expect(clean.attributes).toMatchObject({ nested: {}, kept: 1 });
    expect(clean.resource).toMatchObject({ nested: {}, kept: 1 });
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
    expect(contentFilter({ keepContent })(counted, null)).toBe(counted);
  });

  test('a span that needs no change is returned as it is', () => {
    const clean = span({
      attributes: { ...Object.fromEntries(safe.map((name) => [name, 'x'])), list: [1, { a: 2 }] },
      resource: { 'service.name': 'agents' },
      events: [{ name: 'exception', time: 't', attributes: { n: 1 } }],
      links: [{ traceId: 'a', spanId: 'b', attributes: {} }],
    });
    expect(contentFilter({ keepContent })(clean, null)).toBe(clean);
  });

  test('the input is never changed', () => {
    const dirty = span({ attributes: entries([...content, 'x'.repeat(2000)]), resource: entries(content) });
    const before = structuredClone(dirty);
    contentFilter({ keepContent })(dirty, null);
    expect(dirty).toEqual(before);
  });

  test('what spans share stays shared, whatever their dialects', () => {
    const resource = { 'exception.message': SECRET, long: 'x'.repeat(2000) };
    const scope = { name: 'x'.repeat(2000), version: null, attributes: {} };
    const filter = contentFilter({ keepContent });
    const [a, b] = [filter(span({ resource, scope }), null), filter(span({ resource, scope }), 'genai')];
    expect(a.resource).not.toBe(resource);
    expect(a.resource).toBe(b.resource);
    expect(a.scope).toBe(b.scope);
  });
});
