import { canonicalVendor, vendorOfHost, withoutApi } from '@quartermaster/naming/vendors.ts';
import { hostIn } from './server-address.ts';

/**
 * Names of frameworks, SDKs and routers that senders write as the vendor. They do not identify the vendor of the model.
 * `openrouter` is not in the list, because it is the provider that is called and paid.
 */
const FRAMEWORK_NAMES: ReadonlySet<string> = new Set([
  '_other',
  'ag2',
  'agentops',
  'agentscope',
  'agno',
  'ai-sdk',
  'ai_sdk',
  'autogen',
  'beeai',
  'browser-use',
  'browser_use',
  'camel',
  'claude-agent-sdk',
  'claude-code',
  'claude_agent_sdk',
  'cline',
  'codex',
  'codex-app-server',
  'codex-cli',
  'controlflow',
  'copilot',
  'crewai',
  'custom',
  'dify',
  'dspy',
  'dynamiq',
  'eino',
  'fastmcp',
  'flowise',
  'gcp.vertex.agent',
  'gemini-cli',
  'gemini-cli-core',
  'genkit',
  'github',
  'github.copilot',
  'google-adk',
  'google_adk',
  'goose',
  'guardrails',
  'haystack',
  'instructor',
  'julep',
  'koog',
  'langchain',
  'langchain4j',
  'langfuse',
  'langgraph',
  'langsmith',
  'letta',
  'litellm',
  'litellm-proxy',
  'litellm_proxy',
  'livekit',
  'llama-index',
  'llama_index',
  'llamaindex',
  'mastra',
  'mcp',
  'mem0',
  'metagpt',
  'microsoft.agent_framework',
  'microsoft_agent_framework',
  'monocle',
  'n/a',
  'n8n',
  'none',
  'null',
  'openai-agents',
  'openai-compatible',
  'openai_agents',
  'openai_api_compatible',
  'openai_compatible',
  'openclaw',
  'opencode',
  'openhands',
  'other',
  'pipecat',
  'portkey',
  'promptflow',
  'pydantic-ai',
  'pydantic_ai',
  'qwen-code',
  'rig',
  'semantic-kernel',
  'semantic_kernel',
  'smolagents',
  'spring-ai',
  'spring_ai',
  'strands',
  'strands-agents',
  'strands_agents',
  'temporal',
  'traceloop',
  'trpc.go.agent',
  'undefined',
  'unknown',
  'vercel',
  'vercel-ai',
  'voltagent',
]);

/**
 * The canonical name of a vendor. Some clients write the host of its API, or the id of a plugin. An unknown vendor keeps its
 * name, without the suffix of an API. Null for a framework, also at the end of a path.
 */
export function vendorIn(text: string): string | null {
  const known = canonicalVendor(text) ?? vendorInPath(text);
  if (known !== null) return known;
  const plain = withoutApi(text) || text;
  const last = text.slice(text.lastIndexOf('/') + 1);
  return [text, plain, last].some((name) => FRAMEWORK_NAMES.has(name.trim().toLowerCase())) ? null : plain;
}

/** The vendor in a host such as `api.openai.com`, or at the end of a path such as `langgenius/openai/openai`. */
function vendorInPath(text: string): string | null {
  if (text.includes('.')) return vendorOfHost(hostIn(text) ?? '');
  const end = text.lastIndexOf('/');
  return end === -1 ? null : canonicalVendor(text.slice(end + 1));
}
