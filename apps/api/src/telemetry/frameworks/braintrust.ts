import type { Dialect } from '../reading/dialect.ts';
import { subjectIn } from '../reading/span-subject.ts';

/**
 * Braintrust's SDKs (github.com/braintrustdata/braintrust-sdk-java, InstrumentationSemConv.java; braintrust-sdk-go). Every fact
 * stands in an attribute that is JSON. A tool is known by the name of its span.
 */
export const braintrust: Dialect = {
  name: 'braintrust',
  // The OpenTelemetry processors of Braintrust write `braintrust.parent` on spans of other senders, which is no sign of its own spans.
  signature: ['braintrust.span_attributes', 'braintrust.metadata', 'braintrust.metrics'],
  attributes: {
    operation: ['gen_ai.operation.name', 'braintrust.span_attributes#type'],
    vendor: ['gen_ai.provider.name', 'gen_ai.system', 'braintrust.metadata#provider'],
    model: ['gen_ai.request.model', 'braintrust.metadata#model'],
    inputTokens: ['gen_ai.usage.input_tokens', 'braintrust.metrics#prompt_tokens'],
    outputTokens: ['gen_ai.usage.output_tokens', 'braintrust.metrics#completion_tokens'],
  },
  operations: {
    llm: 'chat',
    tool: 'execute_tool',
    eval: null,
    task: null,
    score: null,
    classifier: null,
    facet: null,
    function: null,
  },
  wrappers: ['eval', 'task', 'score', 'classifier', 'facet', 'function'],
  content: [
    'braintrust.input',
    'braintrust.input_json',
    'braintrust.output',
    'braintrust.output_json',
    'braintrust.expected',
    'braintrust.expected_json',
    'braintrust.metadata',
    'braintrust.scores',
    'braintrust.tags',
    'braintrust.origin',
    'braintrust.classifications',
  ],
  refine({ name }, facts) {
    if (facts.operation === 'execute_tool') facts.tool ??= subjectIn(name);
  },
};
