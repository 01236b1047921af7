/** OpenAI Agents SDK under PromptLayer's tracing processor. */
import { instrumentOpenAIAgents } from 'promptlayer/openai-agents';
import { telemetryUrl } from '../../recorder/program.ts';
import { runAgents } from './agents.ts';

const processor = await instrumentOpenAIAgents({ apiKey: 'scripted', baseURL: telemetryUrl });
await runAgents();
await processor.shutdown();
