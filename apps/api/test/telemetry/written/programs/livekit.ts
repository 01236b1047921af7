import { CONTENT, type Program } from '../program.ts';

const CHAT = {
  'gen_ai.operation.name': 'chat',
  'gen_ai.provider.name': 'api.openai.com',
  'gen_ai.request.model': 'gpt-5-mini',
  'gen_ai.usage.input_tokens': 21n,
  'gen_ai.usage.output_tokens': 8n,
  'gen_ai.usage.input_text_tokens': 21n,
  'lk.llm_metrics': CONTENT,
  'gen_ai.input.messages': CONTENT,
};

const MESSAGES = [
  { name: 'gen_ai.system.message', attributes: { content: CONTENT } },
  { name: 'gen_ai.user.message', attributes: { content: CONTENT } },
  { name: 'gen_ai.choice', attributes: { content: CONTENT, role: 'assistant', tool_calls: [CONTENT] } },
];

const NODE = {
  'gen_ai.provider.name': 'api.openai.com',
  'gen_ai.request.model': 'gpt-5-mini',
  'lk.pii.chat_ctx': CONTENT,
  'lk.function_tools': ['get_weather', 'echo'],
  'lk.provider_tools': [],
  'lk.pii.response.text': CONTENT,
  'lk.pii.response.function_calls': CONTENT,
};

/** Before the end of 2026, a function was known by `lk.function_tool.name` only, and an agent by its label. */
export const livekit: Program = {
  id: 'livekit',
  framework: 'LiveKit Agents',
  version: 'August to November 2026',
  source: 'github.com/livekit/agents, livekit-agents/livekit/agents/telemetry, llm/llm.py, voice/generation.py',
  setUp: `\`\`\`python
# pip install livekit-agents opentelemetry-exporter-otlp-proto-http
# OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key>
from livekit.agents.telemetry import set_tracer_provider
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
set_tracer_provider(provider)
\`\`\``,
  cannotKnow: ['No span names the MCP server of a tool.'],
  scope: 'livekit-agents',
  spans: [
    {
      name: 'agent_session',
      attributes: {
        'lk.agent_label': 'weather_agent',
        'lk.agent_name': 'weather_worker',
        'lk.session_options': CONTENT,
        'lk.pii.room_name': CONTENT,
      },
      inside: [
        {
          name: 'agent_turn',
          attributes: {
            'lk.generation_id': 'g1',
            'lk.pii.user_input': CONTENT,
            'lk.pii.instructions': CONTENT,
            'gen_ai.operation.name': 'invoke_agent',
            'gen_ai.agent.name': 'weather_agent',
          },
          inside: [
            {
              name: 'llm_node',
              attributes: NODE,
              inside: [
                {
                  name: 'llm_request',
                  attributes: CHAT,
                  events: MESSAGES,
                  inside: [{ name: 'llm_request_run', attributes: { 'lk.retry_count': 0n } }],
                },
              ],
            },
            {
              name: 'function_tool',
              attributes: {
                'lk.function_tool.id': 'call_1',
                'lk.function_tool.name': 'get_weather',
                'lk.pii.function_tool.arguments': CONTENT,
                'lk.pii.function_tool.output': CONTENT,
                'lk.function_tool.is_error': false,
              },
            },
            {
              name: 'function_tool',
              attributes: {
                'lk.function_tool.id': 'call_2',
                'lk.function_tool.name': 'echo',
                'gen_ai.operation.name': 'execute_tool',
                'gen_ai.tool.name': 'echo',
                'gen_ai.tool.type': 'function',
                'gen_ai.tool.call.id': 'call_2',
                'gen_ai.tool.description': CONTENT,
                'lk.pii.function_tool.arguments': CONTENT,
                'lk.function_tool.is_error': true,
              },
            },
          ],
        },
        {
          name: 'agent_turn',
          attributes: { 'lk.generation_id': 'g2', 'lk.parent_generation_id': 'g1' },
          inside: [
            {
              name: 'llm_node',
              attributes: NODE,
              inside: [
                {
                  name: 'llm_request',
                  attributes: CHAT,
                  inside: [
                    { name: 'llm_request_run', attributes: { 'lk.retry_count': 0n }, failed: true },
                    { name: 'llm_request_run', attributes: { 'lk.retry_count': 1n } },
                  ],
                },
              ],
            },
          ],
        },
        {
          // The plugin for Google, whose output excludes the tokens of thinking.
          name: 'llm_request',
          attributes: {
            'gen_ai.operation.name': 'chat',
            'gen_ai.provider.name': 'gcp.gemini',
            'gen_ai.request.model': 'gemini-3-flash',
            'gen_ai.usage.input_tokens': 21n,
            'gen_ai.usage.output_tokens': 5n,
            'lk.llm_metrics': JSON.stringify({
              label: CONTENT,
              completion_tokens: 5,
              prompt_tokens: 21,
              total_tokens: 29,
            }),
          },
        },
        {
          name: 'realtime_metrics',
          attributes: {
            'gen_ai.operation.name': 'chat',
            'gen_ai.provider.name': 'openai',
            'gen_ai.request.model': 'gpt-realtime',
            'lk.realtime_model_metrics': CONTENT,
            'gen_ai.usage.input_tokens': 50n,
            'gen_ai.usage.output_tokens': 20n,
          },
        },
        {
          name: 'realtime_metrics',
          attributes: {
            'gen_ai.operation.name': 'chat',
            'gen_ai.provider.name': 'unknown',
            'gen_ai.request.model': 'unknown',
          },
        },
      ],
    },
  ],
  models: [
    { name: 'gpt-5-mini', vendor: 'openai', calls: 2, inputTokens: 42, outputTokens: 16 },
    { name: 'gemini-3-flash', vendor: 'gcp.gemini', calls: 1, inputTokens: 21, outputTokens: 8 },
    { name: 'gpt-realtime', vendor: 'openai', calls: 1, inputTokens: 50, outputTokens: 20 },
  ],
  tools: [
    { name: 'get_weather', calls: 1 },
    { name: 'echo', server: 'everything', calls: 1, failed: 1 },
  ],
  agents: ['weather_agent'],
};
