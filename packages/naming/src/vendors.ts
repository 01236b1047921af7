import { caseFolded } from './case-folded.ts';

/**
 * A vendor of models: its canonical name (the value of `gen_ai.provider.name` in the OpenTelemetry conventions, if there is
 * one), the spellings that frameworks and routers use, and the hosts of its public API.
 */
type Vendor = {
  name: string;
  aliases: readonly string[];
  /** Hosts of the API. A leading `*.` stands for one or more labels, and any other `*` for part of one label. */
  hosts: readonly string[];
  /** Products of one vendor that senders confuse have the same family. */
  family: string | null;
};

const VENDORS: readonly Vendor[] = [
  vendor('ai21', 'ai21_labs ai21labs', 'api.ai21.com'),
  vendor(
    'alibaba_cloud',
    'alibaba alibabacloud aliyun dashscope qwen tongyi',
    'dashscope.aliyuncs.com dashscope-intl.aliyuncs.com',
  ),
  vendor('anthropic', 'anthropic-ai anthropic_ai claude', 'api.anthropic.com'),
  vendor(
    'aws.bedrock',
    'amazon amazon-bedrock amazon.bedrock amazon_bedrock aws aws-bedrock aws_bedrock bedrock bedrock-converse bedrock-mantle bedrock.anthropic bedrock_converse bedrock_runtime',
    'bedrock-runtime.*.amazonaws.com bedrock-runtime-fips.*.amazonaws.com bedrock-agent-runtime.*.amazonaws.com',
  ),
  vendor('aws.sagemaker', 'aws-sagemaker aws_sagemaker sagemaker', ''),
  vendor(
    'azure.ai.inference',
    'az.ai.agents az.ai.inference azure-ai azure-ai-inference azure.ai azure.deepseek azure_ai azure_ai_agents azure_ai_foundry azure_ai_inference azureai microsoft_foundry',
    '*.services.ai.azure.com *.inference.ai.azure.com models.inference.ai.azure.com',
    'azure',
  ),
  vendor(
    'azure.ai.openai',
    'az.ai.openai azure azure-openai azure-openai-responses azure.openai azure_openai azure_openai_responses azureopenai',
    '*.openai.azure.com *.cognitiveservices.azure.com',
    'azure',
  ),
  vendor('baseten', '', 'inference.baseten.co'),
  vendor('cerebras', 'cerebras-ai cerebras_ai', 'api.cerebras.ai'),
  vendor('cloudflare.workers_ai', 'cloudflare workers-ai workers_ai workersai', ''),
  vendor('cohere', 'cohere_ai cohere_chat', 'api.cohere.com api.cohere.ai'),
  vendor('databricks', '', '*.cloud.databricks.com *.azuredatabricks.net'),
  vendor('deepgram', '', 'api.deepgram.com'),
  vendor('deepinfra', 'deep_infra', 'api.deepinfra.com'),
  vendor('deepseek', 'deep_seek deepseek-ai deepseek_ai', 'api.deepseek.com'),
  vendor('elevenlabs', 'eleven_labs', 'api.elevenlabs.io'),
  vendor('fireworks', 'fireworks-ai fireworks_ai fireworksai', 'api.fireworks.ai'),
  vendor(
    'gcp.gemini',
    'gemini google-ai-studio google_ai_gemini google-generative-ai google-gla google.generative-ai google.generative_ai google.generativeai google_ai_studio google_ai_studio_gemini',
    'generativelanguage.googleapis.com',
    'google',
  ),
  vendor(
    'gcp.gen_ai',
    'gcp genai google google-ai google-genai google_ai google_genai google_generative_ai googleai',
    '',
    'google',
  ),
  vendor(
    'gcp.vertex_ai',
    'gcp_vertex_anthropic gcp_vertex_gemini google-vertex google-vertex-ai google-vertex.anthropic google-vertex.xai google-vertexai google.vertex google.vertex.anthropic google_anthropic_vertex google_vertex google_vertex_ai google_vertex_ai_anthropic google_vertex_ai_gemini google_vertexai vertex vertex-ai vertex.anthropic vertex.maas vertex_ai vertex_ai_beta vertexai',
    'aiplatform.googleapis.com *-aiplatform.googleapis.com',
    'google',
  ),
  vendor('groq', 'groqcloud', 'api.groq.com'),
  vendor('huggingface', 'hf hugging-face hugging_face', 'router.huggingface.co api-inference.huggingface.co'),
  vendor('ibm.watsonx.ai', 'ibm ibm_watsonx watsonx watsonx.ai watsonx_ai', '*.ml.cloud.ibm.com'),
  vendor('meta', 'llama_api meta_llama', 'api.llama.com'),
  vendor('minimax', '', 'api.minimax.io'),
  vendor('mistral_ai', 'mistral mistral-ai mistral.ai mistralai', 'api.mistral.ai'),
  vendor('moonshot_ai', 'kimi moonshot moonshot-ai moonshotai', 'api.moonshot.ai api.moonshot.cn'),
  vendor('nvidia', 'nim nvidia-nim nvidia_nim', 'integrate.api.nvidia.com'),
  vendor('ollama', 'ollama-chat ollama_chat', ''),
  vendor(
    'openai',
    'chatgpt open-ai open_ai openai-chat openai-responses openai_chat openai_responses text-completion-openai',
    'api.openai.com *.api.openai.com',
  ),
  vendor('openrouter', 'open-router open_router', 'openrouter.ai'),
  vendor('perplexity', 'perplexity-ai perplexity_ai pplx', 'api.perplexity.ai'),
  vendor('replicate', '', 'api.replicate.com'),
  vendor('together_ai', 'together together-ai together.ai togetherai', 'api.together.xyz api.together.ai'),
  vendor('voyage_ai', 'voyage voyageai', 'api.voyageai.com'),
  vendor('x_ai', 'grok x-ai x.ai xai', 'api.x.ai'),
  vendor('zhipu_ai', 'bigmodel z.ai zai zhipu zhipuai', 'open.bigmodel.cn api.z.ai'),
];

/** @param aliases separated by spaces, as are hosts */
function vendor(name: string, aliases: string, hosts: string, family: string | null = null): Vendor {
  const words = (text: string) => text.split(' ').filter((word) => word !== '');
  return { name, aliases: words(aliases), hosts: words(hosts), family };
}

/** The suffix for an API that AI SDK and others add to the vendor's name. */
const API_SUFFIX =
  /[./](?:batch|chat|completions?|conversation|converse|decision|embeddings?|extraction|generate|generative-ai|images?|interactions|language-?model|messages?|realtime|rerank(?:ing)?|responses?|speech(?:-translation)?|text-?embedding|transcription|video)$/i;

const SPELLINGS = VENDORS.flatMap((vendor) =>
  [vendor.name, ...vendor.aliases].map((spelling) => [spelling, vendor] as const),
);

/** The vendors by their spellings, and by their spellings without separators: `AWS Bedrock`, `azure_open_ai`. */
const BY_SPELLING: ReadonlyMap<string, Vendor> = new Map([
  ...SPELLINGS.map(([spelling, vendor]) => [withoutSeparators(spelling), vendor] as const),
  ...SPELLINGS,
]);

/** The canonical name of the vendor that a name means, in any spelling and case. Null for an unknown vendor. */
export function canonicalVendor(name: string): string | null {
  return vendorOf(name)?.name ?? null;
}

/**
 * All case-folded spellings of the vendor that a name means: the canonical name, its aliases, then the other products of the
 * same vendor. For an unknown vendor it is only the name itself.
 */
export function vendorNames(name: string): readonly string[] {
  const vendor = vendorOf(name);
  if (!vendor) return [caseFolded(name)];
  return [...new Set([vendor, ...productsOf(vendor)].flatMap((one) => [one.name, ...one.aliases]))];
}

/** The family of a vendor's products that senders confuse: `google` for `gcp.gemini` and `gcp.vertex_ai`. */
export function productFamily(name: string): string {
  const vendor = vendorOf(name);
  return vendor?.family ?? vendor?.name ?? caseFolded(name);
}

/** The canonical name of the vendor whose API is at a host. Null for other hosts. @param host in lower case, without port */
export function vendorOfHost(host: string): string | null {
  return HOSTS.find(({ pattern }) => pattern.test(host))?.name ?? null;
}

/** The API hosts of a vendor and its other products: exact hosts, and suffixes for vendors with hosts per customer or region. */
export function vendorHosts(name: string): { hosts: readonly string[]; suffixes: readonly string[] } {
  const vendor = vendorOf(name);
  const all = vendor ? productsOf(vendor).flatMap(({ hosts }) => hosts) : [];
  return {
    hosts: all.filter((host) => !host.includes('*')),
    suffixes: all.filter((host) => host.includes('*')).map((host) => host.slice(host.lastIndexOf('*') + 1)),
  };
}

/** The products of a vendor that senders confuse with it, including itself. */
function productsOf(vendor: Vendor): readonly Vendor[] {
  return vendor.family === null ? [vendor] : VENDORS.filter(({ family }) => family === vendor.family);
}

const HOSTS = VENDORS.flatMap(({ name, hosts }) => hosts.map((host) => ({ name, pattern: hostPattern(host) })));

function hostPattern(host: string): RegExp {
  const text = host
    .replaceAll('.', '\\.')
    .replace(/^\*\\\./, '(?:[^.]+\\.)+')
    .replaceAll('*', '[^.]+');
  return new RegExp(`^${text}$`);
}

/** A bound, because each suffix takes another pass over the name. Senders choose its length. */
const MAX_NAME_CHARACTERS = 200;

function vendorOf(name: string): Vendor | undefined {
  if (name.length > MAX_NAME_CHARACTERS) return undefined;
  let spelling = caseFolded(name).trim();
  for (;;) {
    const vendor = BY_SPELLING.get(spelling) ?? BY_SPELLING.get(withoutSeparators(spelling));
    if (vendor) return vendor;
    const shorter = withoutApi(spelling);
    if (shorter === spelling) return undefined;
    spelling = shorter;
  }
}

/** `openai` for `openai.chat`. */
export function withoutApi(name: string): string {
  return name.replace(API_SUFFIX, '');
}

function withoutSeparators(spelling: string): string {
  return spelling.replaceAll(/[\s._-]+/g, '');
}
