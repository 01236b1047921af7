import { MARKERS } from './markers.ts';
import { EMBEDDING_TOKENS, ERROR_TEXT, ANSWER, mustFail, planCalls, TOKENS } from './scenario.ts';
import { type Answer, type Route, serverSentEvent } from './route.ts';

type Part = {
  text?: string;
  functionCall?: { name: string };
  functionResponse?: { name: string; response?: Record<string, unknown> };
};

type GeminiRequest = {
  contents: { role?: string; parts: Part[] }[];
  tools?: { functionDeclarations?: { name: string }[]; googleSearch?: object }[];
  requests?: unknown[];
};

/** What thinking took is no part of the candidates' tokens here. */
const USAGE = {
  promptTokenCount: TOKENS.input,
  cachedContentTokenCount: TOKENS.cachedInput,
  candidatesTokenCount: TOKENS.output - TOKENS.reasoningOutput,
  thoughtsTokenCount: TOKENS.reasoningOutput,
  totalTokenCount: TOKENS.input + TOKENS.output,
};

/** The Gemini API: https://ai.google.dev/api/generate-content, https://ai.google.dev/api/embeddings. */
export const gemini: Route = {
  path: /\/models\/[^/]+:(generateContent|streamGenerateContent|countTokens|embedContent|batchEmbedContents)$/,
  vendor: 'gcp.gemini',
  answer({ path, body: sent }) {
    // A single tool may also be sent without a list.
    const body = { ...sent, tools: [sent['tools'] ?? []].flat() } as GeminiRequest;
    const [, model = '', method] = /\/models\/([^/:]+):(\w+)$/.exec(path) ?? [];
    if (method === 'countTokens') return { response: { status: 200, json: { totalTokens: TOKENS.input } } };
    if (mustFail(body)) {
      const json = { error: { code: 400, message: ERROR_TEXT, status: 'INVALID_ARGUMENT' } };
      return { model, inputTokens: 0, outputTokens: 0, response: { status: 400, json } };
    }
    if (method === 'embedContent' || method === 'batchEmbedContents') return embeddings(model, body.requests);
    const searches = body.tools?.some(({ googleSearch }) => googleSearch !== undefined) === true;
    const answer = {
      candidates: [
        { content: { role: 'model', parts: plan(body) }, finishReason: 'STOP', index: 0, ...(searches && GROUNDING) },
      ],
      usageMetadata: USAGE,
      modelVersion: model,
      responseId: crypto.randomUUID(),
    };
    const counts = {
      model,
      inputTokens: TOKENS.input,
      outputTokens: TOKENS.output,
      vendorTools: searches ? ['google_search'] : [],
      toolResults: newToolResults(body),
    };
    if (method === 'streamGenerateContent') return { ...counts, response: { events: [serverSentEvent(answer)] } };
    return { ...counts, response: { status: 200, json: answer } };
  },
};

const GROUNDING = {
  groundingMetadata: {
    webSearchQueries: [MARKERS.toolArgument],
    groundingChunks: [{ web: { uri: 'https://weather.example/', title: MARKERS.document } }],
  },
};

function embeddings(model: string, requests: unknown[] | undefined): Answer {
  const embedding = { values: [0.1, 0.2, 0.3] };
  const json = requests === undefined ? { embedding } : { embeddings: requests.map(() => embedding) };
  const inputTokens = EMBEDDING_TOKENS * (requests?.length ?? 1);
  return { model, inputTokens, outputTokens: 0, response: { status: 200, json } };
}

/** Functions are called in the order of the scenario; a subagent answers at once. */
function plan({ contents, tools = [] }: GeminiRequest): object[] {
  const parts = contents.flatMap((content) => content.parts);
  const isSubagent = parts.some(({ text }) => text?.includes(MARKERS.subagentTask) === true);
  const offered = tools.flatMap(({ functionDeclarations = [] }) => functionDeclarations.map(({ name }) => name));
  const called = parts.flatMap(({ functionCall }) => (functionCall === undefined ? [] : [functionCall.name]));
  const calls = isSubagent ? [] : planCalls({ offered, called });
  if (calls.length === 0) return [{ text: ANSWER }];
  return calls.map((call) => ({ functionCall: { name: call.name, args: call.arguments } }));
}

/** The results that came with this request for the first time: those after the last answer. */
function newToolResults({ contents }: GeminiRequest): { name: string; failed: boolean }[] {
  const lastAnswer = contents.findLastIndex(({ role }) => role === 'model');
  return contents
    .slice(lastAnswer + 1)
    .flatMap(({ parts }) => parts)
    .flatMap(({ functionResponse: result }) =>
      result === undefined ? [] : [{ name: result.name, failed: result.response?.['error'] !== undefined }],
    );
}
