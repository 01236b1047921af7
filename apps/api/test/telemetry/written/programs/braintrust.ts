import { CONTENT, type Program } from '../program.ts';

const LLM = {
  'braintrust.span_attributes': '{"type":"llm"}',
  'braintrust.metadata': '{"provider":"openai","request_path":"v1/chat/completions","model":"gpt-5-mini"}',
  'braintrust.metrics': '{"prompt_tokens":21,"completion_tokens":8,"tokens":29,"time_to_first_token":0.4}',
  'braintrust.input_json': CONTENT,
  'braintrust.output_json': CONTENT,
};

/** Every fact stands in an attribute that is JSON. */
export const braintrust: Program = {
  id: 'braintrust',
  framework: 'Braintrust SDK for Java (LangChain4j)',
  version: 'June 2026',
  source:
    'github.com/braintrustdata/braintrust-sdk-java, InstrumentationSemConv.java, TracingToolExecutor.java, Eval.java',
  setUp: `\`\`\`java
// Add an exporter of your own beside Braintrust's.
// OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key> OTEL_SERVICE_NAME=<service>
tracerProviderBuilder.addSpanProcessor(BatchSpanProcessor.builder(OtlpHttpSpanExporter.getDefault()).build());
\`\`\``,
  cannotKnow: [
    'There are no agents.',
    'A tool is known by the name of its span only, and its MCP server is not named.',
  ],
  scope: 'braintrust-java',
  spans: [
    {
      name: 'eval',
      attributes: { 'braintrust.span_attributes': '{"type":"eval"}', 'braintrust.expected': CONTENT },
      inside: [
        {
          name: 'task',
          attributes: {
            'braintrust.span_attributes': '{"type":"task","name":"task"}',
            'braintrust.input_json': CONTENT,
          },
          inside: [
            { name: 'Chat Completion', attributes: LLM },
            {
              name: 'get_weather',
              attributes: {
                'braintrust.span_attributes': '{"type":"tool"}',
                'braintrust.input_json': CONTENT,
                'braintrust.output': CONTENT,
              },
            },
            { name: 'echo', attributes: { 'braintrust.span_attributes': '{"type":"tool"}' }, failed: true },
            { name: 'Chat Completion', attributes: LLM },
          ],
        },
        {
          name: 'score',
          attributes: {
            'braintrust.span_attributes': '{"type":"score","name":"judge"}',
            'braintrust.metadata': '{"model":"gpt-5-judge"}',
            'braintrust.scores': CONTENT,
          },
        },
      ],
    },
  ],
  models: [{ name: 'gpt-5-mini', vendor: 'openai', calls: 2, inputTokens: 42, outputTokens: 16 }],
  tools: [
    { name: 'get_weather', calls: 1 },
    { name: 'echo', server: 'everything', calls: 1, failed: 1 },
  ],
};
