import { openAiFailure } from './openai-chat.ts';
import type { Route } from './route.ts';
import { datedModel, EMBEDDING_TOKENS, mustFail } from './scenario.ts';

type EmbeddingRequest = { model: string; input: string | unknown[]; encoding_format?: 'float' | 'base64' };

const VECTOR = [0.25, 0.5];

/** Embeddings as OpenAI serves them: https://platform.openai.com/docs/api-reference/embeddings */
export const openAiEmbeddings: Route = {
  path: /^\/v1\/embeddings$/,
  vendor: 'openai',
  answer(request) {
    if (mustFail(request.body)) return openAiFailure(request);
    const { model, input, encoding_format: format } = request.body as EmbeddingRequest;
    const texts = Array.isArray(input) ? input.length : 1;
    const embedding = format === 'base64' ? Buffer.from(new Float32Array(VECTOR).buffer).toString('base64') : VECTOR;
    const data = Array.from({ length: texts }, (_, index) => ({ object: 'embedding', index, embedding }));
    const tokens = EMBEDDING_TOKENS * texts;
    const usage = { prompt_tokens: tokens, total_tokens: tokens };
    const json = { object: 'list', model: datedModel(model), data, usage };
    return { model, inputTokens: tokens, outputTokens: 0, response: { status: 200, json } };
  },
};
