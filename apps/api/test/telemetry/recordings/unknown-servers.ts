import { hash } from 'node:crypto';

/** How the tools of an MCP server are seen if the server is not declared. */
type Unknown = {
  /** The server's name in the telemetry. Null: the tools are seen at the service. */
  server: string | null;
  /** The name of a tool in the telemetry. */
  written: (tool: string) => string;
};

/** Nothing in the telemetry names the server of a tool. */
const NOT_NAMED = [
  'ag2',
  'agent-framework-python',
  'agentops',
  'anthropic-sdk',
  'any-agent',
  'aws-distro',
  'axiom',
  'beeai',
  'braintrust',
  'cloudflare-agents',
  'crewai-openinference',
  'deepagents-openinference',
  'docker-agent',
  'dspy',
  'effect',
  'effect-4',
  'eino',
  'embabel',
  'google-adk',
  'google-adk-python',
  'haystack',
  'iqai-adk',
  'koog',
  'langchain-langwatch',
  'langchain-microsoft',
  'langchain-openinference',
  'langchain-openlit',
  'langchain-openllmetry',
  'langchain-two-instrumentations',
  'langfuse-sdk',
  'langgraph-langfuse',
  'langgraph-langsmith',
  'langgraph-python-openllmetry',
  'livekit',
  'livekit-js',
  'loongsuite',
  'mcp-csharp',
  'mcp-python',
  'neatlogs',
  'netra',
  'openai-agents',
  'openai-agents-python',
  'openai-agents-python-openinference',
  'openai-agents-python-openllmetry',
  'openai-agents-python-tracekit',
  'openai-langfuse',
  'openai-logfire',
  'openinference-mcp',
  'pydantic-ai',
  'quarkus-langchain4j',
  'rig',
  'ruby-llm',
  'semantic-kernel-dotnet',
  'sentry',
  'spring-ai',
  'strands',
  'strands-latest',
  'strands-python',
  'tanstack-ai',
  'trpc-agent-go',
  'vercel-ai-4',
  'vercel-ai-5',
  'vercel-ai-6',
  'vercel-ai-6-langsmith',
  'vercel-ai-6-vendors',
  'vercel-ai-7',
  'vercel-ai-7-laminar',
  'vercel-ai-7-legacy',
  'vercel-ai-7-openinference',
  'weave',
];

/** The name of the server is in front of the tool's name, where it cannot be told from a part of the name: `get_weather`. */
const IN_FRONT_OF_TOOL = [
  ['kilo', '_'],
  ['mastra-arize', '_'],
  ['mistral-vibe', '_'],
  ['opencode', '_'],
  ['semantic-kernel', '-'],
  ['voltagent', '_'],
] as const;

/**
 * The server is named, and also in front of the tool's name. Mastra's toolsets have no such names, so a tool `slack_post` of the server
 * slack may be `post` or `slack_post`: the inventory of the server decides.
 */
const SERVER_AND_IN_FRONT = ['mastra', 'mastra-bridge', 'mastra-laminar', 'mastra-vendors'];

/** Server and tool are named by their hashes. */
const HASHED = ['copilot-cli', 'copilot-sdk'];

/**
 * The server is named in another span only:
 * - openai-agents-microsoft and openai-agents-openlit: in a span that lists the names of the server's tools, as content.
 * - openllmetry: in the server's answer to `initialize`, as content, by the name that the server gives itself.
 * - fastmcp: in the server's own span of the call, which comes from another process and may not come at all.
 */
const NAMED_ELSEWHERE = ['fastmcp', 'openai-agents-microsoft', 'openai-agents-openlit', 'openllmetry'];

const sha256 = (text: string) => hash('sha256', text);
const atService = (written: (tool: string) => string): Unknown => ({ server: null, written });

/**
 * The recordings from which the MCP server or the name of a tool cannot be read, unless the server is declared with its tools. All
 * other owners have to be right without a declaration.
 */
export const UNKNOWN_SERVERS: ReadonlyMap<string, Unknown> = new Map([
  ...[...NOT_NAMED, ...NAMED_ELSEWHERE].map((id) => [id, atService((tool) => tool)] as const),
  ...IN_FRONT_OF_TOOL.map(([id, separator]) => [id, atService((tool) => `everything${separator}${tool}`)] as const),
  ...SERVER_AND_IN_FRONT.map(
    (id) => [id, { server: 'everything', written: (tool: string) => `everything_${tool}` }] as const,
  ),
  ...HASHED.map((id) => [id, { server: sha256('everything'), written: sha256 }] as const),
]);
