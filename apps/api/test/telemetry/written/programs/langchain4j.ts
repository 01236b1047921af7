import { CONTENT, type Program } from '../program.ts';

const OF_OBSERVATION = {
  'gen_ai.operation.name': 'chat',
  'gen_ai.provider.name': 'GOOGLE_AI_GEMINI',
  'gen_ai.request.model': 'gemini-3-flash',
};

/** Micrometer has texts only. Attributes without a value are `unknown`. */
export const langchain4j: Program = {
  id: 'langchain4j',
  framework: "LangChain4j with Micrometer's observations",
  version: 'August 2026',
  source:
    'github.com/langchain4j/langchain4j, langchain4j-observation/src/main/java/dev/langchain4j/observation/convention/DefaultChatModelConvention.java',
  setUp: `\`\`\`properties
# Dependencies: spring-boot-starter-opentelemetry, langchain4j-observation with an ObservationChatModelListener at each model
management.opentelemetry.tracing.export.otlp.endpoint=<Quartermaster's URL>/v1/traces
management.opentelemetry.tracing.export.otlp.headers.x-api-key=<key>
management.tracing.sampling.probability=1.0
spring.application.name=<service>
\`\`\``,
  cannotKnow: ['Only calls of models have spans.'],
  scope: 'org.springframework.boot',
  spans: [
    {
      name: 'http post /ask',
      kind: 'server',
      attributes: { method: 'POST', uri: '/ask', outcome: 'SUCCESS', status: '200' },
      inside: [
        {
          name: 'chat gemini-3-flash',
          attributes: {
            ...OF_OBSERVATION,
            'gen_ai.response.model': 'gemini-3-flash',
            outcome: 'SUCCESS',
            output_tokens: '8',
            input_tokens: '21',
          },
        },
        {
          name: 'chat gemini-3-flash',
          attributes: { ...OF_OBSERVATION, 'gen_ai.response.model': 'unknown', outcome: 'ERROR' },
          events: [{ name: 'exception', attributes: { 'exception.message': CONTENT } }],
          failed: true,
        },
      ],
    },
  ],
  models: [{ name: 'gemini-3-flash', vendor: 'gcp.gemini', calls: 2, failed: 1, inputTokens: 21, outputTokens: 8 }],
};

const CHAT = {
  'gen_ai.operation.name': 'chat',
  'gen_ai.provider.name': 'openai',
  'gen_ai.request.temperature': 0.2,
  'gen_ai.input.messages': CONTENT,
  'gen_ai.system_instructions': CONTENT,
  'gen_ai.tool.definitions': CONTENT,
};

function answer(id: string) {
  return {
    'gen_ai.response.id': id,
    'gen_ai.response.model': 'gpt-5-mini-2026-01-01',
    'gen_ai.response.finish_reasons': ['STOP'],
    'gen_ai.usage.output_tokens': 8n,
    'gen_ai.usage.input_tokens': 21n,
    'gen_ai.output.messages': CONTENT,
  };
}

const EXCEPTION = {
  name: 'gen_ai.client.operation.exception',
  attributes: { 'exception.message': CONTENT, 'exception.type': 'java.lang.RuntimeException' },
};

/** An agent's span is made when the agent has ended, and repeats its last answer. A span that failed has an event, and no status. */
export const langchain4jCdi: Program = {
  id: 'langchain4j-cdi',
  framework: 'LangChain4j CDI, with its agentic module',
  version: 'August 2026',
  source:
    'github.com/langchain4j/langchain4j-cdi, langchain4j-cdi-mp/langchain4j-cdi-telemetry/src/main/java/dev/langchain4j/cdi/telemetry',
  setUp: `\`\`\`properties
# Dependency: dev.langchain4j.cdi.mp:langchain4j-cdi-telemetry
otel.sdk.disabled=false
otel.exporter.otlp.endpoint=<Quartermaster's URL>
otel.exporter.otlp.headers=x-api-key=<key>
otel.service.name=<service>
\`\`\``,
  cannotKnow: ['Tools have no spans.'],
  scope: 'default-tracer',
  spans: [
    {
      name: 'GET /ask',
      kind: 'server',
      inside: [
        { name: 'chat gpt-5-mini', kind: 'client', attributes: { ...CHAT, ...answer('chatcmpl-1') } },
        { name: 'chat gpt-5-mini', kind: 'client', attributes: { ...CHAT, ...answer('chatcmpl-2') } },
        {
          name: 'invoke_agent weather_agent',
          kind: 'client',
          attributes: {
            'gen_ai.operation.name': 'invoke_agent',
            'gen_ai.agent.description': CONTENT,
            'gen_ai.agent.id': 'weather_agent$0',
            'gen_ai.agent.name': 'weather_agent',
            'gen_ai.conversation.id': 'session-1',
            'gen_ai.input.messages': CONTENT,
            ...answer('chatcmpl-2'),
          },
        },
        { name: 'chat gpt-5-mini', kind: 'client', attributes: CHAT, events: [EXCEPTION] },
        {
          name: 'invoke_agent umbrella_agent',
          kind: 'client',
          attributes: { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'umbrella_agent' },
          events: [EXCEPTION],
        },
      ],
    },
  ],
  models: [{ name: 'gpt-5-mini', vendor: 'openai', calls: 3, failed: 1, inputTokens: 42, outputTokens: 16 }],
  agents: ['weather_agent', 'umbrella_agent'],
};
