import { CONTENT, type Program } from '../program.ts';

/** What another coding agent does, which OpenHands runs by the Agent Client Protocol. */
function acp(type: string) {
  return {
    'lmnr.span.type': type,
    'lmnr.span.input': CONTENT,
    'lmnr.span.output': CONTENT,
    'lmnr.association.properties.metadata.agent_kind': 'acp',
    'lmnr.association.properties.metadata.acp_server': 'claude-code',
    'lmnr.association.properties.metadata.acp_model': 'claude-sonnet-5',
  };
}

function tool(name: string, failed = false) {
  const attributes = {
    'lmnr.span.type': 'TOOL',
    'lmnr.span.input': CONTENT,
    'lmnr.association.properties.metadata.tool_call_id': `call_${name}`,
  };
  return { name, attributes, failed };
}

export const openhands: Program = {
  id: 'openhands',
  framework: 'OpenHands',
  version: 'August 2026',
  source:
    'github.com/OpenHands/software-agent-sdk, openhands-sdk/openhands/sdk/{observability/laminar,agent/acp_tracing}.py',
  setUp: `\`\`\`sh
export OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=<Quartermaster's URL>/v1/traces
export OTEL_EXPORTER_OTLP_TRACES_HEADERS=x-api-key=<key>
export OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/protobuf
\`\`\``,
  cannotKnow: [
    'There are no agents. A tool is known by the class of its action only, and all tools of MCP servers are one.',
    'Of another coding agent that OpenHands runs, one turn is one call of the model, without tokens. The names of its own tools are not reported.',
  ],
  scope: 'lmnr.tracer',
  service: 'openhands',
  spans: [
    {
      name: 'conversation',
      attributes: { 'lmnr.span.type': 'DEFAULT' },
      inside: [
        {
          name: 'agent.step',
          attributes: { 'lmnr.span.type': 'DEFAULT', 'lmnr.span.input': CONTENT },
          inside: [
            {
              name: 'litellm.completion',
              kind: 'client',
              attributes: {
                'lmnr.span.type': 'LLM',
                'gen_ai.system': 'openai',
                'gen_ai.request.model': 'gpt-5-mini',
                'gen_ai.response.model': 'gpt-5-mini',
                'gen_ai.input.messages': CONTENT,
                'gen_ai.usage.input_tokens': 21n,
                'gen_ai.usage.output_tokens': 8n,
              },
            },
            tool('TerminalAction', true),
            {
              ...tool('MCPToolAction'),
              inside: [{ name: 'MCPToolExecutor.call_tool', attributes: { 'lmnr.span.type': 'TOOL' } }],
            },
          ],
        },
      ],
    },
    {
      name: 'acp_agent.step',
      attributes: { 'lmnr.span.type': 'DEFAULT' },
      inside: [
        {
          name: 'acp.completion',
          attributes: acp('LLM'),
          inside: [
            { name: 'Read src/main.ts', attributes: acp('TOOL') },
            { name: '`ls -la`', attributes: acp('TOOL') },
            { name: 'mcp__everything__echo', attributes: acp('TOOL') },
          ],
        },
      ],
    },
  ],
  models: [
    { name: 'gpt-5-mini', vendor: 'openai', calls: 1, inputTokens: 21, outputTokens: 8 },
    { name: 'claude-sonnet-5', vendor: 'anthropic', calls: 1, inputTokens: 0, outputTokens: 0 },
  ],
  tools: [
    { name: 'TerminalAction', calls: 1, failed: 1 },
    { name: 'MCPToolAction', calls: 1 },
    { name: 'echo', server: 'everything', calls: 1 },
  ],
};
