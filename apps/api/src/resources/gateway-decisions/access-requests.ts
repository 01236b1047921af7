import { randomUUID } from 'node:crypto';
import type { AccessRequest, RequestAccessInput } from '@quartermaster/contracts/access-requests.ts';
import type { AccessEvaluation } from '@quartermaster/contracts/decision-dialects.ts';
import type { OperatorTask } from '@quartermaster/contracts/operator-tasks.ts';
import type { RuntimeObservation } from '@quartermaster/contracts/runtime-observations.ts';
import { listDenials } from '@quartermaster/db/repositories/decision-counts.ts';
import { findLastOperatorTask, findOperatorTask } from '@quartermaster/db/repositories/operator-tasks.ts';
import { findObservation } from '@quartermaster/db/repositories/runtime-observations.ts';
import { wholeTenant } from '@quartermaster/db/tenancy.ts';
import { reviewTask } from '../../governance/observations/review-task.ts';
import { actorOf } from '../../platform/audit/audited-write.ts';
import { canonicalDigest } from '../../platform/canonical-digest.ts';
import { ApiError } from '../../platform/errors.ts';
import { endpointOf, invalidBinding } from './binding-tokens.ts';
import { type Dialect, type DialectAnswer, type DialectRequest, textOf } from './dialect.ts';
import { reviewUrlOf } from './receiver.ts';

// AuthZEN Access Request and Approval Profile 1.0, draft 1. Its task is the operator task that reviews the observation of a denial,
// so a request creates nothing.

/** How long a denial can be requested, and how long a reference to an approval is valid. In milliseconds. */
const REQUESTABLE_MS = 10 * 60_000;
const APPROVED_MS = 24 * 3600_000;

/** In seconds: until the next poll, and until the next evaluation while an approved change is not applied. */
const RETRY_AFTER = 10;

/** It reads several records, and a decision none. A decision costs a tenth of a request. */
const DECISIONS = 10;

type Evaluation = { subject: object; resource: object; action: object };

/** What an evaluation says in its context about requesting what it denied. */
type NextStep = Pick<AccessEvaluation['context'], 'evaluation_id' | 'access_request' | 'next_action' | 'retry_after'>;

/**
 * Returns a function that says how to request what was denied. It digests each object once: the evaluations of a batch may share
 * a large one.
 */
export function nextSteps({ tokens, point, services }: DialectRequest) {
  const digestsOf = digests();
  return async (
    { subject, resource, action }: Partial<Evaluation>,
    answer: DialectAnswer,
    observationId: string | null,
  ): Promise<NextStep> => {
    if (observationId === null || !subject || !resource || !action) return {};
    const task = await answer.reviewTask(observationId);
    if (task === undefined) return {};
    const now = services.now().getTime();
    if (task.completedAt !== null) {
      const isApproved = task.outcome === 'approved' && now < approvedUntil(task.completedAt);
      return isApproved ? { next_action: 'retry', retry_after: RETRY_AFTER } : {};
    }
    const exp = Math.floor((now + REQUESTABLE_MS) / 1000);
    const evaluationId = randomUUID();
    const bound = {
      jti: evaluationId,
      observation_id: observationId,
      ...digestsOf({ subject, resource, action }),
      exp,
    };
    return {
      evaluation_id: evaluationId,
      access_request: {
        endpoint: endpointOf(point),
        expires_at: new Date(exp * 1000).toISOString(),
        binding_token: await tokens.sign(point, bound),
      },
      next_action: 'request',
    };
  };
}

/** Answers an access request: with the task that people decide, or with what they have decided. */
export const ACCESS_REQUEST: Dialect = {
  point: 'authzen',
  questionsIn: () => DECISIONS,
  async answer(request) {
    const body = request.body as RequestAccessInput;
    const { services, policy, reach, subjectOf } = request;
    const observationId = await verifiedObservation(request, body);
    const { type, id, properties } = body.subject;
    if (typeof (await subjectOf(type, id, textOf(properties, 'token'))) === 'string') throw invalidBinding();
    const scope = reach ?? wholeTenant(policy.gateway.tenantId);
    const task = await findLastOperatorTask(services.db, scope, reviewTask({ id: observationId }), services.now());
    const observation = await findObservation(services.db, scope, observationId);
    if (!task || !observation) throw new ApiError('not_requestable', 'What was denied is not known any more.');
    const answer = answerOf(request, task, observation);
    noteRequest(request, task);
    const isPending = answer.task.status === 'pending';
    request.head(isPending ? 202 : 201, {
      Location: answer.task.status_endpoint,
      ...(isPending && { 'Retry-After': String(RETRY_AFTER) }),
    });
    return answer;
  },
};

/** Answers the status of an access request. */
export const ACCESS_REQUEST_STATUS: Dialect = {
  point: 'authzen',
  questionsIn: () => DECISIONS,
  async answer(request) {
    const { services, policy, rest: taskId } = request;
    const task = await findOperatorTask(services.db, wholeTenant(policy.gateway.tenantId), taskId, services.now());
    const observation = task?.kind === 'review_observation' ? await findDenied(request, task) : undefined;
    if (!task || !observation)
      throw new ApiError('unknown_task', 'There is no access request with this id in your reach.');
    const answer = answerOf(request, task, observation);
    if (answer.task.status === 'pending') request.head(200, { 'Retry-After': String(RETRY_AFTER) });
    return answer;
  },
};

/** The observation of the denial that a request proves. @throws ApiError 400 or 410 */
async function verifiedObservation({ tokens, point }: DialectRequest, body: RequestAccessInput): Promise<string> {
  const { denial } = body;
  const bound = await tokens.verify(point, denial.binding_token ?? '');
  const sent = digests()(body);
  const matches =
    Date.parse(denial.expires_at) === bound.exp * 1000 &&
    (denial.evaluation_id === undefined || denial.evaluation_id === bound.jti) &&
    sent.subject_digest === bound.subject_digest &&
    sent.resource_digest === bound.resource_digest &&
    sent.action_digest === bound.action_digest;
  if (!matches) throw invalidBinding();
  return bound.observation_id;
}

/** The observation of a task, if this decision point denied its subject to an account that the caller may ask about. */
async function findDenied(
  { services: { db }, policy: { gateway }, caller, reach, find }: DialectRequest,
  { subject }: OperatorTask,
): Promise<RuntimeObservation | undefined> {
  const scope = reach ?? wholeTenant(gateway.tenantId);
  const observation = await findObservation(db, scope, subject.id);
  // A path that names another provider finds that one.
  if (!observation || find(observation.providerId)?.provider.id !== observation.providerId) return undefined;
  const denied = { observationId: observation.id, gatewayId: gateway.id };
  const ofCaller = reach === null ? { ...denied, account: caller.state.subject } : denied;
  const { items } = await listDenials(db, scope, ofCaller, { limit: 1, after: null });
  return items.length > 0 ? observation : undefined;
}

function answerOf(
  { services, point, policy }: DialectRequest,
  { id, completedAt, outcome }: OperatorTask,
  observation: RuntimeObservation,
): AccessRequest {
  const { kind, name, providerId } = observation;
  const provider = policy.providers.find((one) => one.provider.id === providerId);
  const review = reviewUrlOf(services.publicUrl, { provider, kind, name }, observation.id);
  const task = { id, status_endpoint: `${endpointOf(point)}/${id}`, links: { review } };
  if (completedAt === null) return { task: { ...task, status: 'pending' } };
  if (outcome === 'rejected' || outcome === 'ignored') return { task: { ...task, status: 'denied' } };
  // The task of a subject that was declared is no longer needed, so it is cancelled. To those who wait for it that is an approval.
  const isDeclared = observation.status === 'resolved' && provider?.verdict(kind, name) === 'allowed';
  if (outcome !== 'approved' && !isDeclared) return { task: { ...task, status: 'cancelled' } };
  const until = new Date(approvedUntil(completedAt)).toISOString();
  const approval = { id, approved_at: completedAt, approved_until: until };
  return { task: { ...task, status: 'approved' }, result: { mode: 'reevaluate', approval } };
}

function approvedUntil(approvedAt: string): number {
  return Date.parse(approvedAt) + APPROVED_MS;
}

/** Counted as reads are, so that a flood of requests leaves one event in a minute. */
function noteRequest({ services, policy, principal, caller, requestId }: DialectRequest, { id }: OperatorTask): void {
  const { tenantId, subTenantId } = policy.gateway;
  services.audit.reads.note({
    place: { tenantId, subTenantId },
    ...(principal === null ? actorNamed(caller.state.subject) : actorOf(principal)),
    operation: 'request_access',
    target: { type: 'operator_task', id },
    outcome: 'success',
    reason: null,
    changedFields: [],
    count: 1,
    requestId,
  });
}

/** Returns a function that digests the parts of evaluations, each object once. */
function digests() {
  const known = new Map<object, string>();
  const digestOf = (entity: object, bound: (entity: object) => object = (one) => one) => {
    const digest = known.get(entity) ?? canonicalDigest(bound(entity));
    known.set(entity, digest);
    return digest;
  };
  return ({ subject, resource, action }: Evaluation) => ({
    subject_digest: digestOf(subject, withoutActor),
    resource_digest: digestOf(resource),
    action_digest: digestOf(action),
  });
}

/** Requests may move the actor from the subject (`properties.act`) to `client`, so it is not bound. */
function withoutActor(subject: { properties?: unknown }): object {
  if (typeof subject.properties !== 'object' || subject.properties === null) return subject;
  const { act: _act, ...properties } = subject.properties as Record<string, unknown>;
  return { ...subject, properties };
}

/** The actor of an audit event, for the account of a session's token. */
function actorNamed(account: string): ReturnType<typeof actorOf> {
  const [, tenantId, id] = /^service_account:([^/]*)\/(.+)$/.exec(account) ?? [];
  const credential = { scheme: null, keyId: null };
  if (tenantId !== undefined && id !== undefined)
    return { actor: { type: 'service_account', id, tenantId }, ...credential };
  return { actor: { type: 'user', id: account.replace(/^user:/, ''), tenantId: null }, ...credential };
}
