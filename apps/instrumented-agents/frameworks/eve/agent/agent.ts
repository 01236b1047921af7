import { createOpenAI } from '@ai-sdk/openai';
import { defineAgent } from 'eve';

export default defineAgent({
  model: createOpenAI().chat('gpt-5-mini'),
  // It would be asked for over the network.
  modelContextWindowTokens: 128_000,
});
