import type { Dialect } from '../reading/dialect.ts';
import { DELEGATE } from '../reading/operations.ts';

const STEP = /^(?:tool\.(?:lookup|gateway_call|post_process)|mcp\.client\.(?:request|response))$/;

/**
 * ContextForge, IBM's gateway (github.com/IBM/mcp-context-forge, mcpgateway/services/tool_service.py, a2a_service.py and
 * llm_proxy_service.py). A call of a tool is `tool.invoke`, with a span for each of its steps. The request to an MCP server is
 * inside it, under the name that the server gives to the tool. Only this request counts then.
 */
export const contextforge: Dialect = {
  name: 'contextforge',
  scopes: ['mcp-gateway'],
  signature: ['contextforge.*'],
  attributes: { agent: ['a2a.agent.name'] },
  safe: [
    'tool.id',
    'tool.integration_type',
    'tool.gateway_id',
    'contextforge.tool.id',
    'contextforge.gateway_id',
    'contextforge.runtime',
    'contextforge.transport',
    'a2a.agent.id',
    'a2a.agent.type',
  ],
  alsoReads: ['tool.name', 'tool.integration_type'],
  refine({ name, attributes }, facts) {
    if (STEP.test(name)) facts.tool = null;
    if (name === 'a2a.invoke') facts.operation = 'invoke_agent';
    const { 'tool.name': tool, 'tool.integration_type': type } = attributes;
    if (name !== 'tool.invoke' || typeof tool !== 'string' || type === 'MCP') return;
    facts.tool = tool;
    // A tool of the type A2A calls an agent.
    facts.operation = type === 'A2A' ? DELEGATE : 'execute_tool';
  },
};
