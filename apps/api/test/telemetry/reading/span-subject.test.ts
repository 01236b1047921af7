import { expect, test } from 'vitest';
import { readSpan } from '../../../src/telemetry/frameworks/read.ts';
import { span } from '../otlp/wire.ts';

const AGENT = { 'openinference.span.kind': 'AGENT' };
const LANGFUSE_AGENT = { 'langfuse.observation.type': 'agent' };
const LANGFUSE_TOOL = { 'langfuse.observation.type': 'tool' };

const kinds = [
  ['agent', AGENT],
  ['agent', LANGFUSE_AGENT],
  ['tool', LANGFUSE_TOOL],
] as const;

// Regression: prompts in the names of an application's spans were observed as tools and agents.
test.each([
  'Summarise the record of Jane Roe',
  'look up Jane Roe, please',
  'what is this?',
  '请告诉我病人张伟的艾滋病检测结果',
  '{"prompt":"x"}',
  Buffer.from('the secret prompt is here').toString('base64'),
  'alice@example.com',
  'https://user:pw@example.com/x',
  'router - /users/alice@example.com',
  '',
])('a span that is named %j names no tool or agent', (name) => {
  for (const [, attributes] of kinds) {
    const { facts, uses } = readSpan(span({ name, attributes }));
    expect(facts).toMatchObject({ agent: null, tool: null });
    expect(uses).toEqual([]);
  }
});

test.each([
  'weather_agent',
  'Senior Market Research Analyst',
  'mcp__files__read',
  'get_weather()',
  '天气助手',
  'Météo',
])('a span that is named %j names a tool or agent', (name) => {
  for (const [fact, attributes] of kinds) {
    const { facts, uses } = readSpan(span({ name, attributes }));
    expect(facts?.[fact]).toBe(name);
    expect(uses).toEqual([{ kind: fact, name }]);
  }
});

test('facts do not contain user, password, query and fragment of URLs', () => {
  const url = 'https://user:hunter2@example.com/docs?token=hunter2#hunter2';
  const attributes = {
    'mcp.method.name': 'resources/read',
    'mcp.resource.uri': url,
    'gen_ai.agent.name': `agent of ${url}`,
    'server.address': url,
  };
  const reading = readSpan(span({ attributes }));
  expect(JSON.stringify(reading)).not.toContain('hunter2');
  expect(reading.uses).toEqual([{ kind: 'resource', name: 'https://example.com/docs' }]);
  expect(reading.facts).toMatchObject({ serverAddress: 'example.com', agent: 'agent of https://example.com/docs' });
});
