import { CONTENT, type Program } from '../program.ts';

/** `gen_ai.system` is the framework. A tool's span names it twice. */
export const agentops: Program = {
  id: 'agentops',
  framework: 'Agno with AgentOps',
  version: 'March 2026',
  source: 'github.com/AgentOps-AI/agentops, agentops/instrumentation/agentic/agno, agentops/semconv',
  setUp: `\`\`\`python
# pip install agentops
import agentops

agentops.init(exporter_endpoint="<Quartermaster's URL>/v1/traces", trace_name="<service>")
\`\`\`

AgentOps sends its own credentials: put a collector that adds the header \`x-api-key\` between.`,
  cannotKnow: ['No span names the MCP server of a tool.'],
  scope: 'agentops.instrumentation.agno',
  spans: [
    {
      name: 'weather_agent.agno.agent.run.agent',
      attributes: {
        'agentops.span.kind': 'agent',
        'gen_ai.system': 'agno',
        'agent.name': 'weather_agent',
        'agent.display_name': CONTENT,
        'agent.instruction': CONTENT,
        'agent.input': CONTENT,
        'agent.output': CONTENT,
        'gen_ai.request.model': 'gpt-5-mini',
      },
      inside: [
        {
          name: 'gpt-5-mini.llm',
          attributes: {
            'agentops.span.kind': 'llm',
            'gen_ai.system': 'agno',
            'gen_ai.request.model': 'gpt-5-mini',
            'gen_ai.response.model': 'gpt-5-mini',
            'gen_ai.prompt.0.content': CONTENT,
            'gen_ai.completion.0.content': CONTENT,
            'gen_ai.usage.prompt_tokens': 21n,
            'gen_ai.usage.completion_tokens': 8n,
          },
        },
        {
          name: 'agno.tool.execute.tool_usage',
          attributes: {
            'agentops.span.kind': 'tool',
            'gen_ai.system': 'agno',
            'agentops.entity.name': 'tool',
            'tool.name': 'get_weather',
            'tool.function_name': 'get_weather',
            'tool.description': CONTENT,
            'tool.parameters': CONTENT,
            'tool.result': CONTENT,
          },
        },
        {
          name: 'agno.tool.execute.tool_usage',
          attributes: { 'agentops.span.kind': 'tool', 'tool.name': 'echo', 'tool.status': 'error' },
          failed: true,
        },
      ],
    },
  ],
  models: [{ name: 'gpt-5-mini', vendor: 'openai', calls: 1, inputTokens: 21, outputTokens: 8 }],
  tools: [
    { name: 'get_weather', calls: 1 },
    { name: 'echo', server: 'everything', calls: 1, failed: 1 },
  ],
  agents: ['weather_agent'],
};

/** A program marks its own spans. The spans of models follow OpenTelemetry's older names. */
export const laminar: Program = {
  id: 'laminar',
  framework: 'Laminar',
  version: 'August 2026',
  source: 'github.com/lmnr-ai/lmnr-python, src/lmnr/sdk/{laminar,decorators}.py',
  setUp: `\`\`\`python
# pip install lmnr[openai]
from lmnr import Laminar

Laminar.initialize(base_url="<Quartermaster's URL>", project_api_key="<key>")
\`\`\`

Laminar sends its key as a bearer token: put a collector that adds the header \`x-api-key\` between.`,
  cannotKnow: [
    'There are no agents.',
    'A tool is known by the name of its span only, and its MCP server is not named.',
  ],
  scope: 'lmnr.tracer',
  spans: [
    {
      name: 'answer',
      attributes: {
        'lmnr.span.type': 'DEFAULT',
        'lmnr.span.path': ['answer'],
        'lmnr.span.input': CONTENT,
        'lmnr.span.output': CONTENT,
        'lmnr.association.properties.metadata.note': CONTENT,
      },
      inside: [
        {
          scope: 'lmnr.opentelemetry_lib.opentelemetry.instrumentation.openai',
          name: 'openai.chat',
          kind: 'client',
          attributes: {
            'lmnr.span.path': ['answer', 'openai.chat'],
            'gen_ai.system': 'openai',
            'gen_ai.request.model': 'gpt-5-mini',
            'gen_ai.response.model': 'gpt-5-mini-2026-01-01',
            'gen_ai.input.messages': CONTENT,
            'lmnr.sdk.raw.response': CONTENT,
            'gen_ai.usage.input_tokens': 21n,
            'gen_ai.usage.output_tokens': 8n,
          },
        },
        { name: 'get_weather', attributes: { 'lmnr.span.type': 'TOOL', 'lmnr.span.input': CONTENT } },
        {
          name: 'my_model_call',
          attributes: {
            'lmnr.span.type': 'LLM',
            'gen_ai.system': 'anthropic',
            'gen_ai.request.model': 'claude-sonnet-5',
            'gen_ai.usage.input_tokens': 5n,
            'gen_ai.usage.output_tokens': 2n,
          },
        },
      ],
    },
  ],
  models: [
    { name: 'gpt-5-mini', vendor: 'openai', calls: 1, inputTokens: 21, outputTokens: 8 },
    { name: 'claude-sonnet-5', vendor: 'anthropic', calls: 1, inputTokens: 5, outputTokens: 2 },
  ],
  tools: [{ name: 'get_weather', calls: 1 }],
};
