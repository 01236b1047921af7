import {
  type AppliedRecommendations,
  applyProviderRecommendations,
  listRecommendations,
  type SkippedRecommendation,
} from '@quartermaster/client';
import { useQueries, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { ActionButton } from '../../components/action-button.tsx';
import { plural } from '../../components/format.ts';
import { Empty, Failed, Loading } from '../../components/states.tsx';
import { showToast } from '../../components/toasts.tsx';
import { useAction } from '../../components/use-action.ts';
import { idempotencyKey } from '../../data/client.ts';
import { providerLabel, useProviders } from '../../data/names.ts';
import { readAll } from '../../data/pages.ts';
import { problemOf } from '../../data/problem.ts';
import { ConnectLink } from '../connect/connect-link.tsx';
import { useTenantFilter } from '../../data/tenant.ts';
import { ChangeList } from '../plan/change-list.tsx';
import classes from '../plan/plan.module.css';
import { appliedText, totalsOf } from '../plan/totals.ts';

/** Open recommendations that are read to find the providers of the plan: of those that a decision backs, and of all. */
const MAX_READ = 1000;

/** Each provider is one dry run. */
const MAX_PROVIDERS = 25;

/** The dry runs of all providers that have open recommendations, as one change. */
export function OpenPlan(): ReactNode {
  const filter = useTenantFilter();
  const { byId } = useProviders();
  const open = useQuery({
    queryKey: ['open-recommendations', filter],
    queryFn: async ({ signal }) => {
      const read = (selection: { status: 'open' } | { needs_review: false }) =>
        readAll(async (cursor) => {
          const query = { ...filter, ...selection, limit: 100, ...(cursor !== undefined && { cursor }) };
          return (await listRecommendations({ query, signal, throwOnError: true })).data;
        }, MAX_READ);
      // What would be applied comes first: telemetry may have caused thousands of others since.
      const [backed, all] = await Promise.all([read({ needs_review: false }), read({ status: 'open' })]);
      return [...new Set([...backed.items, ...all.items].map(({ providerId }) => providerId))];
    },
  });
  const providerIds = open.data ?? [];
  const plans = useQueries({
    queries: providerIds.slice(0, MAX_PROVIDERS).map((providerId) => ({
      queryKey: ['plan', providerId],
      queryFn: async ({ signal }: { signal: AbortSignal }) => {
        const path = { provider_id: providerId };
        return (await applyProviderRecommendations({ path, body: { dryRun: true }, signal, throwOnError: true })).data;
      },
    })),
  });
  const apply = useAction({
    run: async (changes: readonly AppliedRecommendations[]) => {
      let applied = 0;
      let skipped = 0;
      for (const { providerId, applied: planned } of changes) {
        const { data } = await applyProviderRecommendations({
          path: { provider_id: providerId },
          body: { recommendationIds: planned.map(({ id }) => id) },
          headers: idempotencyKey(),
          throwOnError: true,
        }).catch((error: unknown) => {
          // The providers before this one are changed, and the message about the error does not say so.
          if (applied > 0) showToast({ text: resultText(applied, skipped) });
          throw error;
        });
        applied += data.applied.length;
        skipped += data.skipped.length;
      }
      return { applied, skipped };
    },
    done: ({ applied, skipped }) => resultText(applied, skipped),
  });
  const error = open.error ?? plans.find((plan) => plan.error !== null)?.error ?? null;
  if (error !== null) return <Failed problem={problemOf(error)} retry={() => void open.refetch()} />;
  if (open.isLoading || plans.some(({ isLoading }) => isLoading)) return <Loading />;
  const loaded = plans.flatMap(({ data }) => data ?? []);
  const changes = loaded.filter(({ applied }) => applied.length > 0);
  const waiting = loaded.filter(({ applied }) => applied.length === 0);
  const all = changes.flatMap(({ applied }) => applied);
  const revoked = changes.reduce((sum, { revokedSessions }) => sum + revokedSessions.length, 0);
  if (loaded.length === 0) {
    return (
      <Empty title="Nothing to apply">
        What agents use is what is declared. New uses appear in the inbox. No agent yet? <ConnectLink />.
      </Empty>
    );
  }
  return (
    <>
      <section className={classes.section}>
        <div className="row wraps">
          <h2 className="grow">
            {totalsOf(all)} at {plural(changes.length, 'provider')}
          </h2>
          <ActionButton
            scope="recommendations:apply"
            disabledReason={all.length === 0 ? 'Everything waits for a decision.' : null}
            loading={apply.isPending}
            onClick={() => apply.mutate(changes)}
          >
            {all.length === 0 ? 'Apply' : `Apply ${plural(all.length, 'change')}`}
          </ActionButton>
        </div>
        <p className="dim">
          {revoked === 0 ? 'No running session would end.' : `${plural(revoked, 'running session')} would end.`} Each
          provider is one transaction.
          {providerIds.length > MAX_PROVIDERS &&
            ` The first ${MAX_PROVIDERS} of ${plural(providerIds.length, 'provider')} are shown.`}
        </p>
      </section>
      {[...changes, ...waiting].map(({ providerId, applied, skipped }) => (
        <section key={providerId} className={classes.section}>
          <h2>
            <Link to="/providers/$providerId/plan" params={{ providerId }}>
              {providerLabel(byId.get(providerId), providerId)}
            </Link>
          </h2>
          <p className="dim">
            {applied.length === 0 ? 'Nothing to apply.' : `${totalsOf(applied)}.`}
            {skippedText(skipped)}
          </p>
          {applied.length > 0 && <ChangeList recommendations={applied} areApplicable />}
        </section>
      ))}
    </>
  );
}

function resultText(applied: number, skipped: number): string {
  const text = appliedText(applied, skipped);
  return applied === 0 ? text : `${text} Applied changes can be undone in the view Applied.`;
}

/** What the plan of the provider lists with its reasons. */
function skippedText(skipped: readonly SkippedRecommendation[]): string {
  const waiting = skipped.filter(({ reason }) => reason === 'needs_review').length;
  const others = skipped.length - waiting;
  const texts = [
    waiting === 0 ? '' : ` ${plural(waiting, 'more waits', 'more wait')} for a decision.`,
    others === 0 ? '' : ` ${plural(others, 'more is', 'more are')} left out. The plan of the provider says why.`,
  ];
  return texts.join('');
}
