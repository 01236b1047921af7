import { type Dialect, textOf } from './dialect.ts';

/** The guardrail `generic_guardrail_api` of LiteLLM. It refuses the request if the answer is not 200. */
export const LITELLM: Dialect = {
  point: 'litellm',
  async answer({ body, find, ask, refuse }) {
    // A response has used the model already.
    if (body.input_type === 'response') return { action: 'NONE', blocked_reason: null };
    const model = textOf(body, 'model');
    if (model === null) return worded(refuse('name_missing'));
    const ofPath = find(null);
    if (ofPath !== undefined) return worded(await ask({ provider: ofPath, kind: 'model', name: model }));
    // `openai/gpt-5` is the model `gpt-5` of `openai`.
    const slash = model.indexOf('/');
    const provider = find(slash < 0 ? null : model.slice(0, slash));
    return worded(await ask({ provider, kind: 'model', name: model.slice(slash + 1) }));
  },
};

function worded({ allowed, explanation }: { allowed: boolean; explanation: string | null }): object {
  return { action: allowed ? 'NONE' : 'BLOCKED', blocked_reason: allowed ? null : explanation };
}
