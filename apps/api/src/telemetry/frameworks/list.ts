import type { Dialect } from '../reading/dialect.ts';
import { agentHooks } from './agent-hooks.ts';
import { anthropicSdk, claudeCode } from './anthropic.ts';
import { ax } from './ax.ts';
import { braintrust } from './braintrust.ts';
import { cloudflareAgents } from './cloudflare-agents.ts';
import { codex } from './codex.ts';
import { cline, codebuddy, dockerAgent, droid, goose } from './coding-agents.ts';
import { cursor } from './cursor.ts';
import { datadog } from './datadog.ts';
import { embabel } from './embabel.ts';
import { archestra, bifrost, litellm, openrouter } from './gateways.ts';
import { copilot, ghAw } from './github.ts';
import { geminiCli, genkit, googleAdk } from './google.ts';
import { haystack } from './haystack.ts';
import { beeai, contextforge, langflow } from './ibm.ts';
import { langsmith } from './langchain.ts';
import { langfuse } from './langfuse.ts';
import { langtrace } from './langtrace.ts';
import { mastra, mastraLaminar } from './mastra.ts';
import { mcp } from './mcp.ts';
import { mcpAgent } from './mcp-agent.ts';
import { azureAgents, langchainMicrosoft, microsoftAgents, microsoftOpentelemetry } from './microsoft.ts';
import { mirascope } from './mirascope.ts';
import { mistral, mistralVibe } from './mistral.ts';
import { monocle } from './monocle.ts';
import { n8n } from './n8n.ts';
import { neatlogs } from './neatlogs.ts';
import { neurolink } from './neurolink.ts';
import { latitude, llmTracekit, netra, openaiAgents, promptlayer } from './openai-agents.ts';
import { openclaw } from './openclaw.ts';
import { opencode } from './opencode.ts';
import { nemoAgentToolkit, openinference } from './openinference.ts';
import { openlit, openlitClaudeAgentSdk, openlitLangchain } from './openlit.ts';
import { openllmetry } from './openllmetry.ts';
import { otherFrameworks } from './other-frameworks.ts';
import { logfire, pydanticAi } from './pydantic.ts';
import { reqLlm } from './req-llm.ts';
import { sentry } from './sentry.ts';
import { sigil } from './sigil.ts';
import { strands } from './strands.ts';
import { tanstackAi } from './tanstack-ai.ts';
import { traceai } from './traceai.ts';
import { trpcAgentGo } from './trpc-agent-go.ts';
import { trulens } from './trulens.ts';
import { eve, vercelAi, vercelAi7, vercelAiGateway } from './vercel.ts';
import { livekit, pipecat } from './voice-agents.ts';
import { voltagent } from './voltagent.ts';
import { weave } from './weave.ts';

/** Known by their scope alone. */
const WITH_SCOPE: readonly Dialect[] = [
  agentHooks,
  anthropicSdk,
  archestra,
  claudeCode,
  cline,
  codebuddy,
  cursor,
  datadog,
  droid,
  eve,
  geminiCli,
  ghAw,
  goose,
  langchainMicrosoft,
  langflow,
  latitude,
  llmTracekit,
  logfire,
  mastraLaminar,
  mcpAgent,
  microsoftOpentelemetry,
  mistral,
  mistralVibe,
  n8n,
  neatlogs,
  netra,
  openaiAgents,
  opencode,
  openlitClaudeAgentSdk,
  openlitLangchain,
  openrouter,
  pipecat,
  promptlayer,
  sentry,
  traceai,
  trpcAgentGo,
  vercelAi7,
  weave,
];

/** Known by attributes as well. If a span of an unknown scope has attributes of several of them, it is of the first. */
const WITH_SIGNATURE: readonly Dialect[] = [
  codex,
  copilot,
  dockerAgent,
  openllmetry,
  vercelAi,
  mastra,
  genkit,
  voltagent,
  ax,
  beeai,
  tanstackAi,
  strands,
  googleAdk,
  langsmith,
  langfuse,
  langtrace,
  neurolink,
  openlit,
  pydanticAi,
  litellm,
  bifrost,
  vercelAiGateway,
  cloudflareAgents,
  contextforge,
  mirascope,
  reqLlm,
  azureAgents,
  microsoftAgents,
  sigil,
  openclaw,
  livekit,
  embabel,
  haystack,
  monocle,
  nemoAgentToolkit,
  openinference,
  braintrust,
  trulens,
];

/** What no framework claims. */
const CONVENTIONS: readonly Dialect[] = [mcp, otherFrameworks];

/** All dialects. */
export const DIALECTS: readonly Dialect[] = [...WITH_SCOPE, ...WITH_SIGNATURE, ...CONVENTIONS];
