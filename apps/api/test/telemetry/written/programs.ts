import type { Program } from './program.ts';
import { ag2 } from './programs/ag2.ts';
import { haystack } from './programs/haystack.ts';
import { livekit } from './programs/livekit.ts';
import { openclaw } from './programs/openclaw.ts';
import { pipecat } from './programs/pipecat.ts';
import { quarkusLangchain4j } from './programs/quarkus-langchain4j.ts';
import { springAi } from './programs/spring-ai.ts';

/** Programs of frameworks whose packages do not run here, by name. */
export const PROGRAMS: readonly Program[] = [ag2, haystack, livekit, openclaw, pipecat, quarkusLangchain4j, springAi];
