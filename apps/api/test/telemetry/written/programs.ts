import type { Program } from './program.ts';
import { ag2 } from './programs/ag2.ts';
import { agentFrameworkPython } from './programs/agent-framework-python.ts';
import { agentops, laminar } from './programs/agentops.ts';
import { agentscope } from './programs/agentscope.ts';
import { anyAgent } from './programs/any-agent.ts';
import { azureAgents } from './programs/azure-agents.ts';
import { braintrust } from './programs/braintrust.ts';
import { claudeApi } from './programs/claude-api.ts';
import { cloudflareAgents } from './programs/cloudflare-agents.ts';
import { agentHooks, cline, codebuddy, cursor, cursorHooks, goose } from './programs/coding-agents.ts';
import { agentFrameworkDotnet, loongsuite, opentelemetryGenaiEvents } from './programs/conventions.ts';
import { crewaiOpeninference, crewaiOpenlit, crewaiOpenllmetry } from './programs/crewai.ts';
import { eino, rig, trpcAgentGo } from './programs/go-and-rust.ts';
import { ghAw } from './programs/gh-aw.ts';
import { googleAdkPython } from './programs/google-adk-python.ts';
import { haystack } from './programs/haystack.ts';
import { honeyhive } from './programs/honeyhive.ts';
import { koog } from './programs/koog.ts';
import { langchain4j, langchain4jCdi } from './programs/langchain4j.ts';
import { langflow } from './programs/langflow.ts';
import { langgraphOpenllmetryPython } from './programs/langgraph-python.ts';
import { librechat } from './programs/librechat.ts';
import { litellm, litellmV2 } from './programs/litellm.ts';
import { llamaindexOpeninference, llamaindexOpenllmetry } from './programs/llamaindex.ts';
import { livekit } from './programs/livekit.ts';
import {
  agentgateway,
  archestra,
  bifrost,
  contextforge,
  envoyAiGateway,
  fastmcp,
  mcpCsharp,
  toolhive,
} from './programs/mcp-gateways.ts';
import { openhands } from './programs/openhands.ts';
import { openrouter, tensorzero, vercelAiGateway } from './programs/model-gateways.ts';
import { mlflow } from './programs/mlflow.ts';
import { mirascope } from './programs/mirascope.ts';
import { mistralVibe } from './programs/mistral-vibe.ts';
import { mcpAgent, mcpPython } from './programs/mcp-python.ts';
import { monocle } from './programs/monocle.ts';
import { n8n } from './programs/n8n.ts';
import { netra } from './programs/netra.ts';
import {
  openaiAgentsLogfire,
  openaiAgentsOpeninference,
  openaiAgentsOpenllmetry,
  openaiAgentsOpentelemetry,
  openaiAgentsTracekit,
} from './programs/openai-agents-python.ts';
import { openclaw } from './programs/openclaw.ts';
import { agno, dspy, smolagents } from './programs/openinference-python.ts';
import { pipecat } from './programs/pipecat.ts';
import { pydanticAi } from './programs/pydantic-ai.ts';
import { quarkusLangchain4j } from './programs/quarkus-langchain4j.ts';
import { respan } from './programs/respan.ts';
import { reqLlm } from './programs/req-llm.ts';
import { rubyLlm } from './programs/ruby-llm.ts';
import { semanticKernel, semanticKernelDotnet, semanticKernelJava } from './programs/semantic-kernel.ts';
import { daprAgents } from './programs/dapr-agents.ts';
import { dockerAgent } from './programs/docker-agent.ts';
import { embabel } from './programs/embabel.ts';
import { inkeepAgents } from './programs/inkeep-agents.ts';
import { springAi } from './programs/spring-ai.ts';
import { strandsPython } from './programs/strands-python.ts';
import { temporalAiSdk, temporalOpenaiAgents } from './programs/temporal.ts';
import { trulensLanggraph } from './programs/trulens.ts';
import { weave } from './programs/weave.ts';

/** Programs of frameworks whose packages do not run here, by name. */
export const PROGRAMS: readonly Program[] = [
  ag2,
  agentFrameworkDotnet,
  agentFrameworkPython,
  agentgateway,
  agentops,
  agentscope,
  agno,
  anyAgent,
  archestra,
  azureAgents,
  bifrost,
  braintrust,
  claudeApi,
  cline,
  cloudflareAgents,
  codebuddy,
  contextforge,
  crewaiOpeninference,
  crewaiOpenlit,
  crewaiOpenllmetry,
  cursor,
  cursorHooks,
  agentHooks,
  daprAgents,
  dockerAgent,
  dspy,
  eino,
  embabel,
  envoyAiGateway,
  fastmcp,
  ghAw,
  goose,
  googleAdkPython,
  haystack,
  honeyhive,
  inkeepAgents,
  koog,
  laminar,
  langchain4j,
  langchain4jCdi,
  langflow,
  langgraphOpenllmetryPython,
  librechat,
  litellm,
  litellmV2,
  livekit,
  llamaindexOpeninference,
  llamaindexOpenllmetry,
  loongsuite,
  mcpAgent,
  mcpCsharp,
  mirascope,
  mistralVibe,
  mcpPython,
  mlflow,
  monocle,
  n8n,
  netra,
  openaiAgentsLogfire,
  openaiAgentsOpeninference,
  openaiAgentsOpenllmetry,
  openaiAgentsOpentelemetry,
  openaiAgentsTracekit,
  openclaw,
  openhands,
  openrouter,
  opentelemetryGenaiEvents,
  pipecat,
  pydanticAi,
  quarkusLangchain4j,
  respan,
  reqLlm,
  rig,
  rubyLlm,
  semanticKernel,
  semanticKernelDotnet,
  semanticKernelJava,
  smolagents,
  springAi,
  strandsPython,
  temporalAiSdk,
  temporalOpenaiAgents,
  tensorzero,
  toolhive,
  trpcAgentGo,
  trulensLanggraph,
  vercelAiGateway,
  weave,
];
