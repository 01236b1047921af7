import type { Dialect } from '../reading/dialect.ts';
import { TOOLS_OF_VENDORS } from '../reading/server-tools.ts';

const END_OF_ITEM = '_call';

/**
 * ReqLLM for Elixir (github.com/agentjido/req_llm, lib/req_llm/telemetry/open_telemetry.ex). It writes OpenTelemetry GenAI. Only tools
 * that the vendor ran have spans. Those of OpenAI are named like the items of its answers, `web_search_call`.
 */
export const reqLlm: Dialect = {
  name: 'req-llm',
  scopes: ['req_llm'],
  signature: ['req_llm.request_id'],
  safe: ['req_llm.request_id', 'openai.api.type', 'openai.request.service_tier', 'openai.response.service_tier'],
  serverToolsHaveSpans: true,
  alsoReads: ['gen_ai.tool.type'],
  refine({ attributes }, facts) {
    if (facts.tool === null || attributes['gen_ai.tool.type'] !== 'builtin') return;
    facts.toolRunsAt = 'vendor';
    const tool = facts.tool.endsWith(END_OF_ITEM) ? facts.tool.slice(0, -END_OF_ITEM.length) : '';
    if (TOOLS_OF_VENDORS.has(tool)) facts.tool = tool;
  },
};
