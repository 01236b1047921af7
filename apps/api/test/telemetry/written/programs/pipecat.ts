import { CONTENT, type Program } from '../program.ts';

const LIVE = { 'gen_ai.provider.name': 'gcp.gemini', 'gen_ai.request.model': 'gemini-3-live' };

export const pipecat: Program = {
  id: 'pipecat',
  framework: 'Pipecat',
  version: 'August 2026',
  source: 'github.com/pipecat-ai/pipecat, src/pipecat/utils/tracing',
  setUp: `\`\`\`python
# pip install pipecat-ai[tracing] opentelemetry-exporter-otlp-proto-http
# OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key>
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from pipecat.utils.tracing.setup import setup_tracing

setup_tracing(service_name="<service>", exporter=OTLPSpanExporter())
task = PipelineTask(pipeline, params=PipelineParams(enable_metrics=True), enable_tracing=True)
\`\`\``,
  cannotKnow: [
    'Functions have spans only with Gemini Live: other services show that the model asks for one, not that it runs.',
    'There are no agents: a conversation has an id and no name.',
  ],
  scope: 'pipecat',
  spans: [
    {
      scope: 'pipecat.turn',
      name: 'conversation',
      attributes: { 'conversation.id': CONTENT, 'conversation.type': 'voice' },
      inside: [
        {
          scope: 'pipecat.turn',
          name: 'turn',
          attributes: { 'turn.number': 1n, 'turn.type': 'conversation', 'conversation.id': CONTENT },
          inside: [
            {
              name: 'stt',
              attributes: {
                'gen_ai.provider.name': 'deepgram',
                'gen_ai.request.model': 'nova-3-general',
                'gen_ai.operation.name': 'stt',
                vad_enabled: false,
                transcript: CONTENT,
                is_final: true,
                language: 'en',
                user_id: CONTENT,
                'settings.keyterm': CONTENT,
              },
            },
            {
              name: 'llm',
              attributes: {
                'gen_ai.provider.name': 'openai',
                'gen_ai.request.model': 'gpt-5-mini',
                'gen_ai.operation.name': 'chat',
                'gen_ai.output.type': 'text',
                stream: true,
                input: CONTENT,
                output: CONTENT,
                tools: CONTENT,
                tool_count: 1n,
                tool_choice: CONTENT,
                'gen_ai.system_instructions': CONTENT,
                'gen_ai.usage.input_tokens': 21n,
                'gen_ai.usage.output_tokens': 8n,
                'gen_ai.usage.cache_read.input_tokens': 3n,
                'param.user': CONTENT,
                'extra.note': CONTENT,
              },
            },
            {
              name: 'llm',
              attributes: {
                'gen_ai.provider.name': 'openairesponseshttp',
                'gen_ai.request.model': 'gpt-5-mini',
                'gen_ai.operation.name': 'chat',
                'gen_ai.usage.input_tokens': 21n,
                'gen_ai.usage.output_tokens': 8n,
              },
            },
            {
              name: 'llm',
              attributes: {
                'gen_ai.provider.name': 'anthropic',
                'gen_ai.request.model': 'claude-sonnet-5',
                'gen_ai.operation.name': 'chat',
                'gen_ai.usage.input_tokens': 21n,
                'gen_ai.usage.output_tokens': 8n,
                'gen_ai.usage.cache_read.input_tokens': 10n,
                'gen_ai.usage.cache_creation.input_tokens': 5n,
              },
            },
            {
              name: 'llm',
              attributes: {
                'gen_ai.provider.name': 'gcp.gemini',
                'gen_ai.request.model': 'gemini-3-flash',
                'gen_ai.operation.name': 'chat',
                'gen_ai.usage.input_tokens': 21n,
                'gen_ai.usage.output_tokens': 8n,
                'gen_ai.usage.reasoning.output_tokens': 12n,
              },
            },
            {
              name: 'tts',
              attributes: {
                'gen_ai.provider.name': 'elevenlabs',
                'gen_ai.request.model': 'eleven_flash_v2_5',
                'gen_ai.operation.name': 'tts',
                'gen_ai.output.type': 'speech',
                voice_id: CONTENT,
                text: CONTENT,
                'metrics.character_count': 42n,
              },
            },
          ],
        },
      ],
    },
    {
      scope: 'pipecat.turn',
      name: 'turn',
      attributes: { 'turn.number': 1n },
      inside: [
        {
          name: 'llm_setup',
          attributes: {
            ...LIVE,
            'gen_ai.operation.name': 'llm_setup',
            'service.operation': 'llm_setup',
            'tools.names': 'get_weather,get_news',
            'tools.definitions': CONTENT,
            'gen_ai.system_instructions': CONTENT,
          },
        },
        {
          name: 'llm_tool_call',
          attributes: {
            ...LIVE,
            'gen_ai.operation.name': 'llm_tool_call',
            'tool.function_name': 'get_weather',
            'tool.call_id': 'call_1',
            'tool.calls_count': 1n,
            'tool.all_function_names': 'get_weather',
            'tool.arguments': CONTENT,
          },
        },
        {
          name: 'llm_tool_result',
          attributes: {
            ...LIVE,
            'gen_ai.operation.name': 'llm_tool_result',
            'tool.function_name': 'get_weather',
            'tool.call_id': 'call_1',
            'tool.result': CONTENT,
            'tool.result_status': 'completed',
          },
        },
        {
          name: 'llm_response',
          attributes: {
            ...LIVE,
            'gen_ai.operation.name': 'llm_response',
            text_output: CONTENT,
            'gen_ai.usage.input_tokens': 30n,
            'gen_ai.usage.output_tokens': 9n,
          },
        },
      ],
    },
  ],
  models: [
    { name: 'nova-3-general', vendor: 'deepgram', calls: 1, inputTokens: 0, outputTokens: 0 },
    { name: 'gpt-5-mini', vendor: 'openai', calls: 2, inputTokens: 42, outputTokens: 16 },
    { name: 'claude-sonnet-5', vendor: 'anthropic', calls: 1, inputTokens: 36, outputTokens: 8 },
    { name: 'gemini-3-flash', vendor: 'gcp.gemini', calls: 1, inputTokens: 21, outputTokens: 20 },
    { name: 'eleven_flash_v2_5', vendor: 'elevenlabs', calls: 1, inputTokens: 0, outputTokens: 0 },
    { name: 'gemini-3-live', vendor: 'gcp.gemini', calls: 1, inputTokens: 30, outputTokens: 9 },
  ],
  tools: [{ name: 'get_weather', calls: 1 }],
};
