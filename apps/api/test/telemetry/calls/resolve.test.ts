import { describe, expect, test } from 'vitest';
import { describeCalls, resolved, span, type TestSpan, use } from './spans.ts';

const FRAMEWORK = { scope: 'framework' };
const SDK = { scope: 'sdk' };
const MCP = { scope: 'mcp' };

const mcp = (name: string) => use('tool', name, { provider: 'everything', isMcp: true });

const CASES: [what: string, spans: TestSpan[], calls: string[]][] = [
  ['one span reports one call', [span('a', use('model', 'gpt-5'))], ['model gpt-5 at service by service']],
  [
    'an SDK span within a framework span',
    [
      span('a', use('model', 'gpt-5', { provider: 'openai' }), { ...FRAMEWORK, end: 30 }),
      span('b', use('model', 'gpt-5', { provider: 'openai' }), { ...SDK, parent: 'a', start: 5 }),
    ],
    ['model gpt-5 at openai by service'],
  ],
  [
    'an unrelated span in between',
    [
      span('a', use('model', 'gpt-5'), { ...FRAMEWORK, end: 30 }),
      span('http', null, { parent: 'a' }),
      span('b', use('model', 'gpt-5'), { ...SDK, parent: 'http', start: 5 }),
    ],
    ['model gpt-5 at service by service'],
  ],
  [
    'the request is named in one span and the answer in the other',
    [
      span('a', use('model', 'gpt-5-mini', { responseModel: null }), FRAMEWORK),
      span('b', use('model', 'gpt-5-mini-2026-01-01', { responseModel: 'gpt-5-mini-2026-01-01' }), {
        ...SDK,
        parent: 'a',
      }),
    ],
    ['model gpt-5-mini at service by service'],
  ],
  [
    'only one of two spans says which of the names is that of the answer',
    [
      span('a', use('model', 'gpt-5-mini', { responseModel: 'gpt-5-mini-2026-01-01' }), { ...SDK, end: 20 }),
      span('b', use('model', 'gpt-5-mini-2026-01-01'), FRAMEWORK),
    ],
    ['model gpt-5-mini at service by service'],
  ],
  [
    'execute_tool around tools/call counts at the MCP server',
    [span('a', use('tool', 'echo'), FRAMEWORK), span('b', mcp('echo'), { ...MCP, parent: 'a' })],
    ['tool echo at everything by service'],
  ],
  [
    'a tool that a vendor ran, without its name, belongs to the vendor of the model around it',
    [
      span('a', use('model', 'gpt-5', { provider: 'openai' }), { end: 30 }),
      span('step', null, { parent: 'a' }),
      span('b', use('tool', 'web_search', { isOfModel: true }), { parent: 'step', start: 5 }),
    ],
    ['model gpt-5 at openai by service', 'tool web_search at openai by service'],
  ],
  [
    'a tool that a vendor ran, without its name, belongs to the vendor that the best report of the model around it knows',
    [
      span('a', [use('model', 'gpt-5'), use('tool', 'web_search', { isOfModel: true })], { ...FRAMEWORK, end: 30 }),
      span('b', use('model', 'gpt-5', { provider: 'openai' }), { ...SDK, parent: 'a', start: 5 }),
    ],
    ['model gpt-5 at openai by service', 'tool web_search at openai by service'],
  ],
  [
    'a tool that a vendor ran, without its name, belongs to the vendor of the models beside it',
    [
      span('other', use('model', 'claude-5', { provider: 'anthropic' })),
      span('step', null),
      span('a', use('model', 'gpt-5', { provider: 'openai' }), { parent: 'step' }),
      span('b', use('tool', 'web_search', { isOfModel: true }), { parent: 'step' }),
    ],
    [
      'model claude-5 at anthropic by service',
      'model gpt-5 at openai by service',
      'tool web_search at openai by service',
    ],
  ],
  [
    'a tool that a vendor ran, without its name, belongs to the only vendor of models in the trace',
    [
      span('a', use('model', 'gpt-5', { provider: 'openai' }), { parent: 'x' }),
      span('b', use('tool', 'web_search', { isOfModel: true }), { parent: 'y' }),
    ],
    ['model gpt-5 at openai by service', 'tool web_search at openai by service'],
  ],
  [
    'a tool that a vendor ran, without its name, in a trace with models of two vendors elsewhere',
    [
      span('a', use('model', 'gpt-5', { provider: 'openai' }), { parent: 'x' }),
      span('c', use('model', 'claude-5', { provider: 'anthropic' }), { parent: 'z' }),
      span('b', use('tool', 'web_search', { isOfModel: true }), { parent: 'y' }),
    ],
    [
      'model claude-5 at anthropic by service',
      'model gpt-5 at openai by service',
      'tool web_search at service by service',
    ],
  ],
  [
    'a tool that a vendor ran, without its name, and no model around it',
    [span('a', use('tool', 'web_search', { isOfModel: true }))],
    ['tool web_search at service by service'],
  ],
  [
    'an answer that is fetched until the model has finished it',
    [
      span('a', use('model', 'gpt-5'), { callId: 'resp_1', operation: 'chat' }),
      ...['b', 'c'].map((id, index) =>
        span(id, use('model', 'gpt-5'), { callId: 'resp_1', operation: 'fetch_response', start: 20 * (index + 1) }),
      ),
    ],
    ['model gpt-5 at service by service'],
  ],
  [
    'a framework rewrites the name of the tool',
    [span('a', use('tool', 'get_sum'), FRAMEWORK), span('b', mcp('get-sum'), { ...MCP, parent: 'a' })],
    ['tool get-sum at everything by service'],
  ],
  [
    'a framework writes the server as a prefix',
    [
      span('a', use('tool', 'mcp__everything__get_sum'), FRAMEWORK),
      span('b', mcp('get-sum'), { ...MCP, parent: 'a' }),
      span('c', use('tool', 'everything_echo', { server: 'everything' }), FRAMEWORK),
      span('d', mcp('echo'), { ...MCP, parent: 'c' }),
    ],
    ['tool echo at everything by service', 'tool get-sum at everything by service'],
  ],
  [
    'the outer span knows the server, and the inner one does not',
    [
      span('a', use('tool', 'echo', { provider: 'everything', certainty: 4 }), FRAMEWORK),
      span('b', use('tool', 'echo', { isMcp: true }), { ...MCP, parent: 'a' }),
    ],
    ['tool echo at everything by service'],
  ],
  [
    'the span of the tool is below the span of an MCP session',
    [
      span('agent', use('agent', 'helper'), { ...FRAMEWORK, end: 100 }),
      span('session', null, { parent: 'agent' }),
      span('a', use('tool', 'echo'), { ...FRAMEWORK, parent: 'agent', start: 10, end: 20 }),
      span('b', mcp('echo'), { ...MCP, parent: 'session', start: 11, end: 19 }),
    ],
    ['agent helper at service by service', 'tool echo at everything by helper'],
  ],
  [
    'two instrumentations report tools with the same name at different times',
    [
      span('agent', use('agent', 'helper'), { ...FRAMEWORK, end: 100 }),
      span('session', null, { parent: 'agent' }),
      span('a', use('tool', 'echo'), { ...FRAMEWORK, parent: 'agent', start: 10, end: 20 }),
      span('b', mcp('echo'), { ...MCP, parent: 'session', start: 40, end: 50 }),
    ],
    ['agent helper at service by service', 'tool echo at everything by helper', 'tool echo at service by helper'],
  ],
  [
    'two agents call a tool of the same name at once',
    [
      span('one', use('agent', 'one'), { ...FRAMEWORK, end: 100 }),
      span('two', use('agent', 'two'), { ...FRAMEWORK, end: 100 }),
      span('a', use('tool', 'echo'), { ...FRAMEWORK, parent: 'one', start: 10, end: 20 }),
      span('b', mcp('echo'), { ...MCP, parent: 'two', start: 11, end: 19 }),
    ],
    [
      'agent one at service by service',
      'agent two at service by service',
      'tool echo at everything by two',
      'tool echo at service by one',
    ],
  ],
  [
    'a tool that calls a tool whose name is part of its own name',
    [span('a', use('tool', 'get_weather'), FRAMEWORK), span('b', mcp('weather'), { ...MCP, parent: 'a' })],
    ['tool get_weather at service by service', 'tool weather at everything by service'],
  ],
  [
    'one outer span represents several calls inside it',
    [
      span('a', use('model', 'gpt-5', { provider: 'openai' }), { ...FRAMEWORK, end: 50 }),
      span('b', use('model', 'gpt-5'), { ...SDK, parent: 'a', failed: true }),
      span('c', use('model', 'gpt-5'), { ...SDK, parent: 'a', start: 20 }),
    ],
    ['model gpt-5 at openai by service', 'model gpt-5 at openai by service'],
  ],
  [
    'recursion through another kind is counted',
    [
      span('a', use('tool', 'search')),
      span('b', use('agent', 'searcher'), { parent: 'a' }),
      span('c', use('tool', 'search'), { parent: 'b' }),
    ],
    ['agent searcher at service by service', 'tool search at service by searcher', 'tool search at service by service'],
  ],
  [
    'a tool that calls itself is counted each time',
    [
      span('a', use('tool', 'fib'), { end: 30 }),
      span('b', use('tool', 'fib'), { parent: 'a', end: 20 }),
      span('c', use('tool', 'fib'), { parent: 'b' }),
    ],
    ['tool fib at service by service', 'tool fib at service by service', 'tool fib at service by service'],
  ],
  [
    'two calls with the same name in sequence',
    [span('a', use('model', 'gpt-5')), span('b', use('model', 'gpt-5'), { start: 20 })],
    ['model gpt-5 at service by service', 'model gpt-5 at service by service'],
  ],
  [
    'sibling spans of two instrumentations are paired one to one',
    [
      span('p', null),
      span('a1', use('model', 'gpt-5'), { ...FRAMEWORK, parent: 'p', start: 0, end: 20 }),
      span('a2', use('model', 'gpt-5'), { ...FRAMEWORK, parent: 'p', start: 30, end: 50 }),
      span('b1', use('model', 'gpt-5'), { ...SDK, parent: 'p', start: 1, end: 19 }),
      span('b2', use('model', 'gpt-5'), { ...SDK, parent: 'p', start: 29, end: 52 }),
    ],
    ['model gpt-5 at service by service', 'model gpt-5 at service by service'],
  ],
  [
    'sibling spans at different times are different calls',
    [
      span('p', null),
      span('a', use('model', 'gpt-5'), { ...FRAMEWORK, parent: 'p', start: 0, end: 20 }),
      span('b', use('model', 'gpt-5'), { ...SDK, parent: 'p', start: 40, end: 60 }),
    ],
    ['model gpt-5 at service by service', 'model gpt-5 at service by service'],
  ],
  [
    'spans with the same call id are one call, anywhere in the trace',
    [
      span('a', use('tool', 'echo'), { ...FRAMEWORK, callId: 'call_1' }),
      span('p', null),
      span('b', mcp('echo'), { ...MCP, parent: 'p', callId: 'call_1', start: 300 }),
    ],
    ['tool echo at everything by service'],
  ],
  [
    'an id that one instrumentation uses for several calls is ignored',
    [
      span('a', use('tool', 'echo'), { callId: 'call_0' }),
      span('b', use('tool', 'echo'), { callId: 'call_0', start: 50 }),
      span('c', use('tool', 'get_weather'), { callId: 'call_0', start: 100 }),
    ],
    ['tool echo at service by service', 'tool echo at service by service', 'tool get_weather at service by service'],
  ],
  [
    'a span that is reported at its start and at its end',
    [span('a', use('model', 'gpt-5'), { end: 0 }), span('a', use('model', 'gpt-5'), { end: 100, inputTokens: 5 })],
    ['model gpt-5 at service by service'],
  ],
  [
    'a call belongs to the nearest agent that encloses it',
    [
      span('a', use('agent', 'planner')),
      span('b', use('agent', 'writer'), { parent: 'a' }),
      span('x', null, { parent: 'b' }),
      span('c', use('model', 'gpt-5'), { parent: 'x' }),
      span('d', use('tool', 'echo'), { parent: 'a', agent: 'said by itself' }),
      span('e', use('tool', 'sum'), { agent: 'said by itself' }),
    ],
    [
      'agent planner at service by service',
      'agent writer at service by planner',
      'model gpt-5 at service by writer',
      'tool echo at service by planner',
      'tool sum at service by said by itself',
    ],
  ],
  [
    'two nested spans of one agent are one call of the enclosing agent',
    [
      span('a', use('agent', 'planner')),
      span('b', use('agent', 'writer'), { ...FRAMEWORK, parent: 'a' }),
      span('c', use('agent', 'writer'), { ...SDK, parent: 'b' }),
    ],
    ['agent planner at service by service', 'agent writer at service by planner'],
  ],
  [
    'a call that another signal counted is not counted again',
    [span('a', use('model', 'gpt-5', { isCounted: true }))],
    [],
  ],
];

describe('resolve', () => {
  test.each(CASES)('%s', (_, spans, calls) => {
    expect(describeCalls(resolved(spans))).toEqual(calls.toSorted());
    expect(describeCalls(resolved(spans.toReversed()))).toEqual(calls.toSorted());
  });

  test('takes facts from each span of a call that the innermost span lacks', () => {
    const [call] = resolved([
      span('a', use('model', 'gpt-5', { provider: 'openai' }), {
        ...FRAMEWORK,
        end: 100,
        failed: true,
        inputTokens: 7,
        outputTokens: 9,
        agent: 'helper',
      }),
      span('b', use('model', 'gpt-5'), { ...SDK, parent: 'a', start: 20, end: 50, inputTokens: 8 }),
    ]);
    expect(call).toMatchObject({ durationUs: 30_000, failed: true, inputTokens: 8, outputTokens: 9, agent: 'helper' });
    expect(call?.reports.map((one) => one.span.spanId)).toEqual(['b', 'a']);
  });

  test('adds tokens that only the enclosing span has to the last of several calls', () => {
    const model = use('model', 'gpt-5');
    const calls = resolved([
      span('a', model, { ...FRAMEWORK, end: 50, inputTokens: 9, outputTokens: 8 }),
      span('b', model, { ...SDK, parent: 'a' }),
      span('c', model, { ...SDK, parent: 'a', start: 20 }),
    ]);
    expect(calls.map(({ span: { spanId }, inputTokens, outputTokens }) => [spanId, inputTokens, outputTokens])).toEqual(
      [
        ['b', 0, 0],
        ['c', 9, 8],
      ],
    );
  });

  test('does not take tokens from a span that represents several calls', () => {
    const calls = resolved([
      span('a', use('model', 'gpt-5'), { ...FRAMEWORK, end: 50, inputTokens: 30, failed: true }),
      span('b', use('model', 'gpt-5'), { ...SDK, parent: 'a', inputTokens: 10 }),
      span('c', use('model', 'gpt-5'), { ...SDK, parent: 'a', start: 20 }),
    ]);
    expect(calls.map(({ inputTokens, failed }) => [inputTokens, failed])).toEqual([
      [10, false],
      [0, false],
    ]);
  });

  test('counts every call of spans whose parents form a cycle', () => {
    const spans = [
      span('a', use('model', 'gpt-5'), { ...SDK, parent: 'b' }),
      span('b', use('model', 'gpt-5'), { ...FRAMEWORK, parent: 'a', start: 20 }),
      span('c', use('model', 'gpt-5'), { parent: 'c', start: 40 }),
    ];
    expect(describeCalls(resolved(spans))).toHaveLength(3);
  });
});

test('thousands of uses of one span are sorted and compared in less than a second', () => {
  const many = Array.from({ length: 5000 }, () => use('tool', 'web_search'));
  const started = process.cpuUsage();
  expect(resolved([span('a', many), span('b', many, { ...SDK, parent: 'a' })])).toHaveLength(1);
  const { user } = process.cpuUsage(started);
  expect(user / 1e6).toBeLessThan(1);
});

test('4,000 siblings that each name another scope are resolved in less than a second', () => {
  const siblings = Array.from({ length: 4000 }, (_, index) =>
    span(`${index}`, use('tool', 'echo'), { scope: `scope ${index}`, parent: 'root', start: index * 20 }),
  );
  const started = process.cpuUsage();
  expect(resolved(siblings)).toHaveLength(4000);
  const { user, system } = process.cpuUsage(started);
  expect((user + system) / 1e6).toBeLessThan(1);
});

test('a span with the tokens of several calls adds them to the sums of its agent, and is no call', () => {
  const sum = { inputTokens: 84, outputTokens: 32, tokensOf: use('model', 'gpt-5', { times: 0 }) };
  const agent = span('a', use('agent', 'planner'), sum);
  const inside = [1, 2].map((id) => span(`m${id}`, use('model', 'gpt-5'), { parent: 'a', start: id * 20 }));
  const helper = span('h', use('agent', 'helper'), { parent: 'a', ...sum, inputTokens: 21, outputTokens: 8 });
  const calls = resolved([agent, ...inside, helper, span('m3', use('model', 'gpt-5'), { parent: 'h', start: 90 })]);
  const models = calls.filter(({ kind }) => kind === 'model');
  expect(models.map((call) => [call.agent, call.times, call.inputTokens, call.outputTokens])).toEqual([
    ['planner', 1, 0, 0],
    ['planner', 1, 0, 0],
    ['helper', 1, 0, 0],
    ['planner', 0, 84, 32],
    ['helper', 0, 21, 8],
  ]);
  const azure = span('o', use('model', 'gpt-5', { provider: 'azure' }), { start: 200 });
  expect(resolved([agent, ...inside, azure]).map(({ provider, times }) => [provider.name, times])).toEqual([
    ['service', 1],
    ['service', 1],
    ['service', 1],
    ['azure', 1],
    ['service', 0],
  ]);
  // Exported at its start and at its end, in any order.
  const early = span('a', use('agent', 'planner'), { ...sum, inputTokens: 0, outputTokens: 0 });
  for (const twice of [
    [early, agent],
    [agent, early],
  ]) {
    const tokens = resolved(twice).filter(({ kind }) => kind === 'model');
    expect(tokens.map(({ inputTokens, outputTokens }) => [inputTokens, outputTokens])).toEqual([[84, 32]]);
  }
});

test('a tool that delegates to an agent counts only where no span of the agent is inside it', () => {
  const delegating = span('a', use('tool', 'delegate_task'), { operation: 'delegate' });
  const between = span('b', null, { parent: 'a' });
  const agent = span('c', use('agent', 'helper'), { parent: 'b' });
  expect(resolved([delegating, between]).map(({ name }) => name)).toEqual(['delegate_task']);
  expect(resolved([delegating, between, agent]).map(({ name }) => name)).toEqual(['helper']);
  const elsewhere = span('d', use('agent', 'helper'));
  expect(resolved([delegating, elsewhere]).map(({ name }) => name)).toEqual(['delegate_task', 'helper']);
});

test('a tool call that was rejected does not count, and the calls around it do', () => {
  const outer = span('a', use('tool', 'review'));
  const rejected = span('b', use('tool', 'deploy'), { parent: 'a' });
  const rejection = span('c', [], { parent: 'b', operation: 'rejection' });
  expect(resolved([outer, rejected]).map(({ name }) => name)).toEqual(['review', 'deploy']);
  expect(resolved([outer, rejected, rejection]).map(({ name }) => name)).toEqual(['review']);
  const twice = ['d', 'e'].map((id) => span(id, use('tool', 'build'), { parent: 'a', callId: 'call_1' }));
  expect(resolved([outer, ...twice, { ...rejection, span: null }])).toHaveLength(2);
  expect(resolved([outer, ...twice, span('f', [], { parent: 'e', operation: 'rejection' })])).toHaveLength(1);
});

test('a span inside says that a tool call failed, and not that the calls around it did', () => {
  const outer = span('a', use('tool', 'review'));
  const tool = span('b', use('tool', 'deploy'), { parent: 'a' });
  const failure = (parent: string) => span('c', [], { parent, operation: 'failure', failed: true });
  const failedIn = (...spans: Parameters<typeof resolved>[0]) =>
    resolved([...spans, outer, tool]).flatMap(({ name, failed }) => (failed ? [name] : []));
  expect(failedIn()).toEqual([]);
  expect(failedIn(failure('b'))).toEqual(['deploy']);
  expect(failedIn(failure('p'), span('p', null, { parent: 'b' }))).toEqual(['deploy']);
  expect(failedIn(failure('m'), span('m', use('model', 'gpt-5'), { parent: 'b' }))).toEqual([]);
});

test('a failed call that a log record counted adds only its failure, if no record did', () => {
  const counted = use('tool', 'deploy', { isCounted: true });
  const failed = span('a', counted, { failed: true });
  expect(resolved([failed])).toMatchObject([{ name: 'deploy', times: 0, failed: true }]);
  expect(resolved([span('a', { ...counted, isFailureCounted: true }, { failed: true })])).toEqual([]);
  expect(resolved([span('a', counted)])).toEqual([]);
});

test('a rejection with a span inside does not hold: the command ran until the sandbox stopped it', () => {
  const call = span('a', use('tool', 'exec_command'));
  const session = [span('b', null, { parent: 'a' }), span('c', [], { parent: 'b', operation: 'rejection' })];
  expect(resolved([call, ...session])).toEqual([]);
  expect(resolved([call, ...session, span('d', null, { parent: 'c' })])).toHaveLength(1);
});

test('a rejection leaves out only the tool call that it is in', () => {
  const agent = span('a', use('agent', 'planner'));
  const model = span('m', [use('model', 'gpt-5'), use('tool', 'web_search')], { parent: 'a' });
  const rejectionIn = (parent: string) => span('r', [], { parent, operation: 'rejection' });
  expect(resolved([agent, model, rejectionIn('a')])).toHaveLength(3);
  expect(resolved([agent, model, rejectionIn('m')])).toHaveLength(3);
  // A server that numbers its calls from 0 in every answer.
  const first = span('f', use('tool', 'bash'), { parent: 'a', callId: 'call_0' });
  const later = span('l', use('tool', 'bash'), { parent: 'a', callId: 'call_0', start: 90 });
  const calls = resolved([agent, first, later, rejectionIn('f')]);
  expect(calls.map(({ span: { spanId } }) => spanId)).toEqual(['a', 'l']);
});

test('spans of one instrumentation that repeat the call id of a tool are one call if they have one parent and overlap', () => {
  const first = span('a', use('tool', 'echo'), { parent: 'turn', callId: 'call_1', end: 10 });
  const at = (start: number, parent: string) =>
    span('b', use('tool', 'echo'), { parent, callId: 'call_1', start, end: 90 });
  expect(resolved([first, at(1, 'turn')])).toHaveLength(1);
  expect(resolved([first, at(10, 'turn')])).toHaveLength(2);
  expect(resolved([first, at(1, 'other turn')])).toHaveLength(2);
  // A server that answers with a constant id.
  const chats = ['c', 'd'].map((id) => span(id, use('model', 'gpt-5'), { parent: 'turn', callId: 'chatcmpl-0' }));
  expect(resolved(chats)).toHaveLength(2);
});
