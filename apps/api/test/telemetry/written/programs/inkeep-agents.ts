import { CONTENT, type Program } from '../program.ts';

type Spans = NonNullable<Program['spans']>;
type OneSpan = Spans[number];

function generation(agent: string, inside: Spans): OneSpan {
  return {
    name: 'agent.generate',
    attributes: {
      'subAgent.id': agent,
      'subAgent.name': 'Weather helper',
      'agent.id': 'weather-graph',
      'agent.name': 'Weather Graph',
      'conversation.id': 'c1',
    },
    inside: [
      { name: 'agent.load_tools', attributes: { 'subAgent.name': 'Weather helper', 'subAgent.id': agent } },
      outer('ai.streamText', agent, 'sub_agent_generation', inside),
    ],
  };
}

function modelCall(operation: string, functionId: string, purpose: string) {
  return {
    'operation.name': `${operation} ${functionId}`,
    'resource.name': functionId,
    'ai.operationId': operation,
    'ai.telemetry.functionId': functionId,
    'ai.model.id': 'gpt-5-mini',
    'ai.model.provider': 'openai.responses',
    'ai.telemetry.metadata.generationType': purpose,
  };
}

function outer(operation: string, functionId: string, purpose: string, inside: Spans): OneSpan {
  return {
    scope: 'ai',
    name: operation,
    attributes: {
      ...modelCall(operation, functionId, purpose),
      'ai.prompt': CONTENT,
      'ai.response.text': CONTENT,
    },
    inside,
  };
}

function answer(operation: string, functionId: string, purpose: string): OneSpan {
  return {
    scope: 'ai',
    name: operation,
    attributes: {
      ...modelCall(operation, functionId, purpose),
      'ai.response.model': 'gpt-5-mini',
      'ai.prompt.messages': CONTENT,
      'ai.response.text': CONTENT,
      'ai.usage.inputTokens': 21n,
      'ai.usage.outputTokens': 8n,
      'gen_ai.system': 'openai.responses',
      'gen_ai.request.model': 'gpt-5-mini',
      'gen_ai.response.model': 'gpt-5-mini',
      'gen_ai.usage.input_tokens': 21n,
      'gen_ai.usage.output_tokens': 8n,
    },
  };
}

function toolCall(
  tool: string,
  agent: string,
  { type, server, failed, inside }: { type: string; server?: string; failed?: true; inside?: Spans },
): OneSpan {
  return {
    scope: 'ai',
    name: 'ai.toolCall',
    attributes: {
      'operation.name': `ai.toolCall ${agent}`,
      'resource.name': agent,
      'ai.operationId': 'ai.toolCall',
      'ai.telemetry.functionId': agent,
      'ai.toolCall.name': tool,
      'ai.toolCall.id': `call_${tool}`,
      'ai.toolCall.args': CONTENT,
      'ai.toolCall.result': CONTENT,
      'conversation.id': 'c1',
      'tool.purpose': CONTENT,
      'ai.toolType': type,
      'subAgent.name': 'Weather helper',
      'subAgent.id': agent,
      'agent.id': 'weather-graph',
      ...(server !== undefined && {
        'ai.toolCall.mcpServerId': `id-of-${server}`,
        'ai.toolCall.mcpServerName': server,
      }),
    },
    ...(failed && { failed }),
    ...(inside && { inside }),
  };
}

function ofTheSession(functionId: string, purpose: string): OneSpan {
  return outer('ai.generateText', functionId, purpose, [answer('ai.generateText.doGenerate', functionId, purpose)]);
}

const APPROVAL = {
  'tool.name': 'get-sum',
  'tool.callId': 'call_get-sum',
  'subAgent.id': 'router',
  'subAgent.name': 'Weather helper',
  'conversation.id': 'c1',
};

export const inkeepAgents: Program = {
  id: 'inkeep-agents',
  framework: 'Inkeep Agents',
  version: 'August 2026',
  source:
    'github.com/inkeep/agents, agents-api/src/domains/run/agents/{generation,tools}, agents-api/src/domains/run/session/AgentSession.ts, with ai 6',
  setUp: `\`\`\`sh
export OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=<Quartermaster's URL>/v1/traces OTEL_EXPORTER_OTLP_TRACES_HEADERS=x-api-key=<key>
\`\`\``,
  scope: 'agents-run-api',
  service: 'inkeep-agents-api',
  spans: [
    {
      name: 'execution_handler.execute',
      inside: [
        generation('router', [
          answer('ai.streamText.doStream', 'router', 'sub_agent_generation'),
          toolCall('get_weather', 'router', { type: 'tool' }),
          toolCall('echo', 'router', { type: 'mcp', server: 'everything', failed: true }),
          toolCall('get-sum', 'router', {
            type: 'mcp',
            server: 'everything',
            inside: [
              { name: 'tool.approval_requested', attributes: APPROVAL },
              { name: 'tool.approval_approved', attributes: APPROVAL },
            ],
          }),
          toolCall('delegate_to_forecaster', 'router', {
            type: 'delegation',
            inside: [
              generation('forecaster', [answer('ai.streamText.doStream', 'forecaster', 'sub_agent_generation')]),
            ],
          }),
          toolCall('transfer_to_closer', 'router', { type: 'transfer' }),
        ]),
        generation('closer', [answer('ai.streamText.doStream', 'closer', 'sub_agent_generation')]),
        {
          name: 'agent_session.generate_structured_update',
          attributes: { 'agent_session.id': 'session-1', 'events.count': 3n, 'llm.model': 'openai/gpt-5-mini' },
          inside: [ofTheSession('structured_update_session-1', 'status_update')],
        },
        {
          name: 'agent_session.generate_artifact_metadata',
          attributes: {
            'llm.model': 'openai/gpt-5-mini',
            'llm.operation': 'generate_object',
            'artifact.summary': CONTENT,
            'artifact.full': CONTENT,
          },
          inside: [ofTheSession('artifact_processing_artifact-1', 'artifact_metadata')],
        },
      ],
    },
  ],
  models: [{ name: 'gpt-5-mini', vendor: 'openai', calls: 5, failed: 0, inputTokens: 105, outputTokens: 40 }],
  tools: [
    { name: 'get_weather', calls: 1 },
    { name: 'echo', server: 'everything', calls: 1, failed: 1 },
    { name: 'get-sum', server: 'everything', calls: 1 },
  ],
  agents: ['router', 'forecaster', 'closer'],
};
