import { CONTENT, type Program } from '../program.ts';

const CHAT = {
  'gen_ai.operation.name': 'chat',
  'gen_ai.provider.name': 'openai',
  'gen_ai.request.model': 'openai/gpt-5-mini',
  'gen_ai.response.model': 'openai/gpt-5-mini',
  'gen_ai.input.messages': CONTENT,
  'gen_ai.output.messages': CONTENT,
  'gen_ai.usage.input_tokens': 21n,
  'gen_ai.usage.output_tokens': 8n,
};

/** The name of a task's span is the description of the task, and `invoke_agent` is the operation of crews and tasks as well. */
export const crewaiOpenllmetry: Program = {
  id: 'crewai-openllmetry',
  framework: 'CrewAI with OpenLLMetry',
  version: 'June 2026',
  source: 'github.com/traceloop/openllmetry, packages/opentelemetry-instrumentation-crewai',
  setUp: `\`\`\`python
# pip install traceloop-sdk
from traceloop.sdk import Traceloop

Traceloop.init(app_name="<service>", api_endpoint="<Quartermaster's URL>", headers={"x-api-key": "<key>"})
\`\`\``,
  cannotKnow: ['Tools have no spans.'],
  scope: 'opentelemetry.instrumentation.crewai',
  spans: [
    {
      name: 'crewai.workflow',
      attributes: {
        'gen_ai.provider.name': 'crewai',
        'gen_ai.operation.name': 'invoke_agent',
        'crewai.crew.agents': CONTENT,
        'crewai.crew.tasks_output': CONTENT,
        'crewai.crew.result': CONTENT,
      },
      inside: [
        {
          name: `what is the weather, ${CONTENT}?.task`,
          attributes: {
            'traceloop.span.kind': 'task',
            'gen_ai.provider.name': 'crewai',
            'gen_ai.operation.name': 'invoke_agent',
            'crewai.task.description': CONTENT,
            'traceloop.entity.output': CONTENT,
          },
          inside: [
            {
              name: 'Weather Analyst.agent',
              attributes: {
                'traceloop.span.kind': 'agent',
                'gen_ai.provider.name': 'crewai',
                'gen_ai.operation.name': 'invoke_agent',
                'gen_ai.agent.name': 'Weather Analyst',
                'gen_ai.agent.id': '5',
                'crewai.agent.goal': CONTENT,
                'crewai.agent.backstory': CONTENT,
                'gen_ai.request.model': 'openai/gpt-5-mini',
                'gen_ai.response.model': 'openai/gpt-5-mini',
                'gen_ai.usage.input_tokens': 42n,
                'gen_ai.usage.output_tokens': 16n,
              },
              inside: [
                { name: 'openai/gpt-5-mini.llm', kind: 'client', attributes: CHAT },
                { name: 'openai/gpt-5-mini.llm', kind: 'client', attributes: CHAT },
                {
                  name: 'openai/gpt-5-mini.llm',
                  kind: 'client',
                  attributes: {
                    'gen_ai.operation.name': 'chat',
                    'gen_ai.provider.name': 'openai',
                    'gen_ai.request.model': 'openai/gpt-5-mini',
                  },
                  failed: true,
                },
              ],
            },
          ],
        },
      ],
    },
  ],
  models: [{ name: 'gpt-5-mini', vendor: 'openai', calls: 3, failed: 1, inputTokens: 42, outputTokens: 16 }],
  agents: ['Weather Analyst'],
};

/** The spans of tasks and crews come from CrewAI's instrumentation, those of models from LiteLLM's. */
export const crewaiOpeninference: Program = {
  id: 'crewai-openinference',
  framework: 'CrewAI with OpenInference',
  version: 'August 2026',
  source:
    'github.com/Arize-ai/openinference, python/instrumentation/openinference-instrumentation-{crewai,litellm}/src',
  setUp: `\`\`\`python
# pip install openinference-instrumentation-crewai openinference-instrumentation-litellm opentelemetry-exporter-otlp-proto-http
# OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key> OTEL_SERVICE_NAME=<service>
from openinference.instrumentation.crewai import CrewAIInstrumentor
from openinference.instrumentation.litellm import LiteLLMInstrumentor
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
CrewAIInstrumentor().instrument(tracer_provider=provider)
LiteLLMInstrumentor().instrument(tracer_provider=provider)
\`\`\``,
  cannotKnow: ['An agent is named by its role.', 'No span names the MCP server of a tool.'],
  scope: 'openinference.instrumentation.crewai',
  spans: [
    {
      name: 'Crew_9b1f.kickoff',
      attributes: {
        'openinference.span.kind': 'CHAIN',
        crew_key: 'k',
        crew_id: 'i',
        crew_inputs: CONTENT,
        crew_agents: CONTENT,
        crew_tasks: CONTENT,
        'output.value': CONTENT,
      },
      inside: [
        {
          name: 'Weather Analyst._execute_core',
          attributes: {
            'openinference.span.kind': 'AGENT',
            'graph.node.id': 'Weather Analyst',
            task_key: 'k',
            task_id: 'i',
            formatted_description: CONTENT,
            formatted_expected_output: CONTENT,
            'input.value': CONTENT,
          },
          inside: [
            {
              scope: 'openinference.instrumentation.litellm',
              name: 'completion',
              attributes: {
                'openinference.span.kind': 'LLM',
                'llm.model_name': 'openai/gpt-5-mini',
                'llm.provider': 'openai',
                'llm.input_messages.0.message.content': CONTENT,
                'llm.output_messages.0.message.tool_calls.0.tool_call.function.name': 'get_weather',
                'llm.invocation_parameters': CONTENT,
                'llm.token_count.prompt': 21n,
                'llm.token_count.completion': 8n,
              },
            },
            {
              name: 'get_weather.run',
              attributes: {
                'openinference.span.kind': 'TOOL',
                'tool.name': 'get_weather',
                'tool.description': CONTENT,
                'tool.parameters': CONTENT,
                'input.value': CONTENT,
                'output.value': CONTENT,
              },
            },
            {
              name: 'echo.run',
              attributes: { 'openinference.span.kind': 'TOOL', 'tool.name': 'echo', 'tool.description': CONTENT },
              events: [{ name: 'exception', attributes: { 'exception.message': CONTENT } }],
              failed: true,
            },
          ],
        },
      ],
    },
  ],
  models: [{ name: 'gpt-5-mini', vendor: 'openai', calls: 1, inputTokens: 21, outputTokens: 8 }],
  tools: [
    { name: 'get_weather', calls: 1 },
    { name: 'echo', server: 'everything', calls: 1, failed: 1 },
  ],
  agents: ['Weather Analyst'],
};

const OPENLIT = {
  'gen_ai.provider.name': 'crewai',
  'gen_ai.request.model': 'gpt-5-mini',
  'server.address': 'api.openai.com',
  'server.port': 443n,
  'telemetry.sdk.name': 'openlit',
  'deployment.environment': 'default',
  'service.name': 'weather-service',
};

/** OpenLIT repeats model, address and the sum of the tokens on the spans of crews and tasks. */
export const crewaiOpenlit: Program = {
  id: 'crewai-openlit',
  framework: 'CrewAI with OpenLIT',
  version: 'August 2026',
  source: 'github.com/openlit/openlit, sdk/python/src/openlit/instrumentation/crewai',
  setUp: `\`\`\`python
# pip install openlit
import openlit

openlit.init(application_name="<service>", otlp_endpoint="<Quartermaster's URL>", otlp_headers={"x-api-key": "<key>"})
\`\`\``,
  cannotKnow: ['An agent is named by its role.', 'No span names the MCP server of a tool.'],
  scope: 'openlit.instrumentation.crewai',
  spans: [
    {
      name: 'create_agent Weather Analyst',
      kind: 'client',
      attributes: {
        'gen_ai.operation.name': 'create_agent',
        'gen_ai.provider.name': 'crewai',
        'gen_ai.agent.name': 'Weather Analyst',
        'gen_ai.agent.description': CONTENT,
        'gen_ai.system_instructions': CONTENT,
      },
    },
    {
      name: 'invoke_workflow weather_crew',
      attributes: {
        ...OPENLIT,
        'gen_ai.operation.name': 'invoke_workflow',
        'gen_ai.workflow.name': 'weather_crew',
        'gen_ai.crewai.crew.agents': CONTENT,
        'gen_ai.usage.input_tokens': 21n,
        'gen_ai.usage.output_tokens': 8n,
      },
      inside: [
        {
          name: 'invoke_agent Weather Analyst',
          attributes: {
            ...OPENLIT,
            'gen_ai.operation.name': 'invoke_agent',
            'gen_ai.agent.name': 'Weather Analyst',
            'gen_ai.agent.description': CONTENT,
            'gen_ai.input.messages': CONTENT,
          },
          inside: [
            {
              scope: 'openlit.instrumentation.openai',
              name: 'chat gpt-5-mini',
              kind: 'client',
              attributes: {
                'gen_ai.operation.name': 'chat',
                'gen_ai.provider.name': 'openai',
                'gen_ai.request.model': 'gpt-5-mini',
                'gen_ai.response.model': 'gpt-5-mini',
                'server.address': 'api.openai.com',
                'gen_ai.usage.input_tokens': 21n,
                'gen_ai.usage.output_tokens': 8n,
                'gen_ai.tool.name': 'get_weather',
                'gen_ai.tool.call.arguments': CONTENT,
              },
            },
            {
              name: 'execute_tool get_weather',
              attributes: {
                ...OPENLIT,
                'gen_ai.operation.name': 'execute_tool',
                'gen_ai.tool.name': 'get_weather',
                'gen_ai.tool.type': 'function',
                'gen_ai.tool.description': CONTENT,
                'gen_ai.tool.call.result': CONTENT,
              },
            },
          ],
        },
      ],
    },
  ],
  models: [{ name: 'gpt-5-mini', vendor: 'openai', calls: 1, inputTokens: 21, outputTokens: 8 }],
  tools: [{ name: 'get_weather', calls: 1 }],
  agents: ['Weather Analyst', 'weather_crew'],
};
