import type { AccessEvaluation } from '@quartermaster/contracts/decision-dialects.ts';
import { type InventoryKind, InventoryKindSchema } from '@quartermaster/contracts/inventory.ts';
import { type Dialect, type DialectAnswer, type DialectRequest, textOf } from './dialect.ts';

/** Actions that use an item, and those that list items. Lists are filtered with them, so their denials are no attempts. */
const USES = new Set([
  'use',
  'call',
  'invoke',
  'execute',
  'read',
  'get',
  'tools/call',
  'prompts/get',
  'resources/read',
]);
const SUBSCRIBES = new Set(['resources/subscribe']);
const LISTS = new Set(['list', 'tools/list', 'prompts/list', 'resources/list']);

/** The types of AuthZEN's resources are the kinds of the inventory. */
function kindOf(type: string): InventoryKind | null {
  return InventoryKindSchema.safeParse(type).data ?? null;
}

type Entity = { type: string; id: string; properties?: unknown };
type Evaluation = { subject?: Entity; action?: { name: string }; resource?: Entity };

/** OpenID AuthZEN Authorization API 1.0: evaluation (section 6) and evaluations (section 7). */
export const AUTHZEN: Dialect = {
  point: 'authzen',
  async answer(request) {
    const { evaluations, options, ...defaults } = request.body as Evaluation & {
      evaluations?: Evaluation[];
      options?: { evaluations_semantic?: string };
    };
    if (evaluations === undefined || evaluations.length === 0) return evaluate(request, defaults);
    const last = LAST_DECISIONS.get(options?.evaluations_semantic ?? 'execute_all');
    const answers: AccessEvaluation[] = [];
    for (const evaluation of evaluations) {
      const answer = await evaluate(request, { ...defaults, ...evaluation });
      answers.push(answer);
      if (answer.decision === last) break;
    }
    return { evaluations: answers };
  },
};

/** The decision that ends the evaluations. */
const LAST_DECISIONS = new Map([
  ['deny_on_first_deny', false],
  ['permit_on_first_permit', true],
]);

async function evaluate(request: DialectRequest, { subject, action, resource }: Evaluation): Promise<AccessEvaluation> {
  if (!subject || !action || !resource) return worded(request.refuse('request_incomplete'));
  const isList = LISTS.has(action.name);
  if (!isList && !USES.has(action.name) && !SUBSCRIBES.has(action.name))
    return worded(request.refuse('action_unknown'));
  const kind = kindOf(resource.type);
  if (kind === null) return worded(request.refuse('resource_unknown'));
  const found = await request.subjectOf(subject.type, subject.id, textOf(subject.properties, 'token'));
  if (typeof found === 'string') return worded(request.refuse(found), false);
  const provider = request.find(textOf(resource.properties, 'provider'));
  return worded(await request.ask({ provider, kind, name: resource.id, uncounted: isList }, found));
}

/** @param decision in place of that of the answer: a subject without rights is denied in the mode `observe`, too */
function worded(answer: DialectAnswer, decision = answer.allowed): AccessEvaluation {
  const { reason, mode, observationId, reviewUrl } = answer;
  return { decision, context: { reason, mode, observation_id: observationId, review_url: reviewUrl } };
}

/** The metadata of a policy decision point: a gateway, or one of its providers (section 9). @param path the path of the decision point */
export function authzenMetadata(publicUrl: string, path: string): object {
  const point = publicUrl + path;
  return {
    policy_decision_point: point,
    access_evaluation_endpoint: `${point}/access/v1/evaluation`,
    access_evaluations_endpoint: `${point}/access/v1/evaluations`,
  };
}
