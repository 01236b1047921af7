import {
  type AppliedRecommendations,
  listRecommendations,
  planProviderRecommendations,
  type SkippedRecommendation,
} from '@quartermaster/client';
import { useQueries, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { ActionButton } from '../../components/action-button.tsx';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { plural } from '../../components/format.ts';
import { Empty, Failed, Loading } from '../../components/states.tsx';
import { showToast } from '../../components/toasts.tsx';
import { useAction } from '../../components/use-action.ts';
import { type Providers, providerLabel, useProviders } from '../../data/names.ts';
import { readAll } from '../../data/pages.ts';
import { problemOf } from '../../data/problem.ts';
import { ConnectLink } from '../connect/connect-link.tsx';
import { useTenantFilter } from '../../data/tenant.ts';
import { applyPlans } from '../plan/apply-plans.ts';
import { ChangeList } from '../plan/change-list.tsx';
import classes from '../plan/plan.module.css';
import { type AppliedPlan, Receipt } from '../plan/receipt.tsx';
import { appliedText, consequenceOf, totalsOf } from '../plan/totals.ts';

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
        return (await planProviderRecommendations({ path, signal, throwOnError: true })).data;
      },
    })),
  });
  const [isAsking, setAsking] = useState(false);
  const [receipt, setReceipt] = useState<AppliedPlan | null>(null);
  const apply = useAction({
    run: applyPlans,
    done: ({ applied, skipped }) => appliedText(applied.length, skipped),
    onDone: (result) => {
      setAsking(false);
      setReceipt(result.applied.length === 0 ? null : result);
      if (result.failure !== null) showToast({ text: result.failure, isProblem: true });
    },
  });
  const error = open.error ?? plans.find((plan) => plan.error !== null)?.error ?? null;
  if (error !== null) return <Failed problem={problemOf(error)} retry={() => void open.refetch()} />;
  if (open.isLoading || plans.some(({ isLoading }) => isLoading)) return <Loading />;
  const loaded = plans.flatMap(({ data }) => data ?? []);
  const changes = loaded.filter(({ applied }) => applied.length > 0);
  const waiting = loaded.filter(({ applied }) => applied.length === 0);
  const all = changes.flatMap(({ applied }) => applied);
  const revoked = changes.reduce((sum, { revokedSessions }) => sum + revokedSessions.length, 0);
  const shownReceipt = receipt !== null && <Receipt receipt={receipt} close={() => setReceipt(null)} />;
  if (all.length === 0) {
    return (
      <>
        {shownReceipt}
        <Empty title={receipt === null ? 'Nothing to apply' : 'Everything that was decided is applied'}>
          {waiting.length === 0 ? (
            <>
              What agents use is what is declared. New uses appear in the inbox. No agent yet? <ConnectLink />.
            </>
          ) : (
            <Waiting waiting={waiting} byId={byId} />
          )}
        </Empty>
      </>
    );
  }
  return (
    <>
      {shownReceipt}
      <section className={classes.section}>
        <div className="row wraps">
          <h2 className="grow">
            {totalsOf(all)} at {plural(changes.length, 'provider')}
          </h2>
          <ActionButton scope="recommendations:apply" loading={apply.isPending} onClick={() => setAsking(true)}>
            {`Apply ${plural(all.length, 'change')}`}
          </ActionButton>
        </div>
        <p className="dim">
          {revoked === 0 ? 'No running session would end.' : `${plural(revoked, 'running session')} would end.`} Each
          provider is one transaction.
          {providerIds.length > MAX_PROVIDERS &&
            ` The first ${MAX_PROVIDERS} of ${plural(providerIds.length, 'provider')} are shown.`}
        </p>
      </section>
      {changes.map(({ providerId, applied, skipped }) => (
        <section key={providerId} className={classes.section}>
          <h2>
            <Link to="/providers/$providerId/plan" params={{ providerId }}>
              {providerLabel(byId.get(providerId), providerId)}
            </Link>
          </h2>
          <p className="dim">
            {totalsOf(applied)}.{skippedText(skipped)}
          </p>
          <ChangeList recommendations={applied} areApplicable />
        </section>
      ))}
      {waiting.length > 0 && (
        <section className={classes.section}>
          <h2>Nothing to apply yet</h2>
          <Waiting waiting={waiting} byId={byId} />
        </section>
      )}
      {isAsking && (
        <ConfirmDialog
          title={`Apply ${plural(all.length, 'change')} at ${plural(changes.length, 'provider')}?`}
          consequence={
            <>
              <p>{consequenceOf(all, revoked)}</p>
              <ul>
                {changes.map(({ providerId, applied }) => (
                  <li key={providerId}>
                    {providerLabel(byId.get(providerId), providerId)}: {plural(applied.length, 'change')}
                  </li>
                ))}
              </ul>
            </>
          }
          confirm={`Apply all ${all.length}`}
          isPending={apply.isPending}
          onConfirm={() => apply.mutate(changes)}
          close={() => setAsking(false)}
        />
      )}
    </>
  );
}

type WaitingProps = { waiting: readonly AppliedRecommendations[]; byId: Providers['byId'] };

/** The providers whose recommendations all wait, with the way to where they are decided. */
function Waiting({ waiting, byId }: WaitingProps): ReactNode {
  return (
    <ul>
      {waiting.map(({ providerId, skipped }) => (
        <li key={providerId}>
          <Link to="/providers/$providerId/plan" params={{ providerId }}>
            {providerLabel(byId.get(providerId), providerId)}
          </Link>
          :{skippedText(skipped)}
        </li>
      ))}
    </ul>
  );
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
