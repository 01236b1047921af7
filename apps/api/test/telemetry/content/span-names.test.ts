import { expect, test } from 'vitest';
import { contentFilter } from '../../../src/telemetry/content/content.ts';
import { span } from '../otlp/wire.ts';
import { SECRET } from './attribute-names.ts';

// Content is not captured: which names of spans, events and scopes are stored.

const LEFT_OUT = '(name left out)';
const PROSE = 'Patient Jane Roe has hepatitis C, what about her dosage today';

/** The scope of an instrumentation that chooses the names of its spans itself. */
const OPENINFERENCE = { name: '@arizeai/openinference-instrumentation-openai', version: null, attributes: {} };

const filter = contentFilter({ keepContent: false });

test.each<[string, string | null, string]>([
  ['GET', null, 'GET'],
  ['GET /users/{id}', null, 'GET /users/{id}'],
  ['GET /users?name=secret', null, 'GET /users'],
  ['middleware - query', null, 'middleware - query'],
  [SECRET, null, '(name left out)'],
  [SECRET, 'genai', '(name left out)'],
  ['chat gpt-5', 'genai', 'chat gpt-5'],
  ['tools/call search', 'mcp', 'tools/call search'],
  [`apply_guardrail ${SECRET}`, 'genai', 'apply_guardrail'],
  // Regression: these names were stored.
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
])("the name %j of an application's span in the dialect %s is stored as %j", (name, dialect, kept) => {
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
])("the name %j of a framework's own span is stored as %j", (name, kept) => {
  expect(filter(span({ name, scope: OPENINFERENCE }), 'openinference').name).toBe(kept);
});

test.each<[string, string | null, string]>([
  ['exception', null, 'exception'],
  ['gen_ai.evaluation.result', null, 'gen_ai.evaluation.result'],
  ['something', null, '(event)'],
  ['something', 'genai', '(event)'],
  ['患者の秘密', 'openinference', '(event)'],
  [SECRET, 'openinference', '(event)'],
])('the event name %j in the dialect %s is stored as %j', (name, dialect, kept) => {
  const events = [{ name, time: 't', attributes: {} }];
  expect(filter(span({ events }), dialect).events[0]?.name).toBe(kept);
  expect(filter(span({ events, scope: OPENINFERENCE }), dialect).events[0]?.name).toBe(kept);
});

test("a framework's own event keeps its name", () => {
  const own = span({ events: [{ name: 'something', time: 't', attributes: {} }], scope: OPENINFERENCE });
  expect(filter(own, 'openinference').events[0]?.name).toBe('something');
  expect(filter({ ...own, scope: span().scope }, 'openinference').events[0]?.name).toBe('(event)');
});

test('name and version of a scope are stored if they look like those of a package', () => {
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
