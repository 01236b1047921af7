import { CONTENT, type Program } from '../program.ts';

const CHAT = {
  'gen_ai.operation.name': 'chat',
  'gen_ai.system': 'openai',
  'gen_ai.request.model': 'gpt-5-mini',
  'gen_ai.response.finish_reasons': '["STOP"]',
  'spring.ai.model.request.tool.names': '["echo","get_weather"]',
};

const USAGE = {
  'gen_ai.response.model': 'gpt-5-mini-2026-01-01',
  'gen_ai.response.id': 'chatcmpl-1',
  'gen_ai.usage.input_tokens': '21',
  'gen_ai.usage.output_tokens': '8',
  'gen_ai.usage.total_tokens': '29',
};

const TOOL = {
  'gen_ai.system': 'spring_ai',
  'spring.ai.kind': 'tool_call',
  'spring.ai.tool.definition.description': CONTENT,
  'spring.ai.tool.definition.schema': CONTENT,
  'spring.ai.tool.call.arguments': CONTENT,
  'spring.ai.tool.call.result': CONTENT,
};

/** Micrometer has texts only, numbers as well. Versions before 2.0 name the operation of a tool `framework`. */
export const springAi: Program = {
  id: 'spring-ai',
  framework: 'Spring AI',
  version: '2.0.1',
  source:
    'github.com/spring-projects/spring-ai, Default{ChatClient,Advisor,ChatModel,EmbeddingModel,ToolCalling}ObservationConvention.java',
  setUp: `\`\`\`properties
# Dependency: spring-boot-starter-opentelemetry
management.opentelemetry.tracing.export.otlp.endpoint=<Quartermaster's URL>/v1/traces
management.opentelemetry.tracing.export.otlp.headers.x-api-key=<key>
management.tracing.sampling.probability=1.0
spring.application.name=<service>
\`\`\``,
  cannotKnow: ['There are no agents: a chat client has no name.', 'No span names the MCP server of a tool.'],
  scope: 'org.springframework.boot',
  spans: [
    {
      name: 'spring_ai chat_client',
      attributes: {
        'gen_ai.operation.name': 'framework',
        'gen_ai.system': 'spring_ai',
        'spring.ai.kind': 'chat_client',
        'spring.ai.chat.client.stream': 'false',
        'spring.ai.chat.client.tool.names': '["echo","get_weather"]',
        'spring.ai.chat.client.conversation.id': CONTENT,
      },
      inside: [
        {
          name: 'tool_call',
          attributes: {
            'gen_ai.operation.name': 'framework',
            'gen_ai.system': 'spring_ai',
            'spring.ai.kind': 'advisor',
            'spring.ai.advisor.name': 'Tool Calling Advisor',
            'spring.ai.advisor.order': '2147483347',
          },
          inside: [
            { name: 'chat gpt-5-mini', attributes: { ...CHAT, ...USAGE } },
            {
              name: 'execute_tool get_weather',
              attributes: {
                ...TOOL,
                'gen_ai.operation.name': 'execute_tool',
                'spring.ai.tool.type': 'function',
                'spring.ai.tool.definition.name': 'get_weather',
                'spring.ai.tool.call.id': 'call_1',
              },
            },
            {
              name: 'tool_call echo',
              attributes: { ...TOOL, 'gen_ai.operation.name': 'framework', 'spring.ai.tool.definition.name': 'echo' },
            },
            {
              name: 'chat gpt-5-mini',
              attributes: { ...CHAT, 'gen_ai.response.model': 'none' },
              events: [{ name: 'exception', attributes: { 'exception.message': CONTENT } }],
              failed: true,
            },
            { name: 'chat gpt-5-mini', attributes: { ...CHAT, ...USAGE, 'gen_ai.response.id': 'chatcmpl-2' } },
          ],
        },
      ],
    },
    {
      name: 'embedding text-embedding-3-small',
      attributes: {
        'gen_ai.operation.name': 'embedding',
        'gen_ai.system': 'openai',
        'gen_ai.request.model': 'text-embedding-3-small',
        'gen_ai.response.model': 'none',
        'gen_ai.usage.input_tokens': '4',
        'gen_ai.usage.total_tokens': '4',
      },
    },
  ],
  models: [
    { name: 'gpt-5-mini', vendor: 'openai', calls: 3, failed: 1, inputTokens: 42, outputTokens: 16 },
    { name: 'text-embedding-3-small', vendor: 'openai', calls: 1, inputTokens: 4, outputTokens: 0 },
  ],
  tools: [
    { name: 'get_weather', calls: 1 },
    { name: 'echo', server: 'everything', calls: 1 },
  ],
};
