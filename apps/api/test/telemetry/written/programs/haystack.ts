import { CONTENT, type Program } from '../program.ts';

/** The tracer, and so the scope, belongs to the application. Content tags are written if content tracing is switched on. */
export const haystack: Program = {
  id: 'haystack',
  framework: 'Haystack',
  version: 'August 2026',
  source:
    'github.com/deepset-ai/haystack, haystack/core/pipeline/base.py, haystack/components/agents/{agent,tool_calling}.py',
  setUp: `\`\`\`python
# pip install haystack-ai opentelemetry-sdk opentelemetry-exporter-otlp-proto-http
# OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key> OTEL_SERVICE_NAME=<service>
# Haystack uses a tracer provider that is set before it is imported.
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)
\`\`\`

Add OpenInference or OpenLLMetry: Haystack's own spans do not name models.`,
  cannotKnow: [
    'No span names a model: it stands in the answer only, which is content.',
    'An agent is known by the name of its component in a pipeline. Outside of a pipeline it has no name.',
    'No span names the MCP server of a tool.',
  ],
  scope: 'haystack',
  spans: [
    {
      name: 'haystack.pipeline.run',
      attributes: {
        'haystack.pipeline.input_data': CONTENT,
        'haystack.pipeline.output_data': CONTENT,
        'haystack.pipeline.metadata': CONTENT,
        'haystack.pipeline.max_runs_per_component': 100n,
      },
      inside: [
        {
          name: 'haystack.component.run',
          attributes: {
            'haystack.component.name': 'prompt_builder',
            'haystack.component.type': 'ChatPromptBuilder',
            'haystack.component.fully_qualified_type': 'haystack.components.builders.ChatPromptBuilder',
            'haystack.component.input_types': '{"template":"list"}',
            'haystack.component.input': CONTENT,
            'haystack.component.output': CONTENT,
          },
        },
        {
          name: 'haystack.component.run',
          attributes: {
            'haystack.component.name': 'weather_agent',
            'haystack.component.type': 'Agent',
            'haystack.component.fully_qualified_type': 'haystack.components.agents.agent.Agent',
            'haystack.component.input_spec': CONTENT,
            'haystack.component.visits': 1n,
          },
          inside: [
            {
              name: 'haystack.agent.run',
              attributes: {
                'haystack.agent.max_steps': 100n,
                'haystack.agent.tools': CONTENT,
                'haystack.agent.exit_conditions': '["text"]',
                'haystack.agent.state_schema': CONTENT,
                'haystack.agent.input': CONTENT,
                'haystack.agent.output': CONTENT,
              },
              inside: [
                {
                  name: 'haystack.agent.step',
                  attributes: { 'haystack.agent.step': 0n },
                  inside: [
                    {
                      name: 'haystack.agent.step.llm',
                      attributes: {
                        'haystack.agent.step.llm.input': CONTENT,
                        'haystack.agent.step.llm.output': CONTENT,
                      },
                    },
                    {
                      name: 'haystack.agent.step.tool',
                      attributes: {
                        'haystack.tool.name': 'get_weather',
                        'haystack.tool.description': CONTENT,
                        'haystack.agent.step.tool.input': CONTENT,
                        'haystack.agent.step.tool.output': CONTENT,
                      },
                    },
                    {
                      name: 'haystack.agent.step.tool',
                      attributes: { 'haystack.tool.name': 'echo', 'haystack.tool.description': CONTENT },
                      failed: true,
                    },
                  ],
                },
              ],
            },
          ],
        },
      ],
    },
  ],
  tools: [
    { name: 'get_weather', calls: 1 },
    { name: 'echo', server: 'everything', calls: 1, failed: 1 },
  ],
  agents: ['weather_agent'],
};
