import { folded } from './queries.ts';

/**
 * Vendors of models: one canonical name each (values of `gen_ai.provider.name` in the OpenTelemetry conventions where there
 * is one), the spellings that frameworks and routers use for it, and the hosts of its public API.
 */
type Vendor = {
  name: string;
  aliases: readonly string[];
  /** Hosts of the API; `*.` in front stands for one or more labels, a `*` inside for a part of one. */
  hosts: readonly string[];
  /** Products of one vendor that senders mix up share this. */
  family?: string;
};

const VENDORS: readonly Vendor[] = [
  {
    name: 'ai21',
    aliases: ['ai21_labs', 'ai21labs'],
    hosts: ['api.ai21.com'],
  },
  {
    name: 'alibaba_cloud',
    aliases: ['alibaba', 'alibabacloud', 'aliyun', 'dashscope', 'qwen', 'tongyi'],
    hosts: ['dashscope.aliyuncs.com', 'dashscope-intl.aliyuncs.com'],
  },
  {
    name: 'anthropic',
    aliases: ['anthropic-ai', 'anthropic_ai', 'claude'],
    hosts: ['api.anthropic.com'],
  },
  {
    name: 'aws.bedrock',
    aliases: [
      'amazon',
      'amazon-bedrock',
      'amazon.bedrock',
      'amazon_bedrock',
      'aws',
      'aws-bedrock',
      'aws_bedrock',
      'bedrock',
      'bedrock-converse',
      'bedrock_converse',
      'bedrock_runtime',
    ],
    hosts: [
      'bedrock-runtime.*.amazonaws.com',
      'bedrock-runtime-fips.*.amazonaws.com',
      'bedrock-agent-runtime.*.amazonaws.com',
    ],
  },
  {
    name: 'aws.sagemaker',
    aliases: ['aws-sagemaker', 'aws_sagemaker', 'sagemaker'],
    hosts: [],
  },
  {
    name: 'azure.ai.inference',
    aliases: [
      'az.ai.inference',
      'azure-ai',
      'azure-ai-inference',
      'azure.ai',
      'azure_ai',
      'azure_ai_inference',
      'azureai',
    ],
    hosts: ['*.services.ai.azure.com', '*.inference.ai.azure.com', 'models.inference.ai.azure.com'],
    family: 'azure',
  },
  {
    name: 'azure.ai.openai',
    aliases: [
      'az.ai.openai',
      'azure',
      'azure-openai',
      'azure-openai-responses',
      'azure.openai',
      'azure_openai',
      'azure_openai_responses',
      'azureopenai',
    ],
    hosts: ['*.openai.azure.com', '*.cognitiveservices.azure.com'],
    family: 'azure',
  },
  {
    name: 'baseten',
    aliases: [],
    hosts: ['inference.baseten.co'],
  },
  {
    name: 'cerebras',
    aliases: ['cerebras-ai', 'cerebras_ai'],
    hosts: ['api.cerebras.ai'],
  },
  {
    name: 'cloudflare.workers_ai',
    aliases: ['cloudflare', 'workers-ai', 'workers_ai', 'workersai'],
    hosts: [],
  },
  {
    name: 'cohere',
    aliases: ['cohere_ai', 'cohere_chat'],
    hosts: ['api.cohere.com', 'api.cohere.ai'],
  },
  {
    name: 'databricks',
    aliases: [],
    hosts: ['*.cloud.databricks.com', '*.azuredatabricks.net'],
  },
  {
    name: 'deepgram',
    aliases: [],
    hosts: ['api.deepgram.com'],
  },
  {
    name: 'deepinfra',
    aliases: ['deep_infra'],
    hosts: ['api.deepinfra.com'],
  },
  {
    name: 'deepseek',
    aliases: ['deep_seek', 'deepseek-ai', 'deepseek_ai'],
    hosts: ['api.deepseek.com'],
  },
  {
    name: 'elevenlabs',
    aliases: ['eleven_labs'],
    hosts: ['api.elevenlabs.io'],
  },
  {
    name: 'fireworks',
    aliases: ['fireworks-ai', 'fireworks_ai', 'fireworksai'],
    hosts: ['api.fireworks.ai'],
  },
  {
    name: 'gcp.gemini',
    aliases: [
      'gemini',
      'google-ai-studio',
      'google-generative-ai',
      'google-gla',
      'google.generative-ai',
      'google.generative_ai',
      'google.generativeai',
      'google_ai_studio',
    ],
    hosts: ['generativelanguage.googleapis.com'],
    family: 'google',
  },
  {
    name: 'gcp.gen_ai',
    aliases: [
      'gcp',
      'genai',
      'google',
      'google-ai',
      'google-genai',
      'google_ai',
      'google_genai',
      'google_generative_ai',
      'googleai',
    ],
    hosts: [],
    family: 'google',
  },
  {
    name: 'gcp.vertex_ai',
    aliases: [
      'google-vertex',
      'google-vertex-ai',
      'google-vertex.anthropic',
      'google-vertexai',
      'google.vertex',
      'google.vertex.anthropic',
      'google_anthropic_vertex',
      'google_vertex',
      'google_vertex_ai',
      'google_vertexai',
      'vertex',
      'vertex-ai',
      'vertex.anthropic',
      'vertex_ai',
      'vertex_ai_beta',
      'vertexai',
    ],
    hosts: ['aiplatform.googleapis.com', '*-aiplatform.googleapis.com'],
    family: 'google',
  },
  {
    name: 'groq',
    aliases: ['groqcloud'],
    hosts: ['api.groq.com'],
  },
  {
    name: 'huggingface',
    aliases: ['hf', 'hugging-face', 'hugging_face'],
    hosts: ['router.huggingface.co', 'api-inference.huggingface.co'],
  },
  {
    name: 'ibm.watsonx.ai',
    aliases: ['ibm', 'ibm_watsonx', 'watsonx', 'watsonx.ai', 'watsonx_ai'],
    hosts: ['*.ml.cloud.ibm.com'],
  },
  {
    name: 'meta',
    aliases: ['llama_api', 'meta_llama'],
    hosts: ['api.llama.com'],
  },
  {
    name: 'minimax',
    aliases: [],
    hosts: ['api.minimax.io'],
  },
  {
    name: 'mistral_ai',
    aliases: ['mistral', 'mistral-ai', 'mistral.ai', 'mistralai'],
    hosts: ['api.mistral.ai'],
  },
  {
    name: 'moonshot_ai',
    aliases: ['kimi', 'moonshot', 'moonshot-ai', 'moonshotai'],
    hosts: ['api.moonshot.ai', 'api.moonshot.cn'],
  },
  {
    name: 'nvidia',
    aliases: ['nim', 'nvidia-nim', 'nvidia_nim'],
    hosts: ['integrate.api.nvidia.com'],
  },
  {
    name: 'ollama',
    aliases: ['ollama-chat', 'ollama_chat'],
    hosts: [],
  },
  {
    name: 'openai',
    aliases: ['chatgpt', 'open-ai', 'open_ai', 'openai-chat', 'openai-responses', 'openai_chat', 'openai_responses'],
    hosts: ['api.openai.com', '*.api.openai.com'],
  },
  {
    name: 'openrouter',
    aliases: ['open-router', 'open_router'],
    hosts: ['openrouter.ai'],
  },
  {
    name: 'perplexity',
    aliases: ['perplexity-ai', 'perplexity_ai', 'pplx'],
    hosts: ['api.perplexity.ai'],
  },
  {
    name: 'replicate',
    aliases: [],
    hosts: ['api.replicate.com'],
  },
  {
    name: 'together_ai',
    aliases: ['together', 'together-ai', 'together.ai', 'togetherai'],
    hosts: ['api.together.xyz', 'api.together.ai'],
  },
  {
    name: 'voyage_ai',
    aliases: ['voyage', 'voyageai'],
    hosts: ['api.voyageai.com'],
  },
  {
    name: 'x_ai',
    aliases: ['grok', 'x-ai', 'x.ai', 'xai'],
    hosts: ['api.x.ai'],
  },
  {
    name: 'zhipu_ai',
    aliases: ['bigmodel', 'z.ai', 'zai', 'zhipu', 'zhipuai'],
    hosts: ['open.bigmodel.cn', 'api.z.ai'],
  },
];

/** What AI SDK and others add to the vendor's name: the API of it. */
const API_SUFFIX =
  /[./](?:chat|responses?|messages?|completions?|embeddings?|text-?embedding|images?|speech|transcription|rerank(?:ing)?|generative-ai|language-?model|generate|converse)$/;

const BY_SPELLING: ReadonlyMap<string, Vendor> = new Map(
  VENDORS.flatMap((vendor) => [vendor.name, ...vendor.aliases].map((spelling) => [spelling, vendor] as const)),
);

/** The canonical name of the vendor that a name means, in whatever spelling and case; null for an unknown one. */
export function canonicalVendor(name: string): string | null {
  return vendorOf(name)?.name ?? null;
}

/**
 * All spellings of the vendor that a name means, case-folded: the canonical name first, its aliases, then the other
 * products of the same vendor. An unknown vendor has its own name alone.
 */
export function vendorNames(name: string): readonly string[] {
  const vendor = vendorOf(name);
  if (!vendor) return [folded(name)];
  const products = vendor.family === undefined ? [] : VENDORS.filter((one) => one.family === vendor.family);
  return [...new Set([vendor, ...products].flatMap((one) => [one.name, ...one.aliases]))];
}

/** Whether two names mean the same product of one vendor. */
export function isSameVendor(one: string, other: string): boolean {
  return folded(one) === folded(other) || (vendorOf(one) !== undefined && vendorOf(one) === vendorOf(other));
}

/** The canonical name of the vendor whose API has a host; null for other hosts. @param host lower case, without port */
export function vendorOfHost(host: string): string | null {
  return HOSTS.find(({ pattern }) => pattern.test(host))?.name ?? null;
}

/** The hosts of a vendor's API and of its other products: in full, and as endings where each customer or region has its own. */
export function vendorHosts(name: string): { hosts: readonly string[]; suffixes: readonly string[] } {
  const vendor = vendorOf(name);
  const products = VENDORS.filter(
    (one) => one === vendor || (one.family !== undefined && one.family === vendor?.family),
  );
  const all = products.flatMap(({ hosts }) => hosts);
  return {
    hosts: all.filter((host) => !host.includes('*')),
    suffixes: all.filter((host) => host.includes('*')).map((host) => host.slice(host.lastIndexOf('*') + 1)),
  };
}

const HOSTS = VENDORS.flatMap(({ name, hosts }) => hosts.map((host) => ({ name, pattern: hostPattern(host) })));

function hostPattern(host: string): RegExp {
  const text = host
    .replaceAll('.', '\\.')
    .replace(/^\*\\\./, '(?:[^.]+\\.)+')
    .replaceAll('*', '[^.]+');
  return new RegExp(`^${text}$`);
}

function vendorOf(name: string): Vendor | undefined {
  let spelling = folded(name).trim();
  for (;;) {
    const vendor = BY_SPELLING.get(spelling);
    if (vendor) return vendor;
    const shorter = spelling.replace(API_SUFFIX, '');
    if (shorter === spelling) return undefined;
    spelling = shorter;
  }
}
