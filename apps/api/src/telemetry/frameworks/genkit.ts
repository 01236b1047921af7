import { ownMember } from '../../platform/own-member.ts';
import type { Attributes } from '../otlp/span.ts';
import type { Dialect } from '../reading/dialect.ts';
import { cachedInUsage } from '../reading/cached-tokens.ts';
import { countUnder } from '../reading/fact-slots.ts';
import type { Facts } from '../reading/facts.ts';
import { parsedAttribute } from '../reading/inside.ts';
import { addUncountedReasoning } from '../reading/reasoning-tokens.ts';
import { serverToolsIn, withServerTools } from '../reading/server-tools.ts';
import { vendorIn } from '../reading/vendors.ts';

/**
 * Genkit (github.com/firebase/genkit, js/core/src/tracing/instrumentation.ts and action.ts). Every action writes a span with its
 * type and name. Models are named `<plugin>/<model>`, tools of an MCP server `<server>/<tool>`. Token counts are only in the
 * output.
 */
export const genkit: Dialect = {
  name: 'genkit',
  scopes: ['genkit-tracer'],
  signature: ['genkit:type', 'genkit:name'],
  attributes: {
    operation: ['genkit:metadata:subtype'],
    responseModel: ['genkit:output#raw.model'],
    callId: ['genkit:output#raw.id'],
    conversationId: ['genkit:metadata:agent:sessionId', 'genkit:sessionId'],
    inputTokens: ['genkit:output#usage.inputTokens'],
    outputTokens: ['genkit:output#usage.outputTokens'],
  },
  operations: {
    model: 'chat',
    'background-model': 'chat',
    embedder: 'embeddings',
    reranker: 'rerank',
    retriever: 'retrieval',
    tool: 'execute_tool',
    'tool.v2': 'execute_tool',
    flow: 'invoke_workflow',
    agent: 'invoke_agent',
    // Parts of the application itself.
    prompt: null,
    'executable-prompt': null,
    resource: null,
    util: null,
    indexer: null,
    evaluator: null,
    'agent-snapshot': null,
    'agent-abort': null,
    'check-operation': null,
    'cancel-operation': null,
    'dynamic-action-provider': null,
  },
  content: ['genkit:input', 'genkit:output', 'genkit:init', 'genkit:metadata', 'genkit:error'],
  safe: [
    'genkit:type',
    'genkit:name',
    'genkit:key',
    'genkit:path',
    'genkit:state',
    'genkit:metadata:subtype',
    'genkit:metadata:agent:sessionId',
    'genkit:sessionId',
  ],
  alsoReads: ['genkit:name', 'genkit:output'],
  // A tool that asks a person, in JavaScript and in Go (go/ai/tools.go). After the answer it runs again, or the answer is its result.
  rejected: { exception: /^[Tt]oolInterruptError$/ },
  refine({ attributes }, facts) {
    const name = attributes['genkit:name'];
    if (typeof name !== 'string') return;
    const [, prefix = null, rest = name] = /^([^/]+)\/(.+)$/.exec(name) ?? [];
    switch (facts.operation) {
      case 'chat':
      case 'embeddings':
      case 'rerank':
        facts.vendor = prefix && vendorIn(prefix);
        facts.model = rest;
        addUncountedTokens(outputOf(attributes), facts);
        break;
      case 'execute_tool':
        facts.toolServer = prefix;
        facts.tool = rest;
        break;
      case 'invoke_workflow':
        facts.workflow = name;
        break;
      case 'invoke_agent':
        facts.agent = name;
        break;
      default:
        // The output of other spans repeats the facts of the model call.
        Object.assign(facts, { responseModel: null, model: null, callId: null, inputTokens: null, outputTokens: null });
    }
  },
  uses: ({ attributes }, facts, usual) =>
    withServerTools(facts, usual, () => serverToolsIn(answerIn(outputOf(attributes)))),
};

function outputOf({ 'genkit:output': output }: Attributes): unknown {
  return parsedAttribute(output);
}

/** The vendor's own answer. */
function answerIn(output: unknown): unknown {
  return ownMember(output, 'raw') ?? ownMember(output, 'custom');
}

/**
 * Genkit's counts are those of the vendor: Google leaves the reasoning tokens out of the output, Anthropic the cached ones out of the
 * input.
 */
function addUncountedTokens(answer: unknown, facts: Facts): void {
  if (facts.inputTokens === null || facts.outputTokens === null) return;
  const usage = ownMember(answer, 'usage');
  addUncountedReasoning(facts, {
    reasoning: countUnder(usage, 'thoughtsTokens') ?? 0,
    total: countUnder(usage, 'totalTokens') ?? 0,
  });
  facts.inputTokens += cachedInUsage(ownMember(answerIn(answer), 'usage'));
}
