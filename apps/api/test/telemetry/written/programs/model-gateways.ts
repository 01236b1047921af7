import { CONTENT, type Program } from '../program.ts';

const USAGE = { 'gen_ai.usage.input_tokens': 21n, 'gen_ai.usage.output_tokens': 8n, 'gen_ai.usage.total_tokens': 29n };
const ONE_CALL = { calls: 1, failed: 0, inputTokens: 21, outputTokens: 8 };
const ONE_FAILURE = { calls: 1, failed: 1, inputTokens: 0, outputTokens: 0 };

export const openrouter: Program = {
  id: 'openrouter',
  framework: 'OpenRouter Broadcast',
  version: '2026-09-28',
  source:
    'openrouter.ai/docs/guides/features/broadcast/otel-collector, and github.com/empathic/toolpath, test-fixtures/otel/openrouter',
  setUp: `In the settings of OpenRouter, under Observability, switch on Broadcast and add a destination of the type
"OpenTelemetry Collector": endpoint \`<Quartermaster's URL>/v1/traces\`, headers \`{ "x-api-key": "<key>" }\`.`,
  cannotKnow: [
    'The span of an attempt does not name the model, so attempts that failed at one vendor are not counted.',
  ],
  scope: 'openrouter',
  service: 'openrouter',
  spans: [
    {
      name: 'LLM Generation',
      kind: 'client',
      attributes: {
        'trace.name': 'OpenRouter Request',
        'session.id': 'session-1',
        'span.type': 'generation',
        'span.level': 'DEFAULT',
        'gen_ai.operation.name': 'chat',
        'gen_ai.system': 'anthropic',
        'gen_ai.provider.name': 'anthropic',
        'gen_ai.request.model': 'anthropic/claude-sonnet-5',
        'gen_ai.response.model': 'anthropic/claude-sonnet-5',
        'gen_ai.response.id': 'gen-1',
        ...USAGE,
        'gen_ai.usage.input_tokens.cached': 5n,
        'gen_ai.usage.input_tokens.cache_write': 3n,
        'gen_ai.usage.output_tokens.reasoning': 3n,
        'gen_ai.prompt': CONTENT,
        'gen_ai.completion': CONTENT,
        'span.input': CONTENT,
        'span.output': CONTENT,
        'trace.metadata.openrouter.api_key_name': CONTENT,
        'trace.metadata.openrouter.provider_name': 'Amazon Bedrock',
        'trace.metadata.openrouter.provider_slug': 'amazon-bedrock',
      },
      inside: [
        { name: 'generation', attributes: { 'span.type': 'generation', 'gen_ai.response.id': 'gen-1' } },
        {
          name: 'provider attempt 1: Anthropic',
          attributes: { 'span.type': 'span', 'gen_ai.response.id': 'gen-1:attempt-0' },
          failed: true,
        },
        {
          name: 'provider attempt 2: Amazon Bedrock',
          attributes: { 'span.type': 'span', 'gen_ai.response.id': 'gen-1:attempt-1' },
        },
      ],
    },
    { name: 'openrouter-connection-test' },
  ],
  models: [{ name: 'anthropic/claude-sonnet-5', vendor: 'openrouter', ...ONE_CALL }],
};

function attempt(model: string, vendor: string, number: bigint, status = 200n) {
  return {
    'gen_ai.provider.name': vendor,
    'gen_ai.request.model': model,
    'http.response.status_code': status,
    'vercel.ai_gateway.attempt.number': number,
    'vercel.ai_gateway.attempt.success': status === 200n,
  };
}

export const vercelAiGateway: Program = {
  id: 'vercel-ai-gateway',
  framework: "Vercel's AI Gateway",
  version: '2026-09',
  source: 'vercel.com/docs/ai-gateway, the section about traces',
  setUp: `In the settings of Vercel, under Drains, add a drain of the type "Traces" for the source AI Gateway: endpoint
\`<Quartermaster's URL>/v1/traces\`, header \`x-api-key: <key>\`.`,
  scope: '',
  service: 'ai-gateway',
  resource: { 'service.namespace': 'vercel' },
  spans: [
    {
      name: 'chat anthropic/claude-sonnet-5',
      kind: 'server',
      attributes: {
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': 'aws.bedrock',
        'gen_ai.request.model': 'anthropic/claude-sonnet-5',
        'gen_ai.response.model': 'anthropic/claude-sonnet-5',
        ...USAGE,
        'gen_ai.usage.cache_read.input_tokens': 5n,
        'gen_ai.usage.reasoning.output_tokens': 3n,
        'vercel.ai_gateway.provider': 'bedrock',
        'vercel.ai_gateway.generation.id': 'gen_1',
        'vercel.ai_gateway.tags': CONTENT,
        'vercel.ai_gateway.user.id': CONTENT,
      },
      inside: [
        {
          name: 'vercel.ai_gateway.routing',
          attributes: { 'vercel.ai_gateway.routing.custom_provider_order': 'anthropic,bedrock' },
        },
        {
          name: 'vercel.ai_gateway.model_attempt anthropic/claude-sonnet-5',
          attributes: { 'vercel.ai_gateway.model_attempt.index': 0n },
          inside: [
            {
              name: 'anthropic/claude-sonnet-5 (anthropic)',
              kind: 'client',
              attributes: {
                ...attempt('anthropic/claude-sonnet-5', 'anthropic', 1n, 529n),
                'error.type': 'overloaded_error',
              },
              failed: true,
            },
            {
              name: 'anthropic/claude-sonnet-5 (bedrock)',
              kind: 'client',
              attributes: attempt('anthropic/claude-sonnet-5', 'aws.bedrock', 2n),
            },
          ],
        },
      ],
    },
    {
      name: 'embeddings openai/text-embedding-3-small',
      kind: 'server',
      attributes: {
        'gen_ai.operation.name': 'embeddings',
        'gen_ai.provider.name': 'openai',
        'gen_ai.request.model': 'openai/text-embedding-3-small',
        'gen_ai.usage.input_tokens': 4n,
      },
      inside: [
        {
          name: 'openai/text-embedding-3-small (openai)',
          kind: 'client',
          attributes: attempt('openai/text-embedding-3-small', 'openai', 1n),
        },
      ],
    },
  ],
  models: [
    { name: 'claude-sonnet-5', vendor: 'anthropic', ...ONE_FAILURE },
    { name: 'anthropic/claude-sonnet-5', vendor: 'aws.bedrock', ...ONE_CALL },
    { name: 'text-embedding-3-small', vendor: 'openai', calls: 1, failed: 0, inputTokens: 4, outputTokens: 0 },
  ],
};

function inference(vendor: string, model: string) {
  return {
    provider_name: 'the name in the settings',
    stream: false,
    'gen_ai.operation.name': 'chat',
    'gen_ai.system': vendor,
    'gen_ai.request.model': model,
    'gen_ai.agent.name': 'write_haiku',
    'gen_ai.input.messages': CONTENT,
  };
}

export const tensorzero: Program = {
  id: 'tensorzero',
  framework: 'TensorZero',
  version: '2026-09',
  source: 'github.com/tensorzero/tensorzero, tensorzero-core/src/model.rs and tensorzero-core/src/observability/mod.rs',
  setUp: `\`\`\`toml
# tensorzero.toml. The exporter speaks gRPC: OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=<Quartermaster's host>:4317
[gateway.export.otlp.traces]
enabled = true
extra_headers."x-api-key" = "<key>"
\`\`\``,
  scope: 'tensorzero',
  service: 'tensorzero-gateway',
  spans: [
    {
      name: 'function_inference',
      attributes: { function_name: 'write_haiku', variant_name: 'gemini' },
      inside: [
        {
          name: 'model_inference',
          attributes: { model_name: 'my_model', stream: false },
          inside: [
            {
              name: 'model_provider_inference',
              attributes: inference('google_ai_studio_gemini', 'gemini-3-pro'),
              failed: true,
            },
            {
              name: 'model_provider_inference',
              attributes: { ...inference('gcp_vertex_gemini', 'gemini-3-pro'), ...USAGE },
            },
            {
              name: 'model_provider_inference',
              attributes: { ...inference('gcp_vertex_anthropic', 'claude-sonnet-5'), ...USAGE },
            },
          ],
        },
      ],
    },
  ],
  models: [
    { name: 'gemini-3-pro', vendor: 'gcp.gemini', ...ONE_FAILURE },
    { name: 'gemini-3-pro', vendor: 'gcp.vertex_ai', ...ONE_CALL },
    { name: 'claude-sonnet-5', vendor: 'gcp.vertex_ai', ...ONE_CALL },
  ],
};
