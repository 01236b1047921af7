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
  undoRecommendation,
  updateRuntimeObservation,
} from '@quartermaster/client';
import { plural } from '../../components/format.ts';
import { showToast } from '../../components/toasts.tsx';
import { useAction } from '../../components/use-action.ts';
import { idempotencyKey } from '../../data/client.ts';
import { SKIP_REASONS } from '../../data/skip-reasons.ts';
import { type ObservationQuery, showObservation } from './queries.ts';

type Review = { observation: RuntimeObservation; decision: ReviewDecision; note: string };

async function review({ observation, decision, note }: Review): Promise<RuntimeObservation> {
  const { data } = await reviewRuntimeObservation({
    path: { observation_id: observation.id },
    body: { decision, ...(note !== '' && { note }) },
    headers: idempotencyKey(),
    throwOnError: true,
  });
  return data;
}

async function reopen(observation: RuntimeObservation): Promise<RuntimeObservation> {
  const { data } = await updateRuntimeObservation({
    path: { observation_id: observation.id },
    body: { status: 'open' },
    headers: idempotencyKey(),
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
    updateCache: showObservation,
    onDone: (_, { observation, decision }) => {
      showToast({
        text: `${observation.name}: ${decision}.`,
        action: { label: 'Undo', run: () => withdraw.mutate(observation) },
      });
    },
  });
}

/** `decided` is the observation as it is then; undefined if it could not be read. */
type Approved = AppliedRecommendations & { decided: RuntimeObservation | undefined };

type Approval = { observation: RuntimeObservation; recommendations: readonly Recommendation[]; note: string };

/**
 * Approves an observation and applies what is recommended for it, as `applicable` returns it. The message offers to undo the
 * change.
 */
export function useApproveAndApply() {
  const undo = useAction({
    run: undoAll,
    done: () => 'The change was undone. The decision still stands.',
  });
  return useAction({
    run: async ({ observation, recommendations, note }: Approval): Promise<Approved> => {
      if (!hasBlock(recommendations)) await review({ observation, decision: 'approved', note });
      const { data } = await applyProviderRecommendations({
        path: { provider_id: observation.providerId },
        body: { recommendationIds: recommendations.map(({ id }) => id) },
        headers: idempotencyKey(),
        throwOnError: true,
      });
      // It is applied. A failure to read how the observation is now must not look like a failure to apply.
      const decided = await getRuntimeObservation({ path: { observation_id: observation.id } }).catch(() => null);
      return { ...data, decided: decided?.data };
    },
    done: () => null,
    updateCache: (client, { decided }) =>
      decided === undefined ? client.invalidateQueries() : showObservation(client, decided),
    onDone: ({ applied, skipped, revokedSessions }, { recommendations }) => {
      const isBlocking = hasBlock(recommendations);
      const [reason] = skipped;
      const why = reason === undefined ? 'there is no change' : `it ${SKIP_REASONS[reason.reason]}`;
      if (applied.length === 0) {
        const start = isBlocking ? 'Not blocked' : 'Approved, but nothing was applied';
        showToast({ text: `${start}: ${why}.`, isProblem: true });
        return;
      }
      const ended = revokedSessions.length === 0 ? '' : ` ${plural(revokedSessions.length, 'session')} ended.`;
      const left = reason === undefined ? '' : ` One change was not applied: ${why}.`;
      showToast({
        text: `${isBlocking ? 'Blocked' : 'Approved and applied'}.${ended}${left}`,
        action: { label: 'Undo the change', run: () => undo.mutate(applied) },
      });
    },
  });
}

/** The adoption of a provider can only be undone while it has no new items, so it is undone last. */
async function undoAll(applied: readonly Recommendation[]): Promise<void> {
  for (const { id } of providerFirst(applied).toReversed()) {
    await undoRecommendation({ path: { recommendation_id: id }, headers: idempotencyKey(), throwOnError: true });
  }
}

function providerFirst(recommendations: readonly Recommendation[]): Recommendation[] {
  const isOfProvider = ({ change }: Recommendation) => change.target.type === 'provider';
  return recommendations.toSorted((a, b) => Number(isOfProvider(b)) - Number(isOfProvider(a)));
}

/**
 * What one click applies of the recommendations for an observation: all of them, as a tool at an unknown provider stays unknown
 * until both are declared. But a block is applied alone: an approval would withdraw it.
 */
export function applicable(recommendations: readonly Recommendation[]): readonly Recommendation[] {
  return hasBlock(recommendations) ? recommendations.filter(isBlock) : providerFirst(recommendations);
}

export function hasBlock(recommendations: readonly Recommendation[]): boolean {
  return recommendations.some(isBlock);
}

function isBlock({ kind }: Recommendation): boolean {
  return kind === 'block_item';
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

/** The list takes its filters in the query and in snake case, the bulk review in the body and in camel case. */
function selectionOf(target: BulkTarget) {
  if ('observations' in target) return { observationIds: target.observations.map(({ id }) => id) };
  const { tenant_id: tenantId, provider_id: providerId, min_risk: minRisk, ...filter } = target.filter;
  const { view, kind, text, environment } = filter;
  return { expectedCount: target.expectedCount, tenantId, providerId, minRisk, view, kind, text, environment };
}
