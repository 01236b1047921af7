import { describe, expect, test } from 'vitest';
import type { Dialect } from '../../../src/telemetry/reading/dialect.ts';
import { readLogRecord, readNames, readSpan } from '../../../src/telemetry/frameworks/read.ts';
import { DIALECTS } from '../../../src/telemetry/frameworks/list.ts';
import { namesOf } from '../../../src/telemetry/reading/reader.ts';
import type { Attributes } from '../../../src/telemetry/otlp/span.ts';
import { source } from './source.ts';

const LENGTH = 30_000;

/** Texts on which patterns with two unbounded parts backtrack for seconds. */
const HOSTILE: Record<string, string> = {
  'mcp__ and underscores': `mcp__${'_'.repeat(LENGTH)}\n`,
  underscores: `${'_'.repeat(LENGTH)}\n`,
  'pairs of underscores': `${'a__'.repeat(LENGTH / 3)}\n`,
  'mcp__ repeated': `${'mcp__'.repeat(LENGTH / 5)}\n`,
  'almost base64': `${'YWE/'.repeat(LENGTH / 4)}AAAA`,
  slashes: `a${'/'.repeat(LENGTH)}\n`,
  'parts of a path': `${'a/'.repeat(LENGTH / 2)}\n`,
  spaces: `a${' '.repeat(LENGTH)}a`,
  'tabs and line ends': `${'\t\n'.repeat(LENGTH / 2)}x`,
  dots: `${'.a'.repeat(LENGTH / 2)}!`,
  'letters after a dot': `.${'a'.repeat(LENGTH)}!`,
  digits: `${'1'.repeat(LENGTH)}x`,
  hyphens: `agent-${'-'.repeat(LENGTH)}\n`,
  'parameters of a request': '"params":{"name":'.repeat(LENGTH / 17),
  'names in parameters': `"params":{${'"name": '.repeat(LENGTH / 8)}`,
  'spaces in parameters': `"params":${' '.repeat(50)}`.repeat(LENGTH / 59),
  'types in an answer': '"type": "web_search_call"'.repeat(LENGTH / 25),
  'open brackets': '['.repeat(LENGTH),
  'closed brackets': `agent_run [${']'.repeat(LENGTH)}\n`,
  'colons in an address': `http://${':'.repeat(LENGTH)}@`,
  'users in an address': `http://${'a@'.repeat(LENGTH / 2)}`,
};

/** Attributes that make a span report a model, a tool or an agent in some dialect. */
const KINDS: Attributes[] = [
  {},
  ...['LLM', 'TOOL', 'AGENT', 'CHAIN'].map((kind) => ({ 'openinference.span.kind': kind })),
  { 'gen_ai.operation.name': 'execute_tool' },
  { 'gen_ai.operation.name': 'chat' },
  { 'gen_ai.operation.name': 'invoke_agent' },
  { 'rpc.system': 'jsonrpc', 'rpc.method': 'tools/call' },
  { 'genkit:metadata:subtype': 'tool' },
  { 'genkit:metadata:subtype': 'model' },
  { 'event.name': 'codex.tool_result' },
];

/** The limit in milliseconds. Reading takes less than one. A pattern that backtracks over these texts takes a second. */
const SLOW = 150;

describe('no text makes reading slow, in the dialect', () => {
  test.each(DIALECTS.map((dialect) => [dialect.name, dialect] as const))('%s', (_name, dialect) => {
    const slow: string[] = [];
    for (const [called, text] of Object.entries(HOSTILE)) {
      const everywhere = Object.fromEntries([...readNames].map((name) => [name, text]));
      for (const kind of KINDS) {
        const attributes = { ...everywhere, ...kind };
        const span = { ...spanOf(dialect, attributes, text), events: [{ name: text, time: '', attributes }] };
        if (timed(() => readSpan(span)) > SLOW) slow.push(`${called} in a span, ${JSON.stringify(kind)}`);
      }
      for (const name of namesOf(dialect)) {
        if (timed(() => readSpan(spanOf(dialect, { [name]: text }, 'span'))) > SLOW) slow.push(`${called} in ${name}`);
      }
      for (const eventName of Object.keys(dialect.logs ?? {})) {
        const record = { ...spanOf(dialect, everywhere, ''), eventName, body: text };
        if (timed(() => readLogRecord(record)) > SLOW) slow.push(`${called} in the event ${eventName}`);
      }
    }
    expect(slow).toEqual([]);
  });
});

test('a tool of Claude Code or Codex with a hostile name is read without backtracking', () => {
  const text = HOSTILE['mcp__ and underscores'] ?? '';
  const span = source({ tool_name: text }, 'claude_code.tool', { scope: 'com.anthropic.claude_code' });
  const milliseconds = timed(() => {
    for (let i = 0; i < 100; i++) readSpan(span);
  });
  expect(milliseconds).toBeLessThan(SLOW);
});

test('a vendor with thousands of endings of APIs is read without taking them off one by one', () => {
  const attributes = { 'gen_ai.request.model': 'gpt-5', 'runinfo.type': `x${'.chat'.repeat(LENGTH / 5)}` };
  expect(timed(() => readSpan(source(attributes)))).toBeLessThan(SLOW);
});

test('one span has at most 64 uses', () => {
  const answer = '"type":"web_search_call"'.repeat(5000);
  const span = source(
    { 'openinference.span.kind': 'LLM', 'llm.model_name': 'gpt-5', 'output.value': answer },
    'response',
    {
      scope: '@arizeai/openinference-instrumentation-openai-agents',
    },
  );
  const distinct = [
    { kind: 'model', name: 'gpt-5' },
    { kind: 'tool', name: 'web_search' },
  ];
  expect(readSpan(span).uses).toEqual(distinct);
  const all = JSON.stringify({ output: Array.from({ length: 1000 }, () => ({ type: 'web_search_call' })) });
  const attributes = { 'openinference.span.kind': 'LLM', 'llm.model_name': 'gpt-5', 'output.value': all };
  expect(readSpan(source(attributes)).uses).toEqual([distinct[0], { ...distinct[1], times: 1000 }]);
});

test('only names of known vendor tools are read from the text of an answer', () => {
  const content = ['web_fetch', 'Patient Jane Roe has hepatitis C'].map((name) => {
    return { type: 'server_tool_use', name };
  });
  for (const attributes of [
    { 'openinference.span.kind': 'LLM', 'output.value': JSON.stringify({ content }) },
    { 'langsmith.span.kind': 'llm', 'gen_ai.completion': JSON.stringify({ content }) },
  ]) {
    expect(readSpan(source(attributes)).uses).toEqual([
      { kind: 'tool', name: 'web_fetch' },
      { kind: 'tool', name: 'server_tool' },
    ]);
  }
});

function spanOf(dialect: Dialect, attributes: Attributes, name: string) {
  const [scope] = dialect.scopes ?? [];
  return source(attributes, name, { scope: typeof scope === 'string' ? scope : (SCOPES[dialect.name] ?? 'unknown') });
}

/** Scope names for dialects whose scopes are patterns. */
const SCOPES: Record<string, string> = {
  'claude-code': 'com.anthropic.claude_code',
  'anthropic-sdk': 'com.anthropic.sdk',
  codex: 'codex_exec',
  openinference: 'openinference.instrumentation.smolagents',
  openllmetry: '@traceloop/x',
  logfire: 'logfire',
  mastra: '@mastra/x',
  voltagent: '@voltagent/core',
  'microsoft-agents': 'agent_framework',
  openlit: '@openlit/x',
};

/**
 * The CPU time of this thread in milliseconds, because other processes must not count. A run that collected garbage or compiled
 * code is slow as well, so a slow run is repeated, and the minimum counts. A pattern that backtracks is slow each time.
 */
function timed(run: () => void): number {
  let least = Number.POSITIVE_INFINITY;
  for (let repetition = 0; repetition < 4 && least > SLOW; repetition += 1) {
    const { user, system } = process.threadCpuUsage();
    run();
    const used = process.threadCpuUsage({ user, system });
    least = Math.min(least, (used.user + used.system) / 1000);
  }
  return least;
}
