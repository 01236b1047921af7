import type { Dialect } from './dialect.ts';
import { genai } from './genai.ts';
import { mcp } from './mcp.ts';
import { openinference } from './openinference.ts';
import { openllmetry } from './openllmetry.ts';

/**
 * All dialects. Where signatures of several fit, the first one is taken, so the specific ones come first. `genai` is the
 * fallback for spans that carry `gen_ai.*` under an unknown scope, and stays last.
 */
export const DIALECTS: readonly Dialect[] = [openllmetry, openinference, mcp, genai];
