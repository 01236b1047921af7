/**
 * A vendor of models. `name` is its value of OpenTelemetry's `gen_ai.provider.name`
 * (github.com/open-telemetry/semantic-conventions-genai, docs/registry/attributes/gen-ai.md), or one in the same style
 * where the registry has none. `aliases` are other spellings that frameworks and routers use, in lower case. `family`
 * groups the names of one company: a provider declared as `google` owns what is said of `gcp.gemini` and `gcp.vertex_ai`,
 * unless a provider with the exact name is declared too.
 */
export type Vendor = { name: string; aliases: readonly string[]; family?: 'google' | 'azure' };

export const VENDORS: readonly Vendor[] = [
  { name: 'ai21', aliases: ['ai21labs', 'ai21_labs'] },
  { name: 'alibaba_cloud', aliases: ['alibaba', 'alibabacloud', 'aliyun', 'dashscope', 'qwen', 'tongyi'] },
  { name: 'anthropic', aliases: ['claude'] },
  {
    name: 'aws.bedrock',
    aliases: ['bedrock', 'amazon-bedrock', 'amazon_bedrock', 'amazon', 'aws', 'aws-bedrock', 'aws_bedrock'],
  },
  { name: 'aws.sagemaker', aliases: ['sagemaker', 'aws_sagemaker', 'aws-sagemaker'] },
  {
    name: 'azure.ai.inference',
    aliases: ['az.ai.inference', 'azure_ai', 'azure-ai', 'azure_ai_inference'],
    family: 'azure',
  },
  {
    name: 'azure.ai.openai',
    aliases: ['az.ai.openai', 'azure', 'azure-openai', 'azure_openai', 'azureopenai', 'azure.openai'],
    family: 'azure',
  },
  { name: 'baseten', aliases: [] },
  { name: 'cerebras', aliases: [] },
  { name: 'cloudflare.workers_ai', aliases: ['cloudflare', 'workers-ai', 'workersai', 'workers_ai'] },
  { name: 'cohere', aliases: ['cohere_ai'] },
  { name: 'databricks', aliases: [] },
  { name: 'deepgram', aliases: [] },
  { name: 'deepinfra', aliases: ['deep_infra'] },
  { name: 'deepseek', aliases: ['deepseek_ai', 'deepseek-ai'] },
  { name: 'elevenlabs', aliases: ['eleven_labs'] },
  { name: 'fireworks', aliases: ['fireworks_ai', 'fireworks-ai', 'fireworksai'] },
  {
    name: 'gcp.gemini',
    aliases: ['gemini', 'google.generative-ai', 'google.generativeai', 'google_ai_studio', 'google-ai-studio'],
    family: 'google',
  },
  {
    name: 'gcp.gen_ai',
    aliases: [
      'google',
      'gcp',
      'google_ai',
      'google-ai',
      'googleai',
      'genai',
      'google_genai',
      'google-genai',
      'google_generative_ai',
    ],
    family: 'google',
  },
  {
    name: 'gcp.vertex_ai',
    aliases: [
      'vertex_ai',
      'vertexai',
      'vertex-ai',
      'vertex',
      'google.vertex',
      'google-vertex',
      'google_vertexai',
      'google_vertex_ai',
    ],
    family: 'google',
  },
  { name: 'groq', aliases: [] },
  { name: 'huggingface', aliases: ['hugging_face', 'hugging-face', 'hf'] },
  { name: 'ibm.watsonx.ai', aliases: ['watsonx', 'watsonx.ai', 'ibm', 'ibm_watsonx'] },
  { name: 'meta', aliases: ['meta_llama', 'llama_api'] },
  { name: 'minimax', aliases: [] },
  { name: 'mistral_ai', aliases: ['mistral', 'mistralai', 'mistral-ai'] },
  { name: 'moonshot_ai', aliases: ['moonshot', 'moonshotai', 'kimi'] },
  { name: 'nvidia', aliases: ['nvidia_nim', 'nim'] },
  { name: 'ollama', aliases: [] },
  { name: 'openai', aliases: ['open_ai', 'open-ai'] },
  { name: 'perplexity', aliases: ['perplexity_ai', 'pplx'] },
  { name: 'replicate', aliases: [] },
  { name: 'together_ai', aliases: ['together', 'togetherai', 'together-ai'] },
  { name: 'voyage_ai', aliases: ['voyage', 'voyageai'] },
  { name: 'x_ai', aliases: ['xai', 'x-ai', 'x.ai', 'grok'] },
  { name: 'zhipu_ai', aliases: ['zhipu', 'zhipuai', 'z.ai', 'zai', 'bigmodel'] },
];

/**
 * Names of frameworks, SDKs and routers that senders write where a vendor belongs. They do not say whose model it is.
 * `openrouter` is not here: it is the provider that is called and paid.
 */
export const FRAMEWORK_NAMES: ReadonlySet<string> = new Set([
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

const byName = new Map<string, Vendor>();
for (const vendor of VENDORS) {
  for (const name of [vendor.name, ...vendor.aliases]) byName.set(name, vendor);
}

/** API names that SDKs append to a vendor: `openai.chat`, `anthropic.messages`, `openai.responses`. */
const API_SUFFIX =
  /\.(?:chat|completions?|responses?|messages?|embeddings?|text-?embedding|image|speech|transcription|rerank(?:ing)?|generate|converse)$/;

/** The vendor with this name or alias, in any case, with or without an API's suffix. */
export function vendorNamed(text: string): Vendor | undefined {
  const name = text.trim().toLowerCase();
  return byName.get(name) ?? byName.get(withoutSuffix(name));
}

/**
 * The canonical name of the vendor that a sender names. A name that is in no table stays as it is written, without an API's
 * suffix. Null: a framework's name.
 */
export function canonicalVendor(text: string): string | null {
  const known = vendorNamed(text);
  if (known) return known.name;
  const plain = text.slice(0, withoutSuffix(text.toLowerCase()).length);
  return [text, plain].some((name) => FRAMEWORK_NAMES.has(name.trim().toLowerCase())) ? null : plain;
}

function withoutSuffix(name: string): string {
  const plain = name.replace(API_SUFFIX, '');
  return plain === '' ? name : plain;
}
