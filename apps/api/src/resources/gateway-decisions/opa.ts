import { type InventoryKind, InventoryKindSchema } from '@quartermaster/contracts/inventory.ts';
import { type Dialect, type DialectAnswer, textOf } from './dialect.ts';

type Input = Record<string, unknown>;

/**
 * The data API of Open Policy Agent. It always answers 200 with a decision: ContextForge takes every error as permission, and
 * the AI SDK takes a document without a decision as permission.
 */
export const OPA: Dialect = {
  point: 'opa',
  async answer({ body, rest, find, ask, refuse }) {
    const input: Input = body.input ?? {};
    // ContextForge also asks about results. There is nothing to decide.
    if (input['mode'] === 'output') return result(true, null);
    const use = useOf(input);
    if (use === null) return worded(refuse('name_missing'));
    const [first = null, second, ...further] = rest.split('/');
    if (further.length > 0) return worded(refuse('provider_not_listed'));
    // The path is configured by the operator, so it comes before the input.
    const named = textOf(input, 'provider') ?? textOf(input['runtimeContext'], 'provider');
    return worded(await ask({ ...use, provider: find(second === undefined ? named : first) }));
  },
  refusal: (detail) => result(false, detail),
};

/** What the input wants to use: of `@ai-sdk/policy-opa`, of ContextForge, or plain. */
function useOf(input: Input): { kind: InventoryKind; name: string } | null {
  const kind = textOf(input, 'kind');
  const tool = textOf(input['tool'], 'name');
  if (tool !== null) return { kind: 'tool', name: tool };
  const uri = textOf(input['payload'], 'uri');
  if (uri !== null) return { kind: 'resource', name: uri };
  const payload = textOf(input['payload'], 'name');
  if (payload !== null) return { kind: kind?.startsWith('prompt_') === true ? 'prompt' : 'tool', name: payload };
  const name = textOf(input, 'name');
  const known = InventoryKindSchema.safeParse(kind ?? 'tool').data;
  return name === null || known === undefined ? null : { kind: known, name };
}

function worded({ allowed, explanation }: DialectAnswer): object {
  return result(allowed, explanation);
}

function result(allow: boolean, reason: string | null): object {
  return {
    result: {
      allow,
      decision: allow ? 'allow' : 'deny',
      deny: allow || reason === null ? [] : [reason],
      reason,
    },
  };
}
