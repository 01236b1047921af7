import { CONTENT, type Program } from '../program.ts';

const VERSION =
  '@temporalio/ai-sdk 1.23.0, @temporalio/openai-agents 1.23.0, @temporalio/interceptors-opentelemetry 1.24.0';

const IN_WORKFLOW = { temporalWorkflowId: 'weather-1', run_id: '0199c0de-0000-7000-8000-000000000001' };

type Spans = NonNullable<Program['spans']>;

function workflow(inside: Spans): Spans[number] {
  return {
    scope: '@temporalio/interceptor-workflow',
    name: 'RunWorkflow:weatherWorkflow',
    attributes: IN_WORKFLOW,
    inside,
  };
}

/** An activity, with one span for each attempt. */
function activity(name: string, attempts: readonly { failed?: boolean; inside?: Spans }[]): Spans[number] {
  return {
    scope: '@temporalio/interceptor-workflow',
    name: `StartActivity:${name}`,
    attributes: IN_WORKFLOW,
    inside: attempts.map((attempt) => ({
      ...attempt,
      scope: '@temporalio/interceptor-activity',
      name: `RunActivity:${name}`,
      attributes: { ...IN_WORKFLOW, temporalActivityId: '1' },
    })),
  };
}

function chat(model: string) {
  return {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'temporal',
    'gen_ai.request.model': model,
    'gen_ai.input.messages': CONTENT,
  };
}

const USAGE = { 'gen_ai.usage.input_tokens': 21n, 'gen_ai.usage.output_tokens': 8n };

const OF_CLIENT = {
  'gen_ai.operation.name': 'chat',
  'gen_ai.provider.name': 'openai',
  'gen_ai.request.model': 'gpt-5-mini',
  'server.address': 'api.openai.com',
};

export const temporalAiSdk: Program = {
  id: 'temporal-ai-sdk',
  framework: 'Temporal with AI SDK 7',
  version: VERSION,
  source:
    'the npm packages @temporalio/ai-sdk, src/provider.ts and src/activities.ts, and @temporalio/interceptors-opentelemetry, src/worker/index.ts',
  setUp: `\`\`\`ts
// npm install @temporalio/ai-sdk @temporalio/interceptors-opentelemetry @ai-sdk/otel @opentelemetry/instrumentation-openai
// OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key> OTEL_SERVICE_NAME=<service>
import { AiSdkPlugin } from '@temporalio/ai-sdk';
import { OpenTelemetryPlugin } from '@temporalio/interceptors-opentelemetry';

const worker = await Worker.create({
  plugins: [new AiSdkPlugin({ modelProvider }), new OpenTelemetryPlugin({ resource, spanProcessor })],
});

// In the workflow
registerTelemetry(new OpenTelemetry());
\`\`\`

Attempts of a model call that Temporal repeats are seen only if the model's client is instrumented as well.`,
  scope: 'gen_ai',
  spans: [
    workflow([
      {
        name: 'invoke_agent weather_agent',
        attributes: {
          ...chat('openai:gpt-5-mini'),
          'gen_ai.operation.name': 'invoke_agent',
          'gen_ai.agent.name': 'weather_agent',
          'gen_ai.usage.input_tokens': 42n,
          'gen_ai.usage.output_tokens': 16n,
        },
        inside: [
          {
            name: 'chat openai:gpt-5-mini',
            kind: 'client',
            attributes: { ...chat('openai:gpt-5-mini'), ...USAGE, 'gen_ai.response.model': 'gpt-5-mini-2026-01-01' },
            inside: [
              activity('invokeModel', [
                {
                  failed: true,
                  inside: [
                    {
                      scope: '@opentelemetry/instrumentation-openai',
                      kind: 'client',
                      name: 'chat gpt-5-mini',
                      attributes: { ...OF_CLIENT, 'error.type': 'RateLimitError' },
                      failed: true,
                    },
                  ],
                },
                {
                  inside: [
                    {
                      scope: '@opentelemetry/instrumentation-openai',
                      kind: 'client',
                      name: 'chat gpt-5-mini',
                      attributes: { ...OF_CLIENT, ...USAGE },
                    },
                  ],
                },
              ]),
            ],
          },
          {
            name: 'execute_tool get_weather',
            attributes: { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'get_weather' },
            inside: [activity('get_weather', [{ failed: true }, {}])],
          },
          {
            name: 'chat anthropic:claude-sonnet-5',
            kind: 'client',
            attributes: { ...chat('anthropic:claude-sonnet-5'), ...USAGE },
            inside: [activity('invokeModel', [{}])],
          },
        ],
      },
      // Legacy telemetry of the AI SDK
      {
        scope: 'ai',
        name: 'ai.streamText.doStream',
        attributes: {
          'ai.operationId': 'ai.streamText.doStream',
          'ai.model.provider': 'temporal',
          'ai.model.id': 'google:gemini-3-pro',
          'ai.prompt.messages': CONTENT,
        },
        failed: true,
        inside: [activity('invokeModelStreaming', [{ failed: true }])],
      },
    ]),
  ],
  models: [
    { name: 'gpt-5-mini', vendor: 'openai', calls: 2, failed: 1, inputTokens: 21, outputTokens: 8 },
    { name: 'claude-sonnet-5', vendor: 'anthropic', calls: 1, failed: 0, inputTokens: 21, outputTokens: 8 },
    { name: 'gemini-3-pro', vendor: 'gcp.gen_ai', calls: 1, failed: 1, inputTokens: 0, outputTokens: 0 },
  ],
  tools: [{ name: 'get_weather', calls: 1, failed: 0 }],
  agents: ['weather_agent'],
};

function spanOf(type: string, data: Record<string, string | boolean> = {}) {
  const own = Object.entries(data).map(([key, value]) => [`openai.agents.${type}.${key}`, value]);
  return { 'openai.agents.span_type': type, ...Object.fromEntries(own) };
}

export const temporalOpenaiAgents: Program = {
  id: 'temporal-openai-agents',
  framework: 'Temporal with OpenAI Agents SDK (JavaScript)',
  version: VERSION,
  source:
    'the npm package @temporalio/openai-agents, src/common/tracing-bridge.ts, src/worker/base-tracing-processor.ts and src/workflow/activity-backed-model.ts',
  setUp: `\`\`\`ts
// npm install @temporalio/openai-agents @opentelemetry/sdk-trace-base@1 @opentelemetry/exporter-trace-otlp-proto
// OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key> OTEL_SERVICE_NAME=<service>
import { OpenAIAgentsPlugin } from '@temporalio/openai-agents';
import { createTracerProvider } from '@temporalio/openai-agents/otel';

trace.setGlobalTracerProvider(createTracerProvider({ spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())] }));
const interceptorOptions = { useOtelInstrumentation: true };
const worker = await Worker.create({ plugins: [new OpenAIAgentsPlugin({ modelProvider, interceptorOptions })] });
\`\`\``,
  cannotKnow: [
    'No span has token counts.',
    'No span names the vendor. It is known where one provider declares the model.',
    'The span of an attempt to call a model does not name the model, so attempts that failed are not counted.',
  ],
  scope: '@temporalio/openai-agents',
  spans: [
    {
      name: 'Agent workflow',
      attributes: { 'openai.agents.trace_id': 'trace_1', 'openai.agents.trace.name': 'Agent workflow' },
      inside: [
        {
          name: 'agent:weather_agent',
          attributes: spanOf('agent', { name: 'weather_agent', handoffs: 'Umbrella agent', tools: 'get_weather,echo' }),
          inside: [
            { name: 'mcp_tools', attributes: spanOf('mcp_tools', { server: 'everything', result: 'echo,get-sum' }) },
            {
              name: 'generation',
              attributes: spanOf('generation', { model: 'gpt-5-mini' }),
              inside: [
                { name: 'response', attributes: spanOf('response'), failed: true },
                { name: 'response', attributes: spanOf('response') },
              ],
            },
            { name: 'function:get_weather', attributes: spanOf('function', { name: 'get_weather' }), failed: true },
            {
              name: 'temporal:startActivity',
              attributes: spanOf('custom', { name: 'temporal:startActivity', 'data.activityType': 'echo' }),
            },
            { name: 'guardrail:no_pii', attributes: spanOf('guardrail', { name: 'no_pii', triggered: false }) },
            {
              name: 'generation',
              attributes: spanOf('generation', { model: 'gpt-5-mini' }),
              inside: [{ name: 'generation', attributes: spanOf('generation', { model: 'gpt-5-mini' }) }],
            },
            {
              name: 'handoff:weather_agent->Umbrella agent',
              attributes: spanOf('handoff', { from_agent: 'weather_agent', to_agent: 'Umbrella agent' }),
            },
          ],
        },
        { name: 'agent:Umbrella agent', attributes: spanOf('agent', { name: 'Umbrella agent' }) },
      ],
    },
  ],
  models: [{ name: 'gpt-5-mini', vendor: 'openai', calls: 2, failed: 0, inputTokens: 0, outputTokens: 0 }],
  tools: [{ name: 'get_weather', calls: 1, failed: 1 }],
  agents: ['weather_agent', 'Umbrella agent'],
};
