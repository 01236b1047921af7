import { test } from 'vitest';
import { expectRead, type Row } from './genai-row.ts';

// Attributes that only OpenInference and OpenLLMetry use. docs/frameworks.md shows what they emit in practice.

const rows: { [name: string]: Row } = {
  'OpenInference: a model call': {
    attributes: {
      'openinference.span.kind': 'LLM',
      'llm.model_name': 'gpt-4o',
      'llm.provider': 'azure',
      'llm.system': 'openai',
      'llm.token_count.prompt': 10,
      'llm.token_count.completion': 15,
      'session.id': 'sess',
    },
    facts: {
      operation: 'chat',
      vendor: 'azure.ai.openai',
      model: 'gpt-4o',
      inputTokens: 10,
      outputTokens: 15,
      conversationId: 'sess',
    },
    uses: [{ kind: 'model', name: 'gpt-4o' }],
  },
  'OpenInference: an embedding': {
    attributes: { 'openinference.span.kind': 'EMBEDDING', 'embedding.model_name': 'ada' },
    facts: { operation: 'embeddings', model: 'ada' },
    uses: [{ kind: 'model', name: 'ada' }],
  },
  'OpenInference: a tool': {
    attributes: { 'openinference.span.kind': 'TOOL', 'tool.name': 'WeatherAPI', 'tool.parameters': '{}' },
    facts: { operation: 'execute_tool', tool: 'WeatherAPI' },
    uses: [{ kind: 'tool', name: 'WeatherAPI' }],
  },
  'OpenInference: an agent': {
    attributes: { 'openinference.span.kind': 'AGENT', 'agent.name': 'researcher' },
    facts: { operation: 'invoke_agent', agent: 'researcher' },
    uses: [{ kind: 'agent', name: 'researcher' }],
  },
  'OpenInference: a chain or an agent repeats the model that is called in it': {
    attributes: { 'openinference.span.kind': 'CHAIN', 'llm.model_name': 'gpt-4o' },
    facts: { model: 'gpt-4o' },
    uses: [],
  },
  "OpenInference of LangChain: a model call has its vendor and its agent in the run's metadata": {
    name: 'ChatGoogleGenerativeAI',
    kind: 'internal',
    attributes: {
      'openinference.span.kind': 'LLM',
      'llm.model_name': 'gemini-3-pro',
      metadata: '{"ls_provider":"google_genai","lc_agent_name":"planner","langgraph_node":"model_request"}',
    },
    facts: { operation: 'chat', vendor: 'gcp.gen_ai', model: 'gemini-3-pro', agent: 'planner' },
    uses: [{ kind: 'model', name: 'gemini-3-pro' }],
  },
  "OpenInference of LangChain: an agent's own span is the chain that is called like it": {
    name: 'planner',
    kind: 'internal',
    attributes: { 'openinference.span.kind': 'CHAIN', metadata: '{"lc_agent_name":"planner"}', 'session.id': 's' },
    facts: { operation: 'invoke_agent', agent: 'planner', conversationId: 's' },
    uses: [{ kind: 'agent', name: 'planner' }],
  },
  'OpenInference of LangChain: the steps of an agent count as nothing': {
    name: 'model_request',
    kind: 'internal',
    attributes: { 'openinference.span.kind': 'CHAIN', metadata: '{"lc_agent_name":"planner"}' },
    facts: { agent: 'planner' },
    uses: [],
  },
  'OpenLLMetry: a model call': {
    attributes: {
      'llm.request.type': 'completion',
      'gen_ai.system': 'Anthropic',
      'gen_ai.request.model': 'claude-2',
      'gen_ai.usage.prompt_tokens': 3,
      'gen_ai.usage.completion_tokens': 4,
      'traceloop.entity.name': 'not_a_name_of_this_span',
    },
    facts: {
      operation: 'text_completion',
      vendor: 'anthropic',
      model: 'claude-2',
      inputTokens: 3,
      outputTokens: 4,
    },
    uses: [{ kind: 'model', name: 'claude-2' }],
  },
  'OpenLLMetry: a tool': {
    attributes: { 'traceloop.span.kind': 'tool', 'traceloop.entity.name': 'search' },
    facts: { operation: 'execute_tool', tool: 'search' },
    uses: [{ kind: 'tool', name: 'search' }],
  },
  'OpenLLMetry: an agent': {
    attributes: { 'traceloop.span.kind': 'agent', 'traceloop.entity.name': 'planner' },
    facts: { operation: 'invoke_agent', agent: 'planner' },
    uses: [{ kind: 'agent', name: 'planner' }],
  },
  'OpenLLMetry: a workflow': {
    attributes: { 'traceloop.span.kind': 'workflow', 'traceloop.entity.name': 'joke' },
    facts: { operation: 'invoke_workflow', workflow: 'joke' },
    uses: [{ kind: 'agent', name: 'joke' }],
  },
  'OpenLLMetry: a conversation, which it calls a workflow, is no agent': {
    attributes: {
      'traceloop.span.kind': 'workflow',
      'traceloop.entity.name': 'conversation.c-1',
      'gen_ai.conversation.id': 'c-1',
    },
    facts: { operation: 'invoke_workflow', conversationId: 'c-1' },
    uses: [],
  },
  'OpenLLMetry: a tool in the name of an agent': {
    attributes: {
      'traceloop.span.kind': 'tool',
      'traceloop.entity.name': 'search',
      'gen_ai.agent.name': 'planner',
    },
    facts: { operation: 'execute_tool', tool: 'search', agent: 'planner' },
    uses: [{ kind: 'tool', name: 'search' }],
  },
};

test.each(Object.entries(rows))('%s', (_name, row) => expectRead(row));
