import { CONTENT, type Program } from '../program.ts';

const MODEL = {
  'gen_ai.provider.name': 'google',
  'gen_ai.request.model': 'gemini-3-flash',
  'gen_ai.conversation.id': 'c1',
};

const chat = (inputTokens: bigint) => ({
  name: 'chat gemini-3-flash',
  kind: 'client' as const,
  attributes: {
    ...MODEL,
    'gen_ai.operation.name': 'chat',
    'gen_ai.output.type': 'text',
    'gen_ai.input.messages': CONTENT,
    'gen_ai.system_instructions': CONTENT,
    'gen_ai.tool.definitions': CONTENT,
    'koog.event.id': 'e1',
    'gen_ai.response.model': 'gemini-3-flash',
    'gen_ai.usage.input_tokens': inputTokens,
    'gen_ai.usage.output_tokens': 8n,
    'gen_ai.output.messages': CONTENT,
  },
});

const TOOL = {
  'gen_ai.operation.name': 'execute_tool',
  'gen_ai.tool.description': CONTENT,
  'gen_ai.tool.call.arguments': CONTENT,
  'gen_ai.tool.call.result': CONTENT,
};

/** The span of an agent has the kind of a client, an id and no name, and repeats the model and the sum of the tokens. */
export const koog: Program = {
  id: 'koog',
  framework: 'Koog (Kotlin)',
  version: '2026',
  source: 'github.com/JetBrains/koog, agents/agents-features/agents-features-opentelemetry',
  setUp: `\`\`\`kotlin
val agent = AIAgent(promptExecutor, llmModel, id = "weather_agent") {
    install(OpenTelemetry) {
        setServiceInfo("<service>", "1.0.0")
        addSpanExporter(
            OtlpHttpSpanExporter.builder()
                .setEndpoint("<Quartermaster's URL>/v1/traces").addHeader("x-api-key", "<key>").build()
        )
    }
}
\`\`\``,
  cannotKnow: ['An agent is known by its id.'],
  scope: 'ai.koog',
  spans: [
    {
      name: 'create_agent weather_agent',
      kind: 'client',
      attributes: { ...MODEL, 'gen_ai.operation.name': 'create_agent', 'gen_ai.agent.id': 'weather_agent' },
      inside: [
        {
          name: 'invoke_agent weather_agent',
          kind: 'client',
          attributes: {
            ...MODEL,
            'gen_ai.operation.name': 'invoke_agent',
            'gen_ai.agent.id': 'weather_agent',
            'gen_ai.input.messages': CONTENT,
            'gen_ai.response.model': 'gemini-3-flash',
            'gen_ai.usage.input_tokens': 51n,
            'gen_ai.usage.output_tokens': 16n,
          },
          inside: [
            {
              name: 'node call_llm',
              attributes: { 'koog.node.id': 'call_llm', 'koog.node.input': CONTENT, 'koog.node.output': CONTENT },
              inside: [chat(21n)],
            },
            {
              name: 'node execute_tools',
              attributes: { 'koog.node.id': 'execute_tools' },
              inside: [
                {
                  name: 'execute_tool get_weather',
                  attributes: { ...TOOL, 'gen_ai.tool.name': 'get_weather', 'gen_ai.tool.call.id': 'call_1' },
                },
                {
                  name: 'execute_tool echo',
                  attributes: {
                    ...TOOL,
                    'gen_ai.tool.name': 'echo',
                    'gen_ai.tool.call.id': 'call_2',
                    'mcp.method.name': 'tools/call',
                    'mcp.protocol.version': '2025-06-18',
                    'network.transport': 'pipe',
                    'error.type': 'ai.koog.agents.core.feature.model.AIAgentError',
                  },
                  failed: true,
                },
              ],
            },
            { name: 'node call_llm', attributes: { 'koog.node.id': 'call_llm' }, inside: [chat(30n)] },
          ],
        },
      ],
    },
  ],
  models: [{ name: 'gemini-3-flash', vendor: 'gcp.gen_ai', calls: 2, inputTokens: 51, outputTokens: 16 }],
  tools: [
    { name: 'get_weather', calls: 1 },
    { name: 'echo', server: 'everything', calls: 1, failed: 1 },
  ],
  agents: ['weather_agent'],
};
