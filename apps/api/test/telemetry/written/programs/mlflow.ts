import { CONTENT, type Program } from '../program.ts';

/** MLflow writes every value as JSON. */
function spanOf(type: string, request: object = {}) {
  return {
    'mlflow.traceRequestId': '"tr-1"',
    'mlflow.spanType': JSON.stringify(type),
    'mlflow.spanLogLevel': '20',
    'mlflow.spanInputs': JSON.stringify({ ...request, messages: [{ role: 'user', content: CONTENT }] }),
  };
}

const USAGE = {
  'mlflow.chat.tokenUsage': JSON.stringify({ input_tokens: 21, output_tokens: 8, total_tokens: 29 }),
};

function callOf(model: string, client: string) {
  return {
    ...spanOf('LLM', { model }),
    ...USAGE,
    'mlflow.spanOutputs': JSON.stringify({ id: 'answer-1', model, content: CONTENT }),
    'mlflow.message.format': JSON.stringify(client),
  };
}

export const mlflow: Program = {
  id: 'mlflow',
  framework: 'MLflow Tracing for TypeScript',
  version: 'August 2026',
  source:
    'github.com/mlflow/mlflow, libs/typescript/core/src/core/entities/span.ts and libs/typescript/integrations/{openai,anthropic,gemini}',
  setUp: `\`\`\`sh
export OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=<Quartermaster's URL>/v1/traces
export OTEL_EXPORTER_OTLP_TRACES_HEADERS=x-api-key=<key>
\`\`\``,
  cannotKnow: [
    'An agent and a tool are known by the names of their spans only.',
    'A stream of OpenAI’s client has no tokens.',
  ],
  scope: 'default',
  spans: [
    {
      name: 'weather_agent',
      attributes: spanOf('AGENT', { model: 'gpt-5-mini' }),
      inside: [
        { name: 'Completions', attributes: callOf('gpt-5-mini', 'openai') },
        { name: 'get_weather', attributes: spanOf('TOOL', { city: 'Paris' }) },
        { name: 'Messages', attributes: callOf('claude-sonnet-5', 'anthropic') },
        { name: 'Gemini.generateContent', attributes: { ...spanOf('LLM', { model: 'gemini-3-flash' }), ...USAGE } },
        { name: 'Embeddings', attributes: spanOf('EMBEDDING', { model: 'text-embedding-3-small' }), failed: true },
        { name: 'rank', attributes: spanOf('UNKNOWN', { model: 'size-xl' }) },
      ],
    },
  ],
  models: [
    { name: 'gpt-5-mini', vendor: 'openai', calls: 1, inputTokens: 21, outputTokens: 8 },
    { name: 'claude-sonnet-5', vendor: 'anthropic', calls: 1, inputTokens: 21, outputTokens: 8 },
    { name: 'gemini-3-flash', vendor: 'gcp.gemini', calls: 1, inputTokens: 21, outputTokens: 8 },
    { name: 'text-embedding-3-small', vendor: 'openai', calls: 1, failed: 1, inputTokens: 0, outputTokens: 0 },
  ],
  tools: [{ name: 'get_weather', calls: 1 }],
  agents: ['weather_agent'],
};
