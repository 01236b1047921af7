import { expect, test } from 'vitest';
import { readSpan } from '../../../src/telemetry/frameworks/read.ts';
import type { Attributes } from '../../../src/telemetry/otlp/span.ts';
import { source } from '../reading/source.ts';

/**
 * Spans of frameworks whose packages do not run here. They are not recorded, but written by hand after the published sources
 * that the dialects name.
 */
type Row = [
  string,
  { scope: string; name: string; attributes: Attributes },
  { dialect: string | null; uses: string[] },
];

const ROWS: Row[] = [
  [
    'Pydantic AI, version 2: an agent',
    {
      scope: 'pydantic-ai',
      name: 'agent run',
      attributes: { agent_name: 'weather_agent', model_name: 'gpt-5-mini', 'gen_ai.usage.input_tokens': 63 },
    },
    { dialect: 'pydantic-ai', uses: ['agent weather_agent'] },
  ],
  [
    'Pydantic AI, version 2: a tool',
    {
      scope: 'pydantic-ai',
      name: 'running tool',
      attributes: { 'gen_ai.tool.name': 'get_weather', 'gen_ai.tool.call.id': 'call_1', tool_arguments: '{}' },
    },
    { dialect: 'pydantic-ai', uses: ['tool get_weather'] },
  ],
  [
    'Pydantic AI, version 2: an output function is not a tool',
    { scope: 'pydantic-ai', name: 'running output function', attributes: { 'gen_ai.tool.name': 'final_result' } },
    { dialect: 'pydantic-ai', uses: [] },
  ],
  [
    'Pydantic AI, version 5: an agent',
    {
      scope: 'pydantic-ai',
      name: 'invoke_agent weather_agent',
      attributes: { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'weather_agent' },
    },
    { dialect: 'pydantic-ai', uses: ['agent weather_agent'] },
  ],
  [
    'Pydantic AI: a chat',
    {
      scope: 'pydantic-ai',
      name: 'chat gpt-5-mini',
      attributes: {
        'gen_ai.operation.name': 'chat',
        'gen_ai.system': 'openai',
        'gen_ai.request.model': 'gpt-5-mini',
        'gen_ai.agent.name': 'weather_agent',
      },
    },
    { dialect: 'pydantic-ai', uses: ['model openai/gpt-5-mini'] },
  ],
  [
    'Logfire: an agent of OpenAI Agents',
    {
      scope: 'logfire.openai_agents',
      name: 'Agent run: {name!r}',
      attributes: { name: 'weather_agent', 'gen_ai.system': 'openai' },
    },
    { dialect: 'logfire', uses: ['agent weather_agent'] },
  ],
  [
    'Logfire: an MCP tool of OpenAI Agents',
    {
      scope: 'logfire.openai_agents',
      name: 'Function: {name}',
      attributes: { name: 'echo', mcp_data: '{"server":"everything"}', 'gen_ai.system': 'openai' },
    },
    { dialect: 'logfire', uses: ['tool everything/echo'] },
  ],
  [
    'Logfire: a handoff of OpenAI Agents',
    {
      scope: 'logfire.openai_agents',
      name: 'Handoff: {from_agent} → {to_agent}',
      attributes: { from_agent: 'weather_agent', to_agent: 'umbrella_agent', 'gen_ai.system': 'openai' },
    },
    { dialect: 'logfire', uses: [] },
  ],
  [
    'Logfire: the client of MCP',
    {
      scope: 'logfire.mcp',
      name: 'MCP request: tools/call echo',
      attributes: {
        'rpc.system': 'jsonrpc',
        'rpc.method': 'tools/call',
        request: '{"method":"tools/call","params":{"meta":null,"name":"echo","arguments":{}}}',
      },
    },
    { dialect: 'logfire', uses: ['tool echo'] },
  ],
  [
    'Logfire: the server of MCP',
    {
      scope: 'logfire.mcp',
      name: 'MCP server handle request: tools/call',
      attributes: {
        'rpc.system': 'jsonrpc',
        'rpc.method': 'tools/call',
        request: '{"method":"tools/call","params":{"name":"echo"}}',
      },
    },
    { dialect: 'logfire', uses: [] },
  ],
  [
    'CrewAI with OpenInference: an agent is named by its role, its model comes from the calls inside',
    {
      scope: 'openinference.instrumentation.crewai',
      name: 'Weather Researcher._execute_core',
      attributes: {
        'openinference.span.kind': 'AGENT',
        'graph.node.id': 'Weather Researcher',
        'llm.model_name': 'openai/gpt-5-mini',
      },
    },
    { dialect: 'openinference', uses: ['agent Weather Researcher'] },
  ],
  [
    'CrewAI with OpenLLMetry: an agent is named by its role',
    {
      scope: 'opentelemetry.instrumentation.crewai',
      name: 'Weather Researcher.agent',
      attributes: { 'traceloop.span.kind': 'agent', 'crewai.agent.role': 'Weather Researcher' },
    },
    { dialect: 'openllmetry', uses: ['agent Weather Researcher'] },
  ],
  [
    'smolagents: an agent is named by its class',
    {
      scope: 'openinference.instrumentation.smolagents',
      name: 'CodeAgent.run',
      attributes: { 'openinference.span.kind': 'AGENT', 'smolagents.max_steps': 20 },
    },
    { dialect: 'openinference', uses: ['agent CodeAgent'] },
  ],
  [
    'DSPy: a model with its vendor as prefix',
    {
      scope: 'openinference.instrumentation.dspy',
      name: 'LM.__call__',
      attributes: { 'openinference.span.kind': 'LLM', 'llm.model_name': 'openai/gpt-5-mini' },
    },
    { dialect: 'openinference', uses: ['model openai/gpt-5-mini'] },
  ],
  [
    'Haystack with OpenInference: a component that is not a model is not a use',
    {
      scope: 'openinference.instrumentation.haystack',
      name: 'PromptBuilder.run',
      attributes: { 'openinference.span.kind': 'CHAIN', 'input.value': 'x' },
    },
    { dialect: 'openinference', uses: [] },
  ],
  [
    'LangChain with OpenInference: a node that is called agent is not an agent',
    {
      scope: 'openinference.instrumentation.langchain',
      name: 'agent',
      attributes: { 'openinference.span.kind': 'AGENT', metadata: '{"langgraph_node":"agent"}' },
    },
    { dialect: 'openinference', uses: [] },
  ],
  [
    'LangChain with OpenInference: a tool with "agent" in its name is a tool',
    {
      scope: 'openinference.instrumentation.langchain',
      name: 'ask_agent',
      attributes: {
        'openinference.span.kind': 'AGENT',
        'tool.name': 'ask_agent',
        metadata: '{"lc_agent_name":"weather_agent"}',
      },
    },
    { dialect: 'openinference', uses: ['tool ask_agent'] },
  ],
  [
    'LangChain with OpenInference: an agent',
    {
      scope: 'openinference.instrumentation.langchain',
      name: 'weather_agent',
      attributes: { 'openinference.span.kind': 'AGENT', metadata: '{"lc_agent_name":"weather_agent"}' },
    },
    { dialect: 'openinference', uses: ['agent weather_agent'] },
  ],
  [
    'LangChain with Langfuse: a node that is called agent is not an agent',
    {
      scope: 'langfuse-sdk',
      name: 'agent',
      attributes: { 'langfuse.observation.type': 'agent', 'langfuse.observation.metadata.langgraph_node': 'agent' },
    },
    { dialect: 'langfuse', uses: [] },
  ],
  [
    'LangChain with Langfuse: a chain inside an agent is not an agent',
    {
      scope: 'langfuse-sdk',
      name: 'route_to_agent',
      attributes: {
        'langfuse.observation.type': 'agent',
        'langfuse.observation.metadata.lc_agent_name': 'weather_agent',
      },
    },
    { dialect: 'langfuse', uses: [] },
  ],
  [
    'OpenLIT: a call of an MCP tool',
    {
      scope: 'openlit.instrumentation.mcp',
      name: 'mcp tools/call',
      attributes: { 'mcp.operation.name': 'tools_call', 'mcp.method': 'call_tool', 'mcp.tool.name': 'echo' },
    },
    { dialect: 'openlit', uses: ['tool echo'] },
  ],
  [
    'OpenLIT: the request that an MCP client sends for it',
    { scope: 'openlit.instrumentation.mcp', name: 'mcp tools/call', attributes: { 'mcp.method': 'tools/call' } },
    { dialect: 'openlit', uses: [] },
  ],
  [
    'Claude Agent SDK with OpenInference: a subagent is known by the tool that starts it',
    {
      scope: 'openinference.instrumentation.claude_agent_sdk',
      name: 'ClaudeAgentSDK.Task',
      attributes: { 'openinference.span.kind': 'AGENT', 'agent.name': 'Task', 'llm.model_name': 'claude-haiku-5' },
    },
    { dialect: 'openinference', uses: ['model claude-haiku-5'] },
  ],
  [
    'Google ADK with OpenInference: the results of several tools',
    {
      scope: 'openinference.instrumentation.google_adk',
      name: 'execute_tool (merged)',
      attributes: { 'openinference.span.kind': 'TOOL', 'gen_ai.tool.name': '(merged tools)' },
    },
    { dialect: 'openinference', uses: [] },
  ],
  [
    'Google ADK with OpenInference: a tool that hands over to another agent',
    {
      scope: 'openinference.instrumentation.google_adk',
      name: 'execute_tool transfer_to_agent',
      attributes: {
        'openinference.span.kind': 'TOOL',
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': 'transfer_to_agent',
      },
    },
    { dialect: 'openinference', uses: [] },
  ],
  [
    'Logfire: a chat of the Claude Agent SDK',
    {
      scope: 'logfire.claude_agent_sdk',
      name: 'chat claude-sonnet-5',
      attributes: {
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': 'anthropic',
        'gen_ai.request.model': 'claude-sonnet-5',
        'gen_ai.usage.partial.input_tokens': 21,
        'gen_ai.usage.partial.output_tokens': 8,
      },
    },
    { dialect: 'logfire', uses: ['model anthropic/claude-sonnet-5'] },
  ],
  [
    'MLflow: values are JSON',
    {
      scope: '',
      name: 'Completions',
      attributes: {
        'mlflow.spanType': '"CHAT_MODEL"',
        'mlflow.llm.model': '"gpt-5-mini"',
        'mlflow.llm.provider': '"openai"',
        'mlflow.chat.tokenUsage': '{"input_tokens":21,"output_tokens":8,"total_tokens":29}',
      },
    },
    { dialect: 'genai', uses: ['model openai/gpt-5-mini'] },
  ],
  [
    'agentgateway: a call of an MCP tool names its target',
    {
      scope: 'agentgateway',
      name: 'tools/call everything_echo',
      attributes: { 'mcp.method.name': 'tools/call', 'mcp.target': 'everything', 'gen_ai.tool.name': 'echo' },
    },
    { dialect: 'mcp', uses: ['tool everything/echo'] },
  ],
  [
    'Google GenAI with OpenInference: what Google ran, in the other spelling of the keys',
    {
      scope: 'openinference.instrumentation.google_genai',
      name: 'GenerateContent',
      attributes: {
        'openinference.span.kind': 'LLM',
        'llm.model_name': 'gemini-3-flash',
        'llm.provider': 'google',
        'output.value': JSON.stringify({
          candidates: [
            {
              content: { parts: [{ executableCode: { code: 'x' } }, { text: 'x' }] },
              groundingMetadata: { webSearchQueries: ['x', 'y'] },
              urlContextMetadata: { urlMetadata: [{ retrievedUrl: 'x' }] },
            },
          ],
        }),
      },
    },
    {
      dialect: 'openinference',
      uses: ['model gcp.gen_ai/gemini-3-flash', 'tool google_search', 'tool url_context', 'tool code_execution'],
    },
  ],
  [
    'LiteLLM: a request',
    {
      scope: 'litellm',
      name: 'litellm_request',
      attributes: {
        'gen_ai.operation.name': 'acompletion',
        'gen_ai.system': 'openai',
        'gen_ai.request.model': 'openai/gpt-5-mini',
        'llm.is_streaming': 'False',
      },
    },
    { dialect: 'litellm', uses: ['model openai/gpt-5-mini'] },
  ],
  [
    'LiteLLM: another vendor’s model keeps its prefix',
    {
      scope: 'litellm',
      name: 'litellm_request',
      attributes: { 'gen_ai.system': 'groq', 'gen_ai.request.model': 'openai/gpt-oss-120b' },
    },
    { dialect: 'litellm', uses: ['model groq/openai/gpt-oss-120b'] },
  ],
  [
    'LiteLLM: the raw request is the same call',
    { scope: 'litellm', name: 'raw_gen_ai_request', attributes: { 'gen_ai.request.model': 'gpt-5-mini' } },
    { dialect: 'litellm', uses: [] },
  ],
  [
    'Microsoft Agent Framework: an agent',
    {
      scope: 'agent_framework',
      name: 'invoke_agent weather_agent',
      attributes: {
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.provider.name': 'microsoft.agent_framework',
        'gen_ai.agent.name': 'weather_agent',
        'gen_ai.request.model': 'gpt-5-mini',
      },
    },
    { dialect: 'microsoft-agents', uses: ['agent weather_agent'] },
  ],
  [
    'Microsoft Agent Framework: a workflow',
    {
      scope: 'agent_framework',
      name: 'workflow.run',
      attributes: { 'workflow.id': '7d1', 'workflow.name': 'forecast' },
    },
    { dialect: 'microsoft-agents', uses: ['agent forecast'] },
  ],
  [
    'Semantic Kernel: a chat',
    {
      scope: 'semantic_kernel.utils.telemetry.model_diagnostics.decorators',
      name: 'chat.completions gpt-5-mini',
      attributes: {
        'gen_ai.operation.name': 'chat.completions',
        'gen_ai.system': 'openai',
        'gen_ai.request.model': 'gpt-5-mini',
      },
    },
    { dialect: 'microsoft-agents', uses: ['model openai/gpt-5-mini'] },
  ],
  [
    'AutoGen: a tool',
    {
      scope: 'autogen-core',
      name: 'execute_tool get_weather',
      attributes: {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.system': 'autogen',
        'gen_ai.tool.name': 'get_weather',
      },
    },
    { dialect: 'microsoft-agents', uses: ['tool get_weather'] },
  ],
  [
    'Amazon Bedrock AgentCore: a chat as its OpenTelemetry distribution writes it',
    {
      scope: 'opentelemetry.instrumentation.botocore.bedrock-runtime',
      name: 'chat us.anthropic.claude-sonnet-5',
      attributes: {
        'gen_ai.operation.name': 'chat',
        'gen_ai.system': 'aws.bedrock',
        'gen_ai.request.model': 'us.anthropic.claude-sonnet-5',
      },
    },
    { dialect: 'genai', uses: ['model aws.bedrock/us.anthropic.claude-sonnet-5'] },
  ],
  [
    'OpenHands with Laminar: the method that calls an MCP tool is inside the span of the tool',
    { scope: 'lmnr.tracer', name: 'MCPToolExecutor.call_tool', attributes: { 'lmnr.span.type': 'TOOL' } },
    { dialect: null, uses: [] },
  ],
  [
    'OpenTelemetry for Python: only the name of the span has the name of a workflow',
    {
      scope: 'opentelemetry.util.genai.handler',
      name: 'invoke_workflow forecast',
      attributes: { 'gen_ai.operation.name': 'invoke_workflow' },
    },
    { dialect: 'genai', uses: ['agent forecast'] },
  ],
  [
    'LlamaIndex with its own OpenTelemetry handler: the id of a task is not the name of an agent',
    {
      scope: 'opentelemetry.util.genai.handler',
      name: 'invoke_agent',
      attributes: {
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.agent.id': '6b2ff3a8-7c1f-4c1a-a3c3-6a8b52f6b2bc',
      },
    },
    { dialect: 'genai', uses: [] },
  ],
  [
    'FastMCP with Splunk: the MCP server has a name of Splunk’s',
    {
      scope: 'opentelemetry.util.genai.handler',
      name: 'tools/call echo',
      attributes: {
        'mcp.method.name': 'tools/call',
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': 'echo',
        'sdot.mcp.server_name': 'everything',
      },
    },
    { dialect: 'mcp', uses: ['tool everything/echo'] },
  ],
  [
    'LangWatch: the vendor is in front of the model',
    {
      scope: 'langwatch',
      name: 'llm',
      attributes: {
        'langwatch.span.type': 'llm',
        'gen_ai.request.model': 'openai/gpt-5-mini',
        'langwatch.metrics': '{"prompt_tokens":21,"completion_tokens":8}',
      },
    },
    { dialect: 'genai', uses: ['model openai/gpt-5-mini'] },
  ],
  [
    'AWS Distro for OpenTelemetry: a chain of LangChain in the agent that it names',
    {
      scope: 'amazon.opentelemetry.distro.instrumentation.langchain',
      name: 'chain model',
      attributes: {
        'gen_ai.agent.name': 'weather_agent',
        'gen_ai.provider.name': 'aws.bedrock',
        'langgraph.node': 'model',
      },
    },
    { dialect: 'genai', uses: [] },
  ],
  [
    'traceAI: the root span of OpenAI Agents names no agent',
    { scope: 'traceai_openai_agents', name: 'Agent workflow', attributes: { 'gen_ai.span.kind': 'AGENT' } },
    { dialect: 'traceai', uses: [] },
  ],
  [
    'traceAI: an agent of OpenAI Agents',
    {
      scope: 'traceai_openai_agents',
      name: 'weather_agent',
      attributes: { 'gen_ai.span.kind': 'AGENT', 'gen_ai.provider.name': 'openai', 'graph.node.id': 'weather_agent' },
    },
    { dialect: 'traceai', uses: ['agent weather_agent'] },
  ],
  [
    'traceAI: a handoff of OpenAI Agents is not a tool',
    {
      scope: 'traceai_openai_agents',
      name: 'handoff to umbrella_agent',
      attributes: { 'gen_ai.span.kind': 'TOOL', 'gen_ai.provider.name': 'openai' },
    },
    { dialect: 'traceai', uses: [] },
  ],
  [
    'traceAI: a task of CrewAI names no agent',
    { scope: 'traceai_crewai', name: 'Task._execute_core', attributes: { 'gen_ai.span.kind': 'AGENT' } },
    { dialect: 'traceai', uses: [] },
  ],
  [
    'traceAI: a tool of CrewAI',
    {
      scope: 'traceai_crewai',
      name: 'ToolUsage._use',
      attributes: { 'gen_ai.span.kind': 'TOOL', 'gen_ai.tool.name': 'get_weather' },
    },
    { dialect: 'traceai', uses: ['tool get_weather'] },
  ],
  [
    'traceAI: a message of Anthropic',
    {
      scope: 'traceai_anthropic',
      name: 'Messages',
      attributes: {
        'gen_ai.span.kind': 'LLM',
        'gen_ai.provider.name': 'anthropic',
        'gen_ai.request.model': 'claude-sonnet-5',
        'output.value': '{"content":[{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search"}]}',
      },
    },
    { dialect: 'traceai', uses: ['model anthropic/claude-sonnet-5', 'tool web_search'] },
  ],
  [
    'traceAI: a tool of LangChain whose name has the word agent',
    {
      scope: 'traceai_langchain',
      name: 'ask_agent',
      attributes: { 'gen_ai.span.kind': 'AGENT', 'gen_ai.tool.name': 'ask_agent' },
    },
    { dialect: 'traceai', uses: ['tool ask_agent'] },
  ],
  [
    'NeMo Agent Toolkit: a function is a part of the workflow',
    {
      scope: 'nat',
      name: 'react_agent',
      attributes: {
        'openinference.span.kind': 'CHAIN',
        'nat.span.kind': 'FUNCTION',
        'nat.function.name': 'react_agent',
      },
    },
    { dialect: 'nemo-agent-toolkit', uses: [] },
  ],
  [
    'NeMo Agent Toolkit: the provider of a model is a framework',
    {
      scope: 'nat',
      name: 'gpt-5-mini',
      attributes: {
        'openinference.span.kind': 'LLM',
        'nat.span.kind': 'LLM',
        'llm.model_name': 'gpt-5-mini',
        'llm.provider': 'adk',
      },
    },
    { dialect: 'nemo-agent-toolkit', uses: ['model gpt-5-mini'] },
  ],
  [
    'Langflow with Traceloop (github.com/langflow-ai/langflow, services/tracing/traceloop.py): a component does not count its model',
    {
      scope: 'langflow',
      name: 'Language Model (LanguageModelComponent-a1B2c)',
      attributes: { trace_type: 'llm', provider: 'OpenAI', model_name: 'gpt-5-mini', temperature: 0.1 },
    },
    { dialect: 'langflow', uses: [] },
  ],
  [
    'Langflow with Traceloop: an agent',
    {
      scope: 'langflow',
      name: 'Agent (Agent-a1B2c)',
      attributes: { trace_type: 'agent', agent_llm: 'OpenAI', model_name: 'gpt-5-mini' },
    },
    { dialect: 'langflow', uses: ['agent Agent'] },
  ],
];

test.each(ROWS)('%s', (_title, { scope, name, attributes }, expected) => {
  const { dialect, facts, uses } = readSpan(source(attributes, name, { scope }));
  const place = { model: facts?.vendor, tool: facts?.toolServer } as Record<string, string | null | undefined>;
  const described = uses.map((use) => `${use.kind} ${place[use.kind] ? `${place[use.kind]}/` : ''}${use.name}`);
  expect({ dialect, uses: described }).toEqual(expected);
});
