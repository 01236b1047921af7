import type { AccessEvaluation } from '@quartermaster/contracts/decision-dialects.ts';
import { InventoryKindSchema } from '@quartermaster/contracts/inventory.ts';
import { nextSteps } from './access-requests.ts';
import { endpointOf } from './binding-tokens.ts';
import { type Dialect, type DialectAnswer, type DialectRequest, textOf } from './dialect.ts';

/**
 * Actions that use an item, and actions that list items. The latter filter lists, so their denials are not counted as attempts.
 */
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
  'resources/subscribe',
]);
const LISTS = new Set(['list', 'tools/list', 'prompts/list', 'resources/list']);

type Entity = { type: string; id: string; properties?: unknown };
type Evaluation = { subject?: Entity; action?: { name: string }; resource?: Entity };
type Evaluations = Evaluation & { evaluations?: Evaluation[]; options?: { evaluations_semantic?: string } };

/** OpenID AuthZEN Authorization API 1.0: evaluation (section 6) and evaluations (section 7). */
export const AUTHZEN: Dialect = {
  point: 'authzen',
  questionsIn: (body) => (body as Evaluations).evaluations?.length ?? 1,
  async answer(request) {
    const { evaluations, options, ...defaults } = request.body as Evaluations;
    const worded = wording(request);
    if (evaluations === undefined || evaluations.length === 0)
      return worded(defaults, await evaluate(request, defaults));
    const last = LAST_DECISIONS.get(options?.evaluations_semantic ?? 'execute_all');
    const answers: [Evaluation, DialectAnswer][] = [];
    for (const one of evaluations) {
      const evaluation = { ...defaults, ...one };
      const answer = await evaluate(request, evaluation);
      answers.push([evaluation, answer]);
      if (answer.allowed === last) break;
    }
    return { evaluations: await Promise.all(answers.map(([evaluation, answer]) => worded(evaluation, answer))) };
  },
};

/** By `evaluations_semantic`: the decision after which no further evaluation of a batch is made. */
const LAST_DECISIONS = new Map([
  ['deny_on_first_deny', false],
  ['permit_on_first_permit', true],
]);

async function evaluate(request: DialectRequest, { subject, action, resource }: Evaluation): Promise<DialectAnswer> {
  const { refuse, find, ask, subjectOf } = request;
  if (!subject || !action || !resource) return refuse('request_incomplete');
  const isList = LISTS.has(action.name);
  if (!isList && !USES.has(action.name)) return refuse('action_unknown');
  const kind = InventoryKindSchema.safeParse(resource.type).data;
  if (kind === undefined) return refuse('resource_unknown');
  const found = await subjectOf(subject.type, subject.id, textOf(subject.properties, 'token'));
  // A subject that is not valid is denied in the mode `observe`, too.
  if (typeof found === 'string') return { ...refuse(found), allowed: false };
  const provider = find(textOf(resource.properties, 'provider'));
  return ask({ provider, kind, name: resource.id, uncounted: isList }, found);
}

function wording(request: DialectRequest) {
  const nextStep = nextSteps(request);
  return async (evaluation: Evaluation, answer: DialectAnswer): Promise<AccessEvaluation> => {
    const { allowed, reason, mode, reviewUrl } = answer;
    const id = await answer.observationId();
    const context = { reason, mode, observation_id: id, review_url: reviewUrl };
    return { decision: allowed, context: { ...context, ...(await nextStep(evaluation, answer, id)) } };
  };
}

/**
 * The metadata of a policy decision point: a gateway, or one of its providers (section 9).
 *
 * @param path the path of the decision point
 */
export function authzenMetadata(publicUrl: string, path: string): object {
  const point = publicUrl + path;
  return {
    policy_decision_point: point,
    access_evaluation_endpoint: `${point}/access/v1/evaluation`,
    access_evaluations_endpoint: `${point}/access/v1/evaluations`,
    access_request_endpoint: endpointOf(point),
    jwks_uri: `${publicUrl}/.well-known/jwks.json`,
    capabilities: ['urn:openid:authzen:capability:access-request'],
  };
}
