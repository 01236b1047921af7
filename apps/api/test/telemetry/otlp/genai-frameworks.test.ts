import { test } from 'vitest';
import { expectRead, type Row } from './genai-row.ts';

// What OpenInference and OpenLLMetry say in names of their own. docs/instrumentations.md has what they emit in practice.

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
    genAi: {
      operation: 'chat',
      provider: 'azure.ai.openai',
      model: 'gpt-4o',
      inputTokens: 10,
      outputTokens: 15,
      conversationId: 'sess',
    },
    subjects: [{ kind: 'model', name: 'gpt-4o' }],
  },
  'OpenInference: an embedding': {
    attributes: { 'openinference.span.kind': 'EMBEDDING', 'embedding.model_name': 'ada' },
    genAi: { operation: 'embeddings', model: 'ada' },
    subjects: [{ kind: 'model', name: 'ada' }],
  },
  'OpenInference: a tool': {
    attributes: { 'openinference.span.kind': 'TOOL', 'tool.name': 'WeatherAPI', 'tool.parameters': '{}' },
    genAi: { operation: 'execute_tool', tool: 'WeatherAPI' },
    subjects: [{ kind: 'tool', name: 'WeatherAPI' }],
  },
  'OpenInference: an agent': {
    attributes: { 'openinference.span.kind': 'AGENT', 'agent.name': 'researcher' },
    genAi: { operation: 'invoke_agent', agent: 'researcher' },
    subjects: [{ kind: 'agent', name: 'researcher' }],
  },
  'OpenInference: a chain or an agent repeats the model that is called in it': {
    attributes: { 'openinference.span.kind': 'CHAIN', 'llm.model_name': 'gpt-4o' },
    genAi: { model: 'gpt-4o' },
    subjects: [],
  },
  "OpenInference of LangChain: a model call has its vendor and its agent in the run's metadata": {
    name: 'ChatGoogleGenerativeAI',
    kind: 'internal',
    attributes: {
      'openinference.span.kind': 'LLM',
      'llm.model_name': 'gemini-3-pro',
      metadata: '{"ls_provider":"google_genai","lc_agent_name":"planner","langgraph_node":"model_request"}',
    },
    genAi: { operation: 'chat', provider: 'gcp.gen_ai', model: 'gemini-3-pro', agent: 'planner' },
    subjects: [{ kind: 'model', name: 'gemini-3-pro' }],
  },
  "OpenInference of LangChain: an agent's own span is the chain that is called like it": {
    name: 'planner',
    kind: 'internal',
    attributes: { 'openinference.span.kind': 'CHAIN', metadata: '{"lc_agent_name":"planner"}', 'session.id': 's' },
    genAi: { operation: 'invoke_agent', agent: 'planner', conversationId: 's' },
    subjects: [{ kind: 'agent', name: 'planner' }],
  },
  'OpenInference of LangChain: the steps of an agent count as nothing': {
    name: 'model_request',
    kind: 'internal',
    attributes: { 'openinference.span.kind': 'CHAIN', metadata: '{"lc_agent_name":"planner"}' },
    genAi: { agent: 'planner' },
    subjects: [],
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
    genAi: {
      operation: 'text_completion',
      provider: 'anthropic',
      model: 'claude-2',
      inputTokens: 3,
      outputTokens: 4,
    },
    subjects: [{ kind: 'model', name: 'claude-2' }],
  },
  'OpenLLMetry: a tool': {
    attributes: { 'traceloop.span.kind': 'tool', 'traceloop.entity.name': 'search' },
    genAi: { operation: 'execute_tool', tool: 'search' },
    subjects: [{ kind: 'tool', name: 'search' }],
  },
  'OpenLLMetry: an agent': {
    attributes: { 'traceloop.span.kind': 'agent', 'traceloop.entity.name': 'planner' },
    genAi: { operation: 'invoke_agent', agent: 'planner' },
    subjects: [{ kind: 'agent', name: 'planner' }],
  },
  'OpenLLMetry: a workflow': {
    attributes: { 'traceloop.span.kind': 'workflow', 'traceloop.entity.name': 'joke' },
    genAi: { operation: 'invoke_workflow', workflow: 'joke' },
    subjects: [{ kind: 'agent', name: 'joke' }],
  },
  'OpenLLMetry: a conversation, which it calls a workflow, is no agent': {
    attributes: {
      'traceloop.span.kind': 'workflow',
      'traceloop.entity.name': 'conversation.c-1',
      'gen_ai.conversation.id': 'c-1',
    },
    genAi: { operation: 'invoke_workflow', conversationId: 'c-1' },
    subjects: [],
  },
  'OpenLLMetry: a tool in the name of an agent': {
    attributes: {
      'traceloop.span.kind': 'tool',
      'traceloop.entity.name': 'search',
      'gen_ai.agent.name': 'planner',
    },
    genAi: { operation: 'execute_tool', tool: 'search', agent: 'planner' },
    subjects: [{ kind: 'tool', name: 'search' }],
  },
};

test.each(Object.entries(rows))('%s', (_name, row) => expectRead(row));
