import type { Attributes } from '../otlp/span.ts';
import type { Dialect } from './dialect.ts';

/**
 * BeeAI under OpenInference (github.com/Arize-ai/openinference, js/packages/openinference-instrumentation-beeai). Every
 * event of the framework has a span, so one call has several: started, succeeded or failed, finished. `target` is the
 * path of the event. It has the names of tools in camel case, since paths have only letters.
 */
export const beeai: Dialect = {
  name: 'beeai',
  scopes: ['@arizeai/openinference-instrumentation-beeai'],
  signature: ['beeai.version'],
  attributes: {
    vendor: ['llm.provider', 'metadata.provider'],
    model: ['llm.model_name', 'metadata.model_name'],
    inputTokens: ['llm.token_count.prompt'],
    outputTokens: ['llm.token_count.completion'],
    errorType: ['exception.type'],
  },
  content: [
    'input.value',
    'output.value',
    'llm.input_messages',
    'llm.output_messages',
    'llm.invocation_parameters',
    'llm.tools',
    'tool.parameters',
    'metadata',
    'data',
    'history',
    'thought',
  ],
  safe: ['target', 'name', 'source', 'traceId', 'beeai.version', 'openinference.span.kind', 'input.mime_type'],
  alsoReads: ['target', 'source', 'openinference.span.kind'],
  refine({ attributes }, facts) {
    const call = callOf(attributes);
    if (call?.area === 'backend') facts.operation = call.name === 'chat' ? 'chat' : 'embeddings';
    if (call?.area === 'tool') {
      facts.operation = 'execute_tool';
      facts.tool = call.name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    }
    if (isAgentRun(attributes)) {
      facts.operation = 'invoke_agent';
      facts.agent = String(attributes['source'] ?? '') || null;
    }
  },
  uses: ({ attributes }, _facts, usual) => (callOf(attributes) || isAgentRun(attributes) ? usual : []),
};

/** The span of an agent's whole run. A model or a tool that is run by itself has such a span too, with its call below it. */
function isAgentRun({ target, 'openinference.span.kind': kind }: Attributes): boolean {
  return target === undefined && String(kind).toUpperCase() === 'AGENT';
}

/** What succeeded or failed. The spans of its start and its end tell of the same call. */
function callOf({ target }: Attributes): { area: 'backend' | 'tool'; name: string } | null {
  const path = typeof target === 'string' ? END_OF_CALL.exec(target)?.groups : undefined;
  const { area, name = '' } = path ?? {};
  // An agent gives its final answer by a tool of the framework.
  if ((area !== 'backend' && area !== 'tool') || name === 'finalAnswer') return null;
  return { area, name };
}

const END_OF_CALL = /^(?<area>backend|tool)\.(?:\w+\.)?(?<name>[a-zA-Z_]+)\.(?:success|error)$/;
