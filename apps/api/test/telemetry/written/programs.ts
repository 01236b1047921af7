import type { Program } from './program.ts';
import { ag2 } from './programs/ag2.ts';
import { agentops, laminar } from './programs/agentops.ts';
import { braintrust } from './programs/braintrust.ts';
import { cline } from './programs/coding-agents.ts';
import { agentFrameworkDotnet, loongsuite, opentelemetryGenaiEvents } from './programs/conventions.ts';
import { crewaiOpeninference, crewaiOpenlit, crewaiOpenllmetry } from './programs/crewai.ts';
import { eino, rig, trpcAgentGo } from './programs/go-and-rust.ts';
import { haystack } from './programs/haystack.ts';
import { koog } from './programs/koog.ts';
import { livekit } from './programs/livekit.ts';
import { envoyAiGateway, fastmcp, mcpCsharp } from './programs/mcp-gateways.ts';
import { monocle } from './programs/monocle.ts';
import { openclaw } from './programs/openclaw.ts';
import { agno, dspy, smolagents } from './programs/openinference-python.ts';
import { pipecat } from './programs/pipecat.ts';
import { quarkusLangchain4j } from './programs/quarkus-langchain4j.ts';
import { semanticKernel } from './programs/semantic-kernel.ts';
import { springAi } from './programs/spring-ai.ts';

/** Programs of frameworks whose packages do not run here, by name. */
export const PROGRAMS: readonly Program[] = [
  ag2,
  agentFrameworkDotnet,
  agentops,
  agno,
  braintrust,
  cline,
  crewaiOpeninference,
  crewaiOpenlit,
  crewaiOpenllmetry,
  dspy,
  eino,
  envoyAiGateway,
  fastmcp,
  haystack,
  koog,
  laminar,
  livekit,
  loongsuite,
  mcpCsharp,
  monocle,
  openclaw,
  opentelemetryGenaiEvents,
  pipecat,
  quarkusLangchain4j,
  rig,
  semanticKernel,
  smolagents,
  springAi,
  trpcAgentGo,
];
