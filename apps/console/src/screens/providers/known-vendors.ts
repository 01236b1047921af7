import type { ProviderHeader } from '@quartermaster/client';

type KnownVendor = {
  label: string;
  name: string;
  baseUrl: string;
  headers: ProviderHeader[];
  /** The header of its credential. Left out: `Authorization`, with the scheme `Bearer`. */
  credentialHeader?: string;
};

/** Vendors whose models a sync can list, with what they need for that. */
export const KNOWN_VENDORS: readonly KnownVendor[] = [
  {
    label: 'Anthropic',
    name: 'anthropic',
    baseUrl: 'https://api.anthropic.com/v1',
    headers: [{ name: 'anthropic-version', value: '2023-06-01' }],
    credentialHeader: 'x-api-key',
  },
  { label: 'DeepSeek', name: 'deepseek', baseUrl: 'https://api.deepseek.com', headers: [] },
  {
    label: 'Gemini',
    name: 'gcp.gemini',
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta/openai',
    headers: [],
  },
  { label: 'Groq', name: 'groq', baseUrl: 'https://api.groq.com/openai/v1', headers: [] },
  { label: 'Mistral', name: 'mistral_ai', baseUrl: 'https://api.mistral.ai/v1', headers: [] },
  // On the machine of the service. A sync of it needs QM_ALLOW_PRIVATE_ADDRESSES.
  { label: 'Ollama', name: 'ollama', baseUrl: 'http://localhost:11434/v1', headers: [] },
  { label: 'OpenAI', name: 'openai', baseUrl: 'https://api.openai.com/v1', headers: [] },
  { label: 'OpenRouter', name: 'openrouter', baseUrl: 'https://openrouter.ai/api/v1', headers: [] },
  { label: 'Together', name: 'together_ai', baseUrl: 'https://api.together.xyz/v1', headers: [] },
  { label: 'xAI', name: 'x_ai', baseUrl: 'https://api.x.ai/v1', headers: [] },
];

/** The vendor whose API is at the host of an address. */
export function vendorAt(baseUrl: string | null): KnownVendor | undefined {
  if (baseUrl === null || !URL.canParse(baseUrl)) return undefined;
  const { host } = new URL(baseUrl);
  return KNOWN_VENDORS.find((vendor) => new URL(vendor.baseUrl).host === host);
}
