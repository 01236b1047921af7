import type { Attributes } from '../otlp/span.ts';
import { asText } from '../reading/as-text.ts';
import type { Dialect } from '../reading/dialect.ts';

/**
 * BeeAI with OpenInference's instrumentation (github.com/Arize-ai/openinference,
 * js/packages/openinference-instrumentation-beeai). Every event of the framework has a span, so one call has several: started,
 * succeeded or failed, finished. `target` is the path of the event. Names of tools in it are in camel case, because paths
 * contain only letters.
 */
export const beeai: Dialect = {
  name: 'beeai',
  scopes: ['@arizeai/openinference-instrumentation-beeai'],
  signature: ['beeai.version'],
  readsAlone: true,
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
      facts.agent = asText(attributes['source'] ?? '') || null;
    }
  },
  uses: ({ attributes }, _facts, usual) => (callOf(attributes) || isAgentRun(attributes) ? usual : []),
};

/** Whether a span is the whole run of an agent. A model or tool that runs alone also has such a span, around its call. */
function isAgentRun({ target, 'openinference.span.kind': kind }: Attributes): boolean {
  return target === undefined && asText(kind).toUpperCase() === 'AGENT';
}

/** The call that succeeded or failed. The spans of its start and its end report the same call, so they are not read. */
function callOf({ target }: Attributes): { area: 'backend' | 'tool'; name: string } | null {
  const path = typeof target === 'string' ? CALL_END_EVENT.exec(target)?.groups : undefined;
  const { area, name = '' } = path ?? {};
  // `finalAnswer` is a tool of the framework, by which an agent returns its answer.
  if ((area !== 'backend' && area !== 'tool') || name === 'finalAnswer') return null;
  return { area, name };
}

const CALL_END_EVENT = /^(?<area>backend|tool)\.(?:\w+\.)?(?<name>[a-zA-Z_]+)\.(?:success|error)$/;
