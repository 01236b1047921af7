/**
 * Sentry's instrumentations of the clients of Anthropic and Google: for each a web search of the vendor, the same as a stream, and a
 * failure. An embedding by Google.
 */
import Anthropic from '@anthropic-ai/sdk';
import { GoogleGenAI } from '@google/genai';
import * as Sentry from '@sentry/node';
import { MARKERS } from '../../model-server/markers.ts';
import { modelServerUrl } from '../../recorder/program.ts';

const anthropic = new Anthropic({ baseURL: modelServerUrl, apiKey: 'scripted', maxRetries: 0 });
const asked = {
  model: 'claude-sonnet-5',
  max_tokens: 1000,
  messages: [{ role: 'user' as const, content: MARKERS.question }],
  tools: [{ type: 'web_search_20250305' as const, name: 'web_search' as const }],
};
await anthropic.messages.create(asked);
for await (const event of await anthropic.messages.create({ ...asked, stream: true })) void event;
await anthropic.messages.stream(asked).finalMessage();
await anthropic.beta.messages.create(asked);
const failing = [{ role: 'user' as const, content: MARKERS.fail }];
await anthropic.messages.create({ ...asked, messages: failing }).catch(() => undefined);

const { models, chats } = new GoogleGenAI({ apiKey: 'scripted', httpOptions: { baseUrl: modelServerUrl } });
const model = 'gemini-3-flash';
const searching = { model, contents: MARKERS.question, config: { tools: [{ googleSearch: {} }] } };
await models.generateContent(searching);
for await (const chunk of await models.generateContentStream(searching)) void chunk;
await chats.create({ model }).sendMessage({ message: MARKERS.question });
await models.generateContent({ model, contents: MARKERS.fail }).catch(() => undefined);
await models.embedContent({ model: 'gemini-embedding-001', contents: MARKERS.document });

await Sentry.close(2000);
