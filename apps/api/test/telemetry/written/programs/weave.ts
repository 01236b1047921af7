import { CONTENT, type Program } from '../program.ts';

const IN_CONVERSATION = { 'gen_ai.conversation.id': 'conversation-1' };

function agent(name: string) {
  return {
    ...IN_CONVERSATION,
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.name': name,
    'gen_ai.request.model': 'default-model',
    'gen_ai.input.messages': CONTENT,
    'gen_ai.system_instructions': CONTENT,
  };
}

function chat(vendor: string, model: string) {
  return {
    name: `chat ${model}`,
    kind: 'client' as const,
    attributes: {
      ...IN_CONVERSATION,
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': vendor,
      'gen_ai.request.model': model,
      'gen_ai.input.messages': CONTENT,
      'gen_ai.output.messages': CONTENT,
      'gen_ai.usage.input_tokens': 21n,
      'gen_ai.usage.output_tokens': 8n,
      'gen_ai.usage.cache_read.input_tokens': 5n,
    },
  };
}

function tool(name: string, failed = false) {
  return {
    name: `execute_tool ${name}`,
    attributes: {
      ...IN_CONVERSATION,
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': name,
      'gen_ai.tool.call.id': `call_${name}`,
      'gen_ai.tool.call.arguments': CONTENT,
      'gen_ai.tool.call.result': CONTENT,
    },
    failed,
  };
}

export const weave: Program = {
  id: 'weave',
  framework: 'W&B Weave SDK for TypeScript',
  version: '2026',
  source: 'github.com/wandb/weave, sdks/node/src/genai/{turn,subagent,llm,tool}.ts',
  setUp: `\`\`\`js
await weave.init('team/project', { genai: { spanProcessor: new BatchSpanProcessor(new OTLPTraceExporter({
  url: "<Quartermaster's URL>/v1/traces", headers: { 'x-api-key': '<key>' } })) } });
\`\`\``,
  cannotKnow: ['The MCP server of a tool is not named.'],
  scope: 'weave-genai',
  spans: [
    {
      name: 'invoke_agent',
      kind: 'client',
      attributes: agent('weather_agent'),
      inside: [
        chat('openai', 'gpt-5-mini'),
        tool('get_weather'),
        tool('echo', true),
        { name: 'invoke_agent', attributes: agent('researcher'), inside: [chat('anthropic', 'claude-sonnet-5')] },
      ],
    },
  ],
  models: [
    { name: 'gpt-5-mini', vendor: 'openai', calls: 1, inputTokens: 21, outputTokens: 8 },
    { name: 'claude-sonnet-5', vendor: 'anthropic', calls: 1, inputTokens: 21, outputTokens: 8 },
  ],
  tools: [
    { name: 'get_weather', calls: 1 },
    { name: 'echo', server: 'everything', calls: 1, failed: 1 },
  ],
  agents: ['weather_agent', 'researcher'],
};
