import type { Use } from './company-types.ts';
import type { Random } from './random.ts';

/** One operation of a trace, with what it called. */
export type Step = {
  name: string;
  kind: 'internal' | 'client';
  attributes: Record<string, string | number>;
  /** Its own time, without that of its children. */
  durationMs: number;
  error?: { type: string; message: string };
  children: Step[];
};

/** The items that an agent's next step uses. */
export type Calls = { random: Random; model(): Use; tool(): Use; addressOf(use: Use): Record<string, string | number> };

/** One call of a model. */
export function chat({ random, addressOf }: Calls, use: Use): Step {
  const operation = use.name.includes('embedding') ? 'embeddings' : 'chat';
  return {
    name: `${operation} ${use.name}`,
    kind: 'client',
    durationMs: random.integer(300, 4000),
    attributes: {
      'gen_ai.operation.name': operation,
      'gen_ai.request.model': use.name,
      'gen_ai.usage.input_tokens': random.integer(200, 9000),
      'gen_ai.usage.output_tokens': random.integer(20, 900),
      ...addressOf(use),
    },
    children: [],
  };
}

/** One call of a tool, a prompt or a resource at its MCP server, or of an agent elsewhere. */
export function callTool({ random, addressOf }: Calls, use: Use): Step {
  if (use.kind === 'agent') return { ...agent(use.name, [], addressOf(use)), kind: 'client' };
  const { method, attributes } = mcpRequest(use);
  return {
    name: `${method} ${use.name}`,
    kind: 'client',
    durationMs: random.integer(20, 900),
    attributes: { 'mcp.method.name': method, ...attributes, ...addressOf(use) },
    children: [],
  };
}

function mcpRequest({ kind, name }: Use): { method: string; attributes: Step['attributes'] } {
  if (kind === 'prompt') return { method: 'prompts/get', attributes: { 'gen_ai.prompt.name': name } };
  if (kind === 'resource') return { method: 'resources/read', attributes: { 'mcp.resource.uri': name } };
  const attributes = { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': name };
  return { method: 'tools/call', attributes };
}

/** One call of a function of the agent's own program. */
export function callFunction({ random }: Calls, name: string): Step {
  return {
    name: `execute_tool ${name}`,
    kind: 'internal',
    durationMs: random.integer(1, 120),
    attributes: { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': name },
    children: [],
  };
}

export function agent(name: string, children: Step[], attributes: Step['attributes'] = {}): Step {
  return {
    name: `invoke_agent ${name}`,
    kind: 'internal',
    durationMs: 12,
    attributes: { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': name, ...attributes },
    children,
  };
}

/** A model that calls tools until it has an answer. */
export function agentLoop(calls: Calls, name: string, { rounds, more = [] }: { rounds: number; more?: Step[] }): Step {
  const children: Step[] = [];
  for (let round = 0; round < rounds; round += 1) {
    children.push(chat(calls, calls.model()), callTool(calls, calls.tool()));
  }
  return agent(name, [...children, ...more, chat(calls, calls.model())]);
}

/** A planner that hands parts of its work to other agents, one of which calls another. */
export function handOff(calls: Calls, name: string): Step {
  const writer = agentLoop(calls, `${name}-writer`, { rounds: 1 });
  const researcher = agentLoop(calls, `${name}-researcher`, { rounds: 2, more: [writer] });
  const reviewer = agentLoop(calls, `${name}-reviewer`, { rounds: 1 });
  return agent(name, [chat(calls, calls.model()), researcher, reviewer, chat(calls, calls.model())]);
}

/** About a thousand spans: a nightly job that processes one record after the other. */
export function longRun(calls: Calls, name: string): Step {
  const rounds = 333;
  const children = Array.from({ length: rounds }, () =>
    agent(`${name}-worker`, [chat(calls, calls.model()), callTool(calls, calls.tool())]),
  );
  return agent(name, children);
}

/** A run that ends in the error of a tool. */
export function failedRun(calls: Calls, name: string): Step {
  const error = calls.random.pick([
    { type: 'timeout', message: 'The tool did not answer in time.' },
    { type: '403', message: 'The tool refused the request.' },
    { type: 'invalid_arguments', message: 'The arguments do not match the schema.' },
  ]);
  const failed = { ...callTool(calls, calls.tool()), error };
  return { ...agent(name, [chat(calls, calls.model()), failed]), error };
}

/** A model that is overloaded, and answers the third attempt. */
export function retriedChat(calls: Calls, name: string): Step {
  const use = calls.model();
  const overloaded = { type: '429', message: 'Too many requests' };
  const attempt = (retry: number): Step => {
    const step = chat(calls, use);
    return { ...step, attributes: { ...step.attributes, 'http.request.resend_count': retry } };
  };
  return agent(name, [{ ...attempt(0), error: overloaded }, { ...attempt(1), error: overloaded }, attempt(2)]);
}
