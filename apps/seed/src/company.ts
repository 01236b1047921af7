/**
 * The company that the seed creates: Northwind Traders, its logistics subsidiary, and a consultancy that works for it. This
 * file has only data. The other files turn it into API calls.
 */
import type { CreateManifestInput } from '@quartermaster/client';
import {
  type Agent,
  type DeclaredGateway,
  type DeclaredProvider,
  listUses,
  type Offered,
  type Person,
  type Place,
  type Uses,
} from './company-types.ts';

const NORTHWIND = 'northwind';
const LOGISTICS = 'northwind-logistics';
const PARTNER = 'lighthouse-consulting';

export const TENANTS = [
  { id: NORTHWIND, displayName: 'Northwind Traders', settings: { spanRetentionDays: 90 } },
  { id: LOGISTICS, displayName: 'Northwind Logistics', settings: { spanRetentionDays: 30 } },
  { id: PARTNER, displayName: 'Lighthouse Consulting', settings: { captureContent: true, spanRetentionDays: 14 } },
];

/** The tenant of most examples. */
export const MAIN_TENANT = NORTHWIND;

export const PEOPLE: readonly Person[] = [
  { email: 'ada.fischer@northwind.example', name: 'Ada Fischer', role: 'owner', ...whole(NORTHWIND) },
  { email: 'tom.okafor@northwind.example', name: 'Tom Okafor', role: 'admin', ...whole(NORTHWIND) },
  { email: 'priya.nair@northwind.example', name: 'Priya Nair', role: 'operator', ...whole(NORTHWIND) },
  { email: 'jonas.weber@northwind.example', name: 'Jonas Weber', role: 'viewer', ...whole(NORTHWIND) },
  { email: 'mei.lin@northwind.example', name: 'Mei Lin', role: 'admin', ...part(NORTHWIND, 'sales') },
  { email: 'sam.carter@northwind.example', name: 'Sam Carter', role: 'operator', ...part(NORTHWIND, 'support') },
  { email: 'ines.duarte@northwind.example', name: 'Inês Duarte', role: 'viewer', ...part(NORTHWIND, 'finance') },
  { email: 'leo.novak@northwind.example', name: 'Leo Novak', role: 'operator', ...part(NORTHWIND, 'engineering') },
  { email: 'kai.hansen@northwind.example', name: 'Kai Hansen', role: 'viewer', ...whole(NORTHWIND), state: 'disabled' },
  { email: 'rosa.diaz@northwind.example', name: 'Rosa Diaz', role: 'viewer', ...whole(NORTHWIND), state: 'invited' },
  { email: 'olga.petrova@northwind-logistics.example', name: 'Olga Petrova', role: 'owner', ...whole(LOGISTICS) },
  { email: 'ben.adeyemi@northwind-logistics.example', name: 'Ben Adeyemi', role: 'operator', ...whole(LOGISTICS) },
  { email: 'yuki.mori@northwind-logistics.example', name: 'Yuki Mori', role: 'viewer', ...part(LOGISTICS, 'fleet') },
  { email: 'claire.martin@lighthouse.example', name: 'Claire Martin', role: 'owner', ...whole(PARTNER) },
  { email: 'raj.patel@lighthouse.example', name: 'Raj Patel', role: 'operator', ...part(PARTNER, 'research') },
  { email: 'ada.fischer@northwind.example', name: 'Ada Fischer', role: 'viewer', ...whole(PARTNER), state: 'invited' },
];

/** A person who registered, without a sign-in or an invitation. */
export const COLLEAGUE = { email: 'new.colleague@northwind.example', displayName: 'Nadia Colleague' };

/** The person who decides about observations in each tenant. */
export const OPERATORS: Record<string, string> = {
  [NORTHWIND]: 'priya.nair@northwind.example',
  [LOGISTICS]: 'ben.adeyemi@northwind-logistics.example',
  [PARTNER]: 'claire.martin@lighthouse.example',
};

export const AGENTS: readonly Agent[] = [
  {
    id: 'support-triage',
    about: 'Sorts incoming tickets',
    ...at(NORTHWIND, 'support'),
    expiresInDays: 5,
    uses: {
      openai: ['model gpt-5', 'model gpt-4-turbo'],
      zendesk: ['tool search_tickets', 'tool add_comment'],
      'knowledge-base': [
        'tool search_articles',
        'tool get_article',
        'prompt summarise_ticket',
        'resource kb://returns',
      ],
    },
  },
  {
    id: 'sales-assistant',
    about: 'Prepares offers',
    ...at(NORTHWIND, 'sales'),
    environments: ['production', 'staging'],
    uses: {
      anthropic: ['model claude-sonnet-4-5'],
      openai: ['model o9-preview'],
      deepseek: ['model deepseek-chat'],
      salesforce: ['tool find_account', 'tool update_opportunity'],
      slack: ['tool post_message'],
      'google-drive': ['resource drive://price-list'],
    },
  },
  {
    id: 'code-reviewer',
    about: 'Reviews pull requests',
    ...at(NORTHWIND, 'engineering'),
    environments: ['staging'],
    uses: {
      anthropic: ['model claude-opus-4-1'],
      mistral: ['model codestral-2508'],
      github: ['tool get_pull_request', 'tool create_review', 'tool delete_repository', 'prompt review_checklist'],
      jira: ['tool get_issue'],
      filesystem: ['tool read_file', 'tool write_file'],
    },
  },
  {
    id: 'release-manager',
    about: 'Hands work to other agents',
    ...at(NORTHWIND, 'engineering'),
    expiresInDays: 2,
    uses: {
      openai: ['model gpt-5', 'model gpt-5-mini'],
      github: ['tool create_release'],
      jira: ['tool transition_issue'],
      slack: ['tool post_message'],
      'agent-runtime': ['agent release-planner'],
    },
  },
  {
    id: 'invoice-matcher',
    about: 'Matches invoices with orders',
    ...at(NORTHWIND, 'finance'),
    uses: {
      ollama: ['model llama3.3'],
      openai: ['model gpt-4o'],
      postgres: ['tool query', 'resource postgres://ledger/invoices'],
      stripe: ['tool list_charges'],
    },
  },
  {
    id: 'data-platform',
    about: 'Builds nightly reports',
    ...at(NORTHWIND),
    uses: {
      google: ['model gemini-3-pro', 'model text-embedding-5'],
      postgres: ['tool query', 'tool explain'],
      snowflake: ['tool run_query'],
      'knowledge-base': ['tool search_articles'],
    },
  },
  {
    id: 'route-planner',
    about: 'Plans delivery routes',
    ...at(LOGISTICS, 'fleet'),
    uses: {
      bedrock: ['model amazon.nova-pro-v1'],
      maps: ['tool directions', 'tool distance_matrix'],
      weather: ['tool forecast'],
      telematics: ['tool vehicle_position'],
    },
  },
  {
    id: 'stock-keeper',
    about: 'Orders what runs out',
    ...at(LOGISTICS, 'warehouse'),
    expiresInDays: 30,
    uses: {
      bedrock: ['model anthropic.claude-haiku-4-5'],
      openai: ['model gpt-5'],
      'warehouse-db': ['tool stock_level', 'tool reserve'],
      maps: ['tool geocode'],
    },
  },
  {
    id: 'research-analyst',
    about: 'Writes market reports',
    ...at(PARTNER, 'research'),
    environments: [null],
    uses: {
      'azure-openai': ['model gpt-5'],
      perplexity: ['model sonar-pro'],
      notion: ['tool search_pages'],
      filesystem: ['tool read_file'],
      brave: ['tool web_search'],
      gitlab: ['tool list_projects'],
    },
  },
];

const OPENAI = { name: 'openai', displayName: 'OpenAI', kind: 'llm', baseUrl: 'https://api.openai.com/v1' } as const;
const FILES = { name: 'filesystem', displayName: 'File system', kind: 'mcp' } as const;

export const PROVIDERS: readonly DeclaredProvider[] = [
  { ...OPENAI, ...at(NORTHWIND), offers: { model: ['gpt-5', 'gpt-5-mini', 'gpt-4-turbo', 'text-embedding-3-large'] } },
  vendor('anthropic', 'Anthropic', 'https://api.anthropic.com', ['claude-sonnet-4-5', 'claude-opus-4-1']),
  vendor('google', 'Google Gemini', 'https://generativelanguage.googleapis.com', ['gemini-3-pro', 'gemini-3-flash']),
  vendor('mistral', 'Mistral AI', 'https://api.mistral.ai/v1', ['mistral-large-2512', 'codestral-2508']),
  vendor('ollama', 'Ollama, on our own machines', 'http://ollama.northwind.example:11434', ['llama3.3', 'qwen3']),
  { ...vendor('cohere', 'Cohere', 'https://api.cohere.com', ['command-a']), status: 'disabled' },
  { ...vendor('groq', 'Groq', 'https://api.groq.com/openai/v1', []), status: 'deleted' },
  tools('github', 'GitHub', {
    tool: ['get_pull_request', 'create_review', 'create_release', 'delete_repository', 'search_code'],
    prompt: ['review_checklist'],
    resource: ['repo://northwind/shop'],
  }),
  tools('jira', 'Jira', { tool: ['get_issue', 'create_issue', 'transition_issue'], resource: ['jira://board/42'] }),
  tools('postgres', 'PostgreSQL, read only', { tool: ['query'], resource: ['postgres://ledger/invoices'] }),
  tools('slack', 'Slack', { tool: ['post_message', 'list_channels', 'search_messages'] }),
  { ...tools('zendesk', 'Zendesk', { tool: ['search_tickets', 'add_comment'] }), subTenantId: 'support' },
  { ...tools('salesforce', 'Salesforce', { tool: ['find_account'], prompt: ['offer_letter'] }), subTenantId: 'sales' },
  tools('google-drive', 'Google Drive', { tool: ['search_files'], resource: ['drive://price-list'] }),
  { ...FILES, ...at(NORTHWIND), offers: { tool: ['read_file', 'list_directory'] } },
  { ...tools('snowflake', 'Snowflake', { tool: ['run_query'] }), status: 'disabled' },
  { name: 'agent-runtime', displayName: 'Agent runtime', kind: 'agent_runtime', ...at(NORTHWIND) },
  channel('support-mailbox', 'Support mailbox', { channel: ['support@northwind.example'] }),
  channel('web-chat', 'Web chat', { channel: ['shop.northwind.example'] }),
  { ...OPENAI, ...at(LOGISTICS), offers: { model: ['gpt-5-mini'] } },
  {
    ...vendor('bedrock', 'Amazon Bedrock', 'https://bedrock-runtime.eu-central-1.amazonaws.com', [
      'amazon.nova-pro-v1',
      'anthropic.claude-haiku-4-5',
    ]),
    tenantId: LOGISTICS,
  },
  { ...tools('maps', 'Maps', { tool: ['directions', 'distance_matrix', 'geocode'] }), tenantId: LOGISTICS },
  { ...tools('telematics', 'Vehicle telematics', { tool: ['vehicle_position'] }), ...at(LOGISTICS, 'fleet') },
  { ...tools('warehouse-db', 'Warehouse database', { tool: ['stock_level'] }), ...at(LOGISTICS, 'warehouse') },
  {
    ...vendor('azure-openai', 'Azure OpenAI', 'https://lighthouse.openai.azure.com', ['gpt-5']),
    tenantId: PARTNER,
  },
  { ...tools('notion', 'Notion', { tool: ['search_pages', 'create_page'] }), tenantId: PARTNER },
  { ...FILES, ...at(PARTNER), offers: { tool: ['read_file'] } },
  { ...tools('gitlab', 'GitLab', { tool: ['list_projects'] }), tenantId: PARTNER, status: 'disabled' },
];

/** The provider that the seed's own MCP server plays, and the provider whose sync fails. */
export const SYNCED = { ...at(NORTHWIND), name: 'knowledge-base', displayName: 'Knowledge base', kind: 'mcp' } as const;
export const FAILING = { ...at(NORTHWIND), name: 'crm', displayName: 'Old CRM', kind: 'mcp' } as const;

/** Items that are declared when the agents first use them, then blocked, and then used again. */
export const BLOCKED_LATER: Uses = { openai: ['model gpt-4-turbo'], github: ['tool delete_repository'] };

/** The published manifests. A later one supersedes an earlier one of the same name. */
export const MANIFESTS: readonly (CreateManifestInput & Place)[] = [
  agentManifest('support-triage', at(NORTHWIND, 'support'), { openai: ['model gpt-5'] }),
  agentManifest('support-triage', at(NORTHWIND, 'support'), {
    openai: ['model gpt-5', 'model gpt-4-turbo'],
    zendesk: ['tool search_tickets'],
  }),
  agentManifest('sales-assistant', at(NORTHWIND, 'sales'), { salesforce: ['tool update_opportunity'] }),
  agentManifest('code-reviewer', at(NORTHWIND, 'engineering'), {
    anthropic: ['model claude-opus-4-1'],
    github: ['tool get_pull_request', 'tool create_review'],
  }),
  agentManifest('release-manager', at(NORTHWIND, 'engineering'), { 'agent-runtime': ['agent release-planner'] }),
  agentManifest('data-platform', at(NORTHWIND), {
    postgres: ['tool explain'],
    google: ['model text-embedding-5'],
  }),
  agentManifest('route-planner', at(LOGISTICS, 'fleet'), { maps: ['tool directions'] }),
  agentManifest('stock-keeper', at(LOGISTICS, 'warehouse'), { 'warehouse-db': ['tool reserve'] }),
  {
    name: 'edge-policy',
    kind: 'gateway',
    ...at(NORTHWIND),
    spec: { owner: 'Platform team', allow: [{ provider: 'openai' }, { provider: 'github', kind: 'tool' }] },
  },
  {
    name: 'support-mail',
    kind: 'channel',
    ...at(NORTHWIND),
    spec: { channel: { type: 'email', address: 'support@northwind.example' }, allow: [{ provider: 'slack' }] },
  },
];

export const GATEWAYS: readonly DeclaredGateway[] = [
  {
    name: 'edge',
    ...at(NORTHWIND),
    providers: ['openai', 'anthropic', 'github', 'jira'],
    manifest: 'edge-policy',
    sessions: ['data-platform', 'code-reviewer', 'support-triage', 'release-manager'],
  },
  { name: 'internal', ...at(NORTHWIND), providers: ['postgres', 'ollama', 'slack'], sessions: ['invoice-matcher'] },
  { name: 'retired-edge', ...at(NORTHWIND), providers: ['openai'], status: 'disabled', sessions: [] },
  { name: 'depot', ...at(LOGISTICS), providers: ['bedrock', 'maps'], sessions: ['route-planner', 'stock-keeper'] },
];

function at(tenantId: string, subTenantId?: string): Place {
  return subTenantId === undefined ? { tenantId } : { tenantId, subTenantId };
}

function whole(tenantId: string) {
  return { tenantId, state: 'accepted' } as const;
}

function part(tenantId: string, subTenantId: string) {
  return { tenantId, subTenantId, state: 'accepted' } as const;
}

function vendor(name: string, displayName: string, baseUrl: string, model: readonly string[]): DeclaredProvider {
  return { name, displayName, kind: 'llm', baseUrl, tenantId: NORTHWIND, offers: { model } };
}

/** An MCP server. */
function tools(name: string, displayName: string, offers: Offered): DeclaredProvider {
  return { name, displayName, kind: 'mcp', baseUrl: `https://${name}.mcp.example/mcp`, tenantId: NORTHWIND, offers };
}

function channel(name: string, displayName: string, offers: Offered): DeclaredProvider {
  return { name, displayName, kind: 'channel', tenantId: NORTHWIND, offers };
}

function agentManifest(name: string, place: Place, uses: Uses): CreateManifestInput & Place {
  return { name, kind: 'agent', ...place, spec: { owner: 'Platform team', declares: listUses(uses) } };
}
