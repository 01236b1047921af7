import { canonicalVendor, vendorOfHost } from '@quartermaster/db/vendors.ts';
import { hostIn } from './server-address.ts';

/**
 * Names of frameworks, SDKs and routers that senders write as the vendor. They do not identify the vendor of the model.
 * `openrouter` is not in the list, because it is the provider that is called and paid.
 */
const FRAMEWORK_NAMES: ReadonlySet<string> = new Set([
  '_other',
  'ag2',
  'agno',
  'ai-sdk',
  'ai_sdk',
  'autogen',
  'beeai',
  'claude-code',
  'codex',
  'copilot',
  'crewai',
  'custom',
  'dspy',
  'gcp.vertex.agent',
  'gemini-cli',
  'github',
  'github.copilot',
  'google_adk',
  'guardrails',
  'haystack',
  'instructor',
  'langchain',
  'langfuse',
  'langgraph',
  'langsmith',
  'litellm',
  'litellm-proxy',
  'litellm_proxy',
  'llama-index',
  'llama_index',
  'llamaindex',
  'mastra',
  'mcp',
  'microsoft.agent_framework',
  'microsoft_agent_framework',
  'n/a',
  'none',
  'null',
  'openai-agents',
  'openai_agents',
  'other',
  'portkey',
  'promptflow',
  'pydantic-ai',
  'pydantic_ai',
  'semantic-kernel',
  'semantic_kernel',
  'smolagents',
  'spring_ai',
  'strands',
  'strands-agents',
  'strands_agents',
  'traceloop',
  'undefined',
  'unknown',
  'vercel',
  'vercel-ai',
]);

/** API names that SDKs append to a vendor: `openai.chat`, `anthropic.messages`, `openai.responses`. */
const API_SUFFIX =
  /\.(?:chat|completions?|responses?|messages?|embeddings?|text-?embedding|image|speech|transcription|rerank(?:ing)?|generate|converse)$/;

/**
 * The canonical name of a vendor. Some clients write the host of its API, or the id of a plugin. An unknown vendor keeps its
 * name, without the suffix of an API. Null for a framework.
 */
export function vendorIn(text: string): string | null {
  const known = canonicalVendor(text) ?? vendorInPath(text);
  if (known !== null) return known;
  const lower = text.toLowerCase();
  const plain = text.slice(0, lower.replace(API_SUFFIX, '').length) || text;
  return [text, plain].some((name) => FRAMEWORK_NAMES.has(name.trim().toLowerCase())) ? null : plain;
}

/** The vendor in a host such as `api.openai.com`, or at the end of a path such as `langgenius/openai/openai`. */
function vendorInPath(text: string): string | null {
  if (text.includes('.')) return vendorOfHost(hostIn(text) ?? '');
  const end = text.lastIndexOf('/');
  return end === -1 ? null : canonicalVendor(text.slice(end + 1));
}
