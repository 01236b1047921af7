import {
  applyProviderRecommendations,
  type AppliedRecommendations,
  type BulkResult,
  getRuntimeObservation,
  type Recommendation,
  type ReviewDecision,
  reviewRuntimeObservation,
  reviewRuntimeObservations,
  type RuntimeObservation,
  undoRecommendations,
  updateRuntimeObservation,
} from '@quartermaster/client';
import { plural } from '../../components/format.ts';
import { showToast } from '../../components/toasts.tsx';
import { useAction } from '../../components/use-action.ts';
import { idempotencyKey, ifMatchAnswer } from '../../data/client.ts';
import { SKIP_REASONS } from '../../data/skip-reasons.ts';
import { readObservations, readRecommendations, showObservation } from './queries.ts';
import type { ObservationQuery } from './query.ts';

type Review = { observation: RuntimeObservation; decision: ReviewDecision; note: string };

/** A reviewed observation, and the header for a write that another person's decision since then must prevent. */
type Reviewed = { observation: RuntimeObservation; precondition: ReturnType<typeof ifMatchAnswer> };

async function review({ observation, decision, note }: Review): Promise<Reviewed> {
  const { data, response } = await reviewRuntimeObservation({
    path: { observation_id: observation.id },
    body: { decision, ...(note !== '' && { note }) },
    headers: idempotencyKey(),
    throwOnError: true,
  });
  return { observation: data, precondition: ifMatchAnswer(response) };
}

async function reopen({ observation, precondition }: Reviewed): Promise<RuntimeObservation> {
  const { data } = await updateRuntimeObservation({
    path: { observation_id: observation.id },
    body: { status: 'open' },
    headers: { ...idempotencyKey(), ...precondition },
    throwOnError: true,
  });
  return data;
}

/** Approve, reject or ignore one observation. The message offers to take it back. */
export function useReview() {
  const withdraw = useAction({
    run: reopen,
    done: () => 'The decision was withdrawn.',
    updateCache: showObservation,
  });
  return useAction({
    run: review,
    done: () => null,
    updateCache: (client, { observation }) => showObservation(client, observation),
    onDone: (reviewed, { observation, decision }) => {
      showToast({
        text: `${observation.name}: ${decision}.`,
        action: { label: 'Undo', run: () => withdraw.mutate(reviewed) },
      });
    },
  });
}

/** `decided` is the observation as it is then; undefined if it could not be read. */
type Approved = Applied & { decided: RuntimeObservation | undefined };

type Applied = Pick<AppliedRecommendations, 'applied' | 'skipped' | 'revokedSessions'>;

type Kind = Recommendation['kind'];

type Approval = { observation: RuntimeObservation; kinds: readonly Kind[]; note: string };

/**
 * Approves an observation and applies what is recommended for it, of the kinds that `kindsToApply` returned. The message offers to
 * undo the change.
 */
export function useApproveAndApply() {
  const undo = useAction({
    run: undoAll,
    done: () => 'The change was undone. The decision still stands.',
  });
  return useAction({
    run: async ({ observation, kinds, note }: Approval): Promise<Approved> => {
      const { id, providerId } = observation;
      if (!isBlock(kinds)) await review({ observation, decision: 'approved', note });
      const recommended = (await readRecommendations(id)).filter(({ kind }) => kinds.includes(kind));
      const result = await apply(providerId, recommended);
      // It is applied. A failure to read how the observation is now must not look like a failure to apply.
      const decided = await getRuntimeObservation({ path: { observation_id: id } }).catch(() => null);
      return { ...result, decided: decided?.data };
    },
    done: () => null,
    updateCache: (client, { decided }) =>
      decided === undefined ? client.invalidateQueries() : showObservation(client, decided),
    onDone: ({ applied, skipped, revokedSessions }, { kinds }) => {
      const [first] = skipped;
      if (applied.length === 0) {
        const start = isBlock(kinds) ? 'Not blocked' : 'Approved, but nothing was applied';
        // Nothing is recommended any more if another person applied or dismissed it before this request read it.
        showToast({ text: `${start}: it ${SKIP_REASONS[first?.reason ?? 'not_open']}.`, isProblem: true });
        return;
      }
      const ended = revokedSessions.length === 0 ? '' : ` ${plural(revokedSessions.length, 'session')} ended.`;
      const left = first === undefined ? '' : ` One change was not applied: it ${SKIP_REASONS[first.reason]}.`;
      showToast({
        text: `${isBlock(kinds) ? 'Blocked' : 'Approved and applied'}.${ended}${left}`,
        action: { label: 'Undo the change', run: () => undo.mutate(applied) },
      });
    },
  });
}

async function apply(providerId: string, recommended: readonly Recommendation[]): Promise<Applied> {
  // Without ids the service would apply everything that was approved at the provider.
  if (recommended.length === 0) return { applied: [], skipped: [], revokedSessions: [] };
  const { data } = await applyProviderRecommendations({
    path: { provider_id: providerId },
    body: { recommendationIds: recommended.map(({ id }) => id) },
    headers: idempotencyKey(),
    throwOnError: true,
  });
  return data;
}

/** One call applied all of them, so they have one id. */
async function undoAll([first]: readonly Recommendation[]): Promise<void> {
  if (first?.applyId == null) return;
  await undoRecommendations({ path: { apply_id: first.applyId }, headers: idempotencyKey(), throwOnError: true });
}

/**
 * The kinds of recommendations that one click applies: all that are open, as a tool at an unknown provider stays unknown until both
 * are declared. What is used and unknown is registered, too, even if that was dismissed before: the approval recommends it anew.
 * But a block is applied alone, because an approval would withdraw it.
 */
export function kindsToApply(
  { unknown, occurrences }: RuntimeObservation,
  recommendations: readonly Recommendation[],
): readonly Kind[] {
  const kinds = new Set(recommendations.map(({ kind }) => kind));
  if (kinds.has('block_item')) return ['block_item'];
  if (unknown && occurrences > 0) kinds.add('register_item');
  return [...kinds].toSorted();
}

export function isBlock(kinds: readonly Kind[]): boolean {
  return kinds.includes('block_item');
}

/** What a decision is about: observations that were selected, or all that a filter matches. */
export type BulkTarget =
  | { observations: readonly RuntimeObservation[] }
  | { filter: ObservationQuery; expectedCount: number };

export type BulkReport = { decided: number; skipped: { name: string; reason: string }[] };

type BulkReview = { target: BulkTarget; decision: ReviewDecision; note: string };

const SKIPPED: Record<NonNullable<BulkResult['reason']>, string> = {
  not_found: 'it is gone, or out of your reach',
  no_longer_matches: 'it has changed, and does not match any more',
  not_open: 'another person has decided it since',
  failed: 'the service did not get to it; try again',
};

/** One decision for many observations. What was skipped is reported with its reason. */
export function useBulkReview(onDone: (report: BulkReport) => void) {
  return useAction({
    run: async ({ target, decision, note }: BulkReview): Promise<BulkReport> => {
      const body = { decision, ...(note !== '' && { note }), ...selectionOf(target) };
      const { data } = await reviewRuntimeObservations({ body, headers: idempotencyKey(), throwOnError: true });
      const names = new Map('observations' in target ? target.observations.map(({ id, name }) => [id, name]) : []);
      const skipped = data.results.flatMap(({ id, reason }) =>
        reason === null ? [] : [{ name: names.get(id) ?? id, reason: SKIPPED[reason] }],
      );
      return { decided: data.done, skipped };
    },
    inForm: true,
    done: ({ decided }, { decision }) => `${plural(decided, 'observation')} ${decision}.`,
    onDone,
  });
}

/** The API decides about so many at once. */
export const MAX_AT_ONCE = 500;

/** `count`: how many the user saw. What came since then waits for another decision. */
type GroupReview = { filter: ObservationQuery; count: number; decision: ReviewDecision; note: string };

type GroupReviewOptions = {
  /** Called after each request, with how many it decided. */
  progress: (done: number) => void;
  onDone: () => void;
};

/** One decision for a whole group, however large it is. */
export function useGroupReview({ progress, onDone }: GroupReviewOptions) {
  return useAction({
    run: async ({ filter, count, decision, note }: GroupReview): Promise<number> => {
      let decided = 0;
      while (decided < count) {
        const observations = await readObservations(filter, Math.min(MAX_AT_ONCE, count - decided));
        if (observations.length === 0) break;
        // With the filter, because another person may decide about some of them meanwhile.
        const body = { decision, ...(note !== '' && { note }), ...filterOf(filter), ...selectionOf({ observations }) };
        const { data } = await reviewRuntimeObservations({ body, headers: idempotencyKey(), throwOnError: true });
        if (data.done === 0) break;
        decided += data.done;
        progress(data.done);
      }
      return decided;
    },
    inForm: true,
    done: (decided, { count, decision }) => {
      const others = decided < count ? ` The other ${count - decided} had changed, or another person decided.` : '';
      return `${plural(decided, 'observation')} ${decision}.${others}`;
    },
    onDone,
  });
}

function selectionOf(target: BulkTarget) {
  if ('observations' in target) return { observationIds: target.observations.map(({ id }) => id) };
  return { expectedCount: target.expectedCount, ...filterOf(target.filter) };
}

/** The list takes its filters in the query and in snake case, the bulk review in the body and in camel case. */
function filterOf(filter: ObservationQuery) {
  const { tenant_id: tenantId, provider_id: providerId, min_risk: minRisk } = filter;
  const { view, agent, kind, text, environment, first_seen_before: firstSeenBefore } = filter;
  return { tenantId, providerId, minRisk, view, agent, kind, text, environment, firstSeenBefore };
}
