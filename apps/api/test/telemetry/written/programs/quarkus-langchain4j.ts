import { CONTENT, type Program } from '../program.ts';

const CHAT = {
  'gen_ai.operation.name': 'chat',
  'gen_ai.request.model': 'gemini-3-flash',
  'gen_ai.provider.name': 'google_ai_gemini',
  'gen_ai.request.temperature': 0,
  'gen_ai.response.model': 'gemini-3-flash',
  'gen_ai.response.finish_reasons': 'STOP',
  'gen_ai.usage.input_tokens': 21n,
  'gen_ai.usage.output_tokens': 8n,
  'gen_ai.client.estimated_cost': '0.001USD',
  'gen_ai.prompt': CONTENT,
  'gen_ai.completion': CONTENT,
};

export const quarkusLangchain4j: Program = {
  id: 'quarkus-langchain4j',
  framework: 'Quarkus LangChain4j',
  version: 'July 2026',
  source:
    'github.com/quarkiverse/quarkus-langchain4j, SpanChatModelListener.java, ToolSpanWrapper.java, SpanWrapper.java, TracingMcpClientListener.java',
  setUp: `\`\`\`properties
# Extension: quarkus-opentelemetry
quarkus.otel.exporter.otlp.endpoint=<Quartermaster's URL>
quarkus.otel.exporter.otlp.headers=x-api-key=<key>
quarkus.application.name=<service>
\`\`\``,
  cannotKnow: ['There are no agents: the span of an AI service has no attributes.', 'No span names the MCP server.'],
  scope: 'io.quarkus.opentelemetry',
  spans: [
    {
      name: 'langchain4j.aiservices.WeatherService.ask',
      inside: [
        { name: 'completion gemini-3-flash', attributes: { ...CHAT, 'gen_ai.response.id': 'r1' } },
        {
          name: 'langchain4j.tools.get_weather',
          attributes: {
            'gen_ai.operation.name': 'execute_tool',
            'gen_ai.tool.call.id': 'call_1',
            'gen_ai.tool.name': 'get_weather',
            'gen_ai.tool.type': 'function',
            'gen_ai.tool.call.arguments': CONTENT,
            'gen_ai.tool.call.result': CONTENT,
          },
        },
        {
          name: 'langchain4j.tools.echo',
          attributes: {
            'gen_ai.operation.name': 'execute_tool',
            'gen_ai.tool.call.id': 'call_2',
            'gen_ai.tool.name': 'echo',
            'gen_ai.tool.type': 'function',
            'gen_ai.tool.call.arguments': CONTENT,
          },
          failed: true,
          inside: [
            {
              name: 'tools/call echo',
              kind: 'client',
              attributes: {
                'mcp.method.name': 'tools/call',
                'gen_ai.operation.name': 'execute_tool',
                'gen_ai.tool.name': 'echo',
              },
              failed: true,
            },
          ],
        },
        { name: 'completion gemini-3-flash', attributes: { ...CHAT, 'gen_ai.response.id': 'r2' } },
      ],
    },
  ],
  models: [{ name: 'gemini-3-flash', vendor: 'gcp.gemini', calls: 2, inputTokens: 42, outputTokens: 16 }],
  tools: [
    { name: 'get_weather', calls: 1 },
    { name: 'echo', server: 'everything', calls: 1, failed: 1 },
  ],
};
