import { anthropicSdk } from './anthropic-sdk.ts';
import { archestra } from './archestra.ts';
import { claudeCode } from './claude-code.ts';
import { cline } from './cline.ts';
import { codebuddy } from './codebuddy.ts';
import { codex } from './codex.ts';
import { copilot } from './copilot.ts';
import { cursor } from './cursor.ts';
import { agentHooks } from './agent-hooks.ts';
import { ax } from './ax.ts';
import { azureAgents } from './azure-agents.ts';
import type { Dialect } from '../reading/dialect.ts';
import { pydanticAi } from './pydantic-ai.ts';
import { mirascope } from './mirascope.ts';
import { mistral } from './mistral.ts';
import { mistralVibe } from './mistral-vibe.ts';
import { microsoftAgents } from './microsoft-agents.ts';
import { microsoftOpentelemetry } from './microsoft-opentelemetry.ts';
import { logfire } from './logfire.ts';
import { litellm } from './litellm.ts';
import { llmTracekit } from './llm-tracekit.ts';
import { bifrost } from './bifrost.ts';
import { goose } from './goose.ts';
import { traceai } from './traceai.ts';
import { trpcAgentGo } from './trpc-agent-go.ts';
import { trulens } from './trulens.ts';
import { cloudflareAgents } from './cloudflare-agents.ts';
import { contextforge } from './contextforge.ts';
import { tanstackAi } from './tanstack-ai.ts';
import { sentry } from './sentry.ts';
import { sigil } from './sigil.ts';
import { strands } from './strands.ts';
import { opencode } from './opencode.ts';
import { n8n } from './n8n.ts';
import { neurolink } from './neurolink.ts';
import { openlit } from './openlit.ts';
import { openlitClaudeAgentSdk } from './openlit-claude-agent-sdk.ts';
import { openlitLangchain } from './openlit-langchain.ts';
import { langsmith } from './langsmith.ts';
import { latitude } from './latitude.ts';
import { langtrace } from './langtrace.ts';
import { langchainMicrosoft } from './langchain-microsoft.ts';
import { langflow } from './langflow.ts';
import { langfuse } from './langfuse.ts';
import { ghAw } from './gh-aw.ts';
import { googleAdk } from './google-adk.ts';
import { beeai } from './beeai.ts';
import { geminiCli } from './gemini-cli.ts';
import { genkit } from './genkit.ts';
import { mastra } from './mastra.ts';
import { mastraLaminar } from './mastra-laminar.ts';
import { mcp } from './mcp.ts';
import { mcpAgent } from './mcp-agent.ts';
import { livekit } from './livekit.ts';
import { braintrust } from './braintrust.ts';
import { monocle } from './monocle.ts';
import { openclaw } from './openclaw.ts';
import { pipecat } from './pipecat.ts';
import { datadog } from './datadog.ts';
import { promptlayer } from './promptlayer.ts';
import { dockerAgent } from './docker-agent.ts';
import { droid } from './droid.ts';
import { embabel } from './embabel.ts';
import { eve } from './eve.ts';
import { haystack } from './haystack.ts';
import { openaiAgents } from './openai-agents.ts';
import { neatlogs } from './neatlogs.ts';
import { netra } from './netra.ts';
import { nemoAgentToolkit } from './nemo-agent-toolkit.ts';
import { openinference } from './openinference.ts';
import { openllmetry } from './openllmetry.ts';
import { openrouter } from './openrouter.ts';
import { reqLlm } from './req-llm.ts';
import { otherFrameworks } from './other-frameworks.ts';
import { vercelAi } from './vercel-ai.ts';
import { vercelAi7 } from './vercel-ai-7.ts';
import { vercelAiGateway } from './vercel-ai-gateway.ts';
import { voltagent } from './voltagent.ts';
import { weave } from './weave.ts';

/**
 * All dialects. If several signatures match, the first dialect is taken, so specific ones come first. `otherFrameworks`
 * is the fallback, and comes last.
 */
export const DIALECTS: readonly Dialect[] = [
  claudeCode,
  anthropicSdk,
  cline,
  codex,
  geminiCli,
  copilot,
  cursor,
  agentHooks,
  dockerAgent,
  droid,
  opencode,
  openllmetry,
  openaiAgents,
  vercelAi,
  vercelAi7,
  mastraLaminar,
  mastra,
  genkit,
  voltagent,
  ax,
  beeai,
  tanstackAi,
  strands,
  googleAdk,
  langsmith,
  langflow,
  langfuse,
  langtrace,
  latitude,
  n8n,
  neurolink,
  openlitClaudeAgentSdk,
  openlitLangchain,
  openlit,
  pydanticAi,
  logfire,
  litellm,
  bifrost,
  openrouter,
  vercelAiGateway,
  ghAw,
  goose,
  trpcAgentGo,
  cloudflareAgents,
  contextforge,
  archestra,
  llmTracekit,
  mcpAgent,
  mirascope,
  mistral,
  mistralVibe,
  reqLlm,
  azureAgents,
  microsoftAgents,
  microsoftOpentelemetry,
  langchainMicrosoft,
  sentry,
  sigil,
  datadog,
  openclaw,
  pipecat,
  promptlayer,
  livekit,
  embabel,
  eve,
  haystack,
  monocle,
  nemoAgentToolkit,
  openinference,
  traceai,
  braintrust,
  codebuddy,
  neatlogs,
  netra,
  weave,
  trulens,
  mcp,
  otherFrameworks,
];
