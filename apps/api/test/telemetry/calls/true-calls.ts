import * as fc from 'fast-check';
import { newSpanId, type SpanInput } from '../traces/sending.ts';

/** A call that an agent really made, with the calls that were made inside it. */
export type TrueCall = {
  kind: 'agent' | 'model' | 'tool';
  name: string;
  /** Which spans report it: 0 one span, 1 a framework's and an SDK's, 2 the same with an unrelated span in between. */
  spanCount: 0 | 1 | 2;
  failed: boolean;
  tokens: number;
  /** How many searches the vendor of a model made for its answer. */
  searches: number;
  inside: TrueCall[];
};

const MODELS = ['gpt-5', 'gpt-6'] as const;
const MS = 1_000_000n;
const START = 1_700_000_000_000n * MS;

/** Calls of one trace. Names of tools and agents differ by depth, so that no call contains one of its own name. */
export const trueCalls: fc.Arbitrary<TrueCall[]> = fc.array(callAt(0), { minLength: 1, maxLength: 3 });

function callAt(depth: number): fc.Arbitrary<TrueCall> {
  const common = {
    spanCount: fc.constantFrom(0 as const, 1 as const, 2 as const),
    failed: fc.boolean(),
    tokens: fc.nat(100),
    searches: fc.constant(0),
  };
  const model = fc.record({
    kind: fc.constant('model' as const),
    name: fc.constantFrom<string>(...MODELS),
    ...common,
    searches: fc.nat(3),
    inside: fc.constant<TrueCall[]>([]),
  });
  const nested = (kind: 'agent' | 'tool') =>
    fc.record({
      kind: fc.constant(kind),
      name: fc.constantFrom<string>(`${kind}-a-${depth}`, `${kind}-b-${depth}`),
      ...common,
      inside: depth >= 2 ? fc.constant<TrueCall[]>([]) : fc.array(callAt(depth + 1), { maxLength: 3 }),
    });
  return fc.oneof(model, nested('agent'), nested('tool'));
}

export type SpanInScope = SpanInput & { traceId: string; spanId: string; scope: string };

/** The spans that report the calls. Calls follow each other; each lasts a few milliseconds longer than the calls inside it. */
export function spansOf(calls: readonly TrueCall[], traceId: string): SpanInScope[] {
  const spans: SpanInScope[] = [];
  let clock = 0;
  const addSpans = (call: TrueCall, parentSpanId: string | null): void => {
    const start = (clock += 100);
    const own: SpanInScope[] = [];
    let parent = parentSpanId;
    const open = (name: string, scope: string, attributes: SpanInput['attributes']) => {
      const span: SpanInScope = {
        traceId,
        spanId: newSpanId(),
        ...(parent !== null && { parentSpanId: parent }),
        name,
        kind: 1,
        scope,
        start: START + BigInt(start + own.length) * MS,
        ...(attributes && { attributes }),
      };
      own.push(span);
      parent = span.spanId;
      return span;
    };
    const attributes = attributesOf(call);
    if (call.spanCount > 0) open(`framework ${call.name}`, 'framework', attributes);
    if (call.spanCount === 2) open('http', 'http', {});
    const innermost = open(`sdk ${call.name}`, 'sdk', { ...attributes, ...tokensOf(call) });
    if (call.failed) innermost.failed = true;
    for (const inside of call.inside) addSpans(inside, innermost.spanId);
    for (const span of own.toReversed()) span.end = START + BigInt((clock += 10)) * MS;
    spans.push(...own);
  };
  for (const call of calls) addSpans(call, null);
  return spans;
}

function attributesOf({ kind, name, searches }: TrueCall): NonNullable<SpanInput['attributes']> {
  if (kind === 'model') {
    const parts = Array.from({ length: searches }, () => ({ type: 'server_tool_call', name: 'web_search' }));
    return {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': name,
      'gen_ai.output.messages': JSON.stringify([{ role: 'assistant', parts }]),
    };
  }
  if (kind === 'tool') return { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': name };
  return { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': name };
}

function tokensOf({ kind, tokens }: TrueCall): NonNullable<SpanInput['attributes']> {
  return kind === 'model' ? { 'gen_ai.usage.input_tokens': tokens } : {};
}

/** The expected counts: calls, errors and tokens by kind, name and agent. */
export function countsOf(calls: readonly TrueCall[], agent: string): Record<string, [number, number, number]> {
  const counts: Record<string, [number, number, number]> = {};
  const add = (subject: string, calls: number, { failed, tokens }: Pick<TrueCall, 'failed' | 'tokens'>): void => {
    const sums = (counts[subject] ??= [0, 0, 0]);
    sums[0] += calls;
    sums[1] += failed ? calls : 0;
    sums[2] += tokens;
  };
  const count = (call: TrueCall, by: string): void => {
    const provider = call.kind === 'model' ? 'openai' : agent;
    const { failed } = call;
    const tokens = call.kind === 'model' ? call.tokens : 0;
    add(`${call.kind} ${call.name} at ${provider} by ${by}`, 1, { failed, tokens });
    if (call.searches > 0) add(`tool web_search at openai by ${by}`, call.searches, { failed, tokens: 0 });
    for (const inside of call.inside) count(inside, call.kind === 'agent' ? call.name : by);
  };
  for (const call of calls) count(call, agent);
  return counts;
}
