import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { LogSource, ReadSource } from '../../../src/telemetry/reading/dialect.ts';
import type { Reading } from '../../../src/telemetry/reading/facts.ts';
import { readLogRecord, readSpan } from '../../../src/telemetry/frameworks/read.ts';
import type { Attributes, AttributeValue } from '../../../src/telemetry/otlp/span.ts';
import { recordedLogs, recordedSpans } from './recorded-uses.ts';
import { source } from './source.ts';

/** An object that `String` and `Number` cannot convert. */
const UNCONVERTIBLE = { toString: 1, valueOf: 1 };

const HOSTILE: AttributeValue[] = [
  null,
  -1,
  0,
  1e308,
  Number.MAX_SAFE_INTEGER,
  '-1',
  '1e308',
  'Infinity',
  [],
  {},
  UNCONVERTIBLE,
  [[UNCONVERTIBLE]],
  [JSON.stringify({ type: 'provider-defined', name: 'a', id: UNCONVERTIBLE })],
  JSON.stringify([{ type: 'tool-call', toolName: 'a', toolCallId: UNCONVERTIBLE, id: UNCONVERTIBLE }]),
  JSON.stringify({ input: -9, output: -9, total: -9, input_tokens: -9, output_tokens: -9, input_x: -9, output_x: -9 }),
  `[{"type":"mcp_call","id":${'['.repeat(20_000)}${']'.repeat(20_000)}}]`,
];

const recordings = readdirSync(new URL('../recordings', import.meta.url)).filter((file) => file.endsWith('.json'));

test.each(recordings.map((file) => file.slice(0, -'.json'.length)))(
  '%s: spans and log records with a hostile value are read, and tokens stay counts',
  (name) => {
    const tried = new Set<string>();
    for (const span of recordedSpans(name)) tryValues(span, readSpan, tried);
    for (const record of recordedLogs(name))
      tryValues({ ...record, name: record.eventName ?? '' }, readLogRecord, tried);
  },
);

/** Replaces each attribute, and each attribute of an event, by each hostile value. */
function tryValues<Source extends (ReadSource | LogSource) & { name: string; events?: ReadSource['events'] }>(
  original: Source,
  read: (source: Source) => Reading,
  tried: Set<string>,
): void {
  const tryPlace = (place: string, attributes: Attributes, withAttributes: (changed: Attributes) => Source) => {
    for (const name of Object.keys(attributes)) {
      // Spans of one name are read alike.
      const key = `${original.name} ${place} ${name}`;
      if (tried.has(key)) continue;
      tried.add(key);
      for (const value of HOSTILE) expectCounts(read(withAttributes({ ...attributes, [name]: value })));
    }
  };
  tryPlace('', original.attributes, (attributes) => ({ ...original, attributes }));
  for (const [index, event] of (original.events ?? []).entries()) {
    tryPlace(`event ${event.name}`, event.attributes, (attributes) => ({
      ...original,
      events: original.events?.with(index, { ...event, attributes }),
    }));
  }
}

function expectCounts({ facts }: Reading): void {
  for (const count of [facts?.inputTokens ?? 0, facts?.outputTokens ?? 0]) {
    if (!Number.isSafeInteger(count) || count < 0) expect.fail(`${count} is no count of tokens`);
  }
}

test.each([
  ['a status', { 'acme.tool.name': 'a', 'acme.tool.status': UNCONVERTIBLE }, ''],
  ['a level', { 'gen_ai.request.model': 'gpt-5', 'logfire.level_num': UNCONVERTIBLE }, 'logfire'],
])('%s that cannot be converted to a text is ignored', (_what, attributes, scope) => {
  expect(readSpan(source(attributes, 'execute_tool a', { scope })).facts).not.toBeNull();
});

test('sums of tokens that no number can hold exactly are the largest exact number', () => {
  const largest = Number.MAX_SAFE_INTEGER;
  const attributes = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.model': 'gpt-5',
    'gen_ai.usage.input_tokens': 1,
    'gen_ai.usage.cache_read.input_tokens': largest,
    'gen_ai.usage.cache_creation.input_tokens': largest,
  };
  expect(readSpan(source(attributes)).facts?.inputTokens).toBe(largest);
});

test('further tokens below 0 are not subtracted from those of a call', () => {
  const attributes = {
    'langfuse.observation.type': 'generation',
    'gen_ai.request.model': 'gpt-5',
    'gen_ai.usage.input_tokens': 5,
    'langfuse.observation.usage_details': JSON.stringify({ input: 5, input_cached: -900 }),
  };
  expect(readSpan(source(attributes, 'chat', { scope: 'langfuse-sdk' })).facts?.inputTokens).toBe(5);
});
