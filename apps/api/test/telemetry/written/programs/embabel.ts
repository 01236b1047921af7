import { CONTENT, type Program } from '../program.ts';

const AGENT = { 'embabel.agent.name': 'weather_agent', 'embabel.run.id': 'run_1' };
const LLM = { 'embabel.llm.model': 'gpt-5-mini', 'embabel.interaction.id': 'i1' };

const chat = {
  name: 'chat gpt-5-mini',
  attributes: {
    'gen_ai.operation.name': 'chat',
    'gen_ai.system': 'openai',
    'gen_ai.provider.name': 'openai',
    'gen_ai.request.model': 'gpt-5-mini',
    'gen_ai.response.model': 'gpt-5-mini-2026-01-01',
    'gen_ai.usage.input_tokens': '21',
    'gen_ai.usage.output_tokens': '8',
    'gen_ai.input.messages': CONTENT,
    'gen_ai.output.messages': CONTENT,
    'input.value': CONTENT,
    'output.value': CONTENT,
  },
};

/** The same call again, for its costs. */
const invocation = {
  name: 'llm.invocation gpt-5-mini',
  attributes: {
    ...LLM,
    'embabel.event.type': 'llm_invocation',
    'gen_ai.usage.input_tokens': '21',
    'gen_ai.usage.output_tokens': '8',
    'gen_ai.usage.total_tokens': '29',
    'embabel.llm.cost': '0.0012',
  },
};

const tool = (name: string, error?: string) => ({
  name: 'tool call',
  attributes: {
    toolName: name,
    payload: CONTENT,
    ...(error === undefined
      ? { status: 'success', result: CONTENT }
      : { status: 'error', error_type: error, error_message: CONTENT }),
  },
  ...(error !== undefined && { failed: true }),
});

const toolEvent = (name: string, error?: string) => ({
  name: `execute_tool ${name}`,
  attributes: {
    'embabel.event.type': 'tool_call',
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': name,
    'gen_ai.tool.type': 'function',
    'embabel.tool.name': name,
    'embabel.tool.duration_ms': '12',
    'embabel.tool.group.name': 'weather',
    'embabel.tool.group.role': 'weather',
    'gen_ai.tool.description': CONTENT,
    'gen_ai.tool.call.arguments': CONTENT,
    ...(error === undefined
      ? { 'embabel.tool.status': 'success', 'gen_ai.tool.call.result': CONTENT }
      : { 'embabel.tool.status': 'error', 'embabel.tool.error.type': error, 'embabel.tool.error.message': CONTENT }),
  },
  ...(error !== undefined && { failed: true }),
});

/** Micrometer has texts only. The span of a call of a model or a tool is written by Spring AI, and an event repeats it. */
export const embabel: Program = {
  id: 'embabel',
  framework: 'Embabel',
  version: 'August 2026',
  source:
    'github.com/embabel/embabel-agent, embabel-agent-observability/src/main/java/com/embabel/agent/observability/tracing, and ToolDecorators.kt',
  setUp: `\`\`\`yaml
# Dependencies: embabel-agent-starter-observability, io.opentelemetry:opentelemetry-exporter-otlp
embabel.agent.platform.observability.enabled: true
management:
  otlp.tracing:
    endpoint: <Quartermaster's URL>/v1/traces
    headers.x-api-key: <key>
spring.application.name: <service>
\`\`\``,
  cannotKnow: ['No span names the MCP server of a tool.'],
  scope: 'org.springframework.boot',
  spans: [
    {
      name: 'agent weather_agent',
      attributes: {
        ...AGENT,
        'gen_ai.operation.name': 'agent',
        'embabel.event.type': 'agent_process',
        'embabel.agent.is_subagent': 'false',
        'embabel.agent.planner_type': 'GOAP',
        'embabel.agent.status': 'COMPLETED',
        'gen_ai.conversation.id': 'c1',
        'embabel.goal': 'weather_told',
        'input.value': CONTENT,
        'embabel.agent.result': CONTENT,
        'output.value': CONTENT,
      },
      inside: [
        {
          name: 'planning weather_told',
          attributes: {
            'embabel.event.type': 'planning',
            'gen_ai.operation.name': 'planning',
            'embabel.plan.goal': 'weather_told',
            'input.value': CONTENT,
          },
        },
        {
          name: 'action tellWeather',
          attributes: {
            ...AGENT,
            'gen_ai.operation.name': 'action',
            'embabel.event.type': 'action',
            'embabel.action.short_name': 'tellWeather',
            'embabel.action.name': 'com.example.WeatherAgent.tellWeather',
            'embabel.action.status': 'SUCCEEDED',
            'input.value': CONTENT,
            'embabel.action.result': CONTENT,
          },
          inside: [
            {
              name: 'llm gpt-5-mini',
              attributes: {
                ...AGENT,
                ...LLM,
                'embabel.event.type': 'llm_call',
                'embabel.action.short_name': 'tellWeather',
              },
              inside: [
                {
                  name: 'tool-loop',
                  attributes: {
                    ...AGENT,
                    'gen_ai.operation.name': 'tool_loop',
                    'embabel.event.type': 'tool_loop',
                    'embabel.tool_loop.max_iterations': '20',
                    'embabel.tool_loop.tool_names': 'get_weather,echo',
                    'embabel.interaction.id': 'i1',
                    'input.value': CONTENT,
                  },
                  inside: [
                    chat,
                    invocation,
                    tool('get_weather'),
                    toolEvent('get_weather'),
                    tool('echo', 'McpError'),
                    toolEvent('echo', 'McpError'),
                    chat,
                    invocation,
                    {
                      name: 'tool-loop-completed',
                      attributes: {
                        'embabel.event.type': 'tool_loop_completed',
                        'gen_ai.operation.name': 'tool_loop',
                        'embabel.tool_loop.total_iterations': '2',
                      },
                    },
                  ],
                },
              ],
            },
          ],
        },
        {
          name: 'goal weather_told',
          attributes: {
            'embabel.event.type': 'goal',
            'gen_ai.operation.name': 'goal_achieved',
            'embabel.goal.name': 'weather_told',
            'input.value': CONTENT,
            'embabel.goal.result': CONTENT,
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
  agents: ['weather_agent'],
};
