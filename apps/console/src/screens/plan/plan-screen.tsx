import { type AppliedRecommendations, planProviderRecommendations } from '@quartermaster/client';
import { getProviderOptions } from '@quartermaster/client/@tanstack/react-query.gen.ts';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { ActionButton } from '../../components/action-button.tsx';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { plural } from '../../components/format.ts';
import { Screen } from '../../components/screen.tsx';
import { Empty, Failed, Loading, MissingScope } from '../../components/states.tsx';
import { showToast } from '../../components/toasts.tsx';
import { useAction } from '../../components/use-action.ts';
import { useMe } from '../../data/me.ts';
import { holds } from '../../data/rights.ts';
import { problemOf } from '../../data/problem.ts';
import { apiPath } from '../../data/curl.ts';
import { applyPlans } from './apply-plans.ts';
import { ChangeList } from './change-list.tsx';
import classes from './plan.module.css';
import { type AppliedPlan, Receipt } from './receipt.tsx';
import { SkippedList } from './skipped-list.tsx';
import { appliedText, consequenceOf, totalsOf } from './totals.ts';

/** The dry run of everything that is recommended for a provider, as one change that can be applied and undone. */
export function PlanScreen(): ReactNode {
  const { providerId } = useParams({ from: '/providers/$providerId/plan' });
  const [isAsking, setAsking] = useState(false);
  const [receipt, setReceipt] = useState<AppliedPlan | null>(null);
  const path = { provider_id: providerId };
  const provider = useQuery(getProviderOptions({ path }));
  const mayPlan = holds(useMe(), 'recommendations:read', provider.data);
  const plan = useQuery({
    queryKey: ['plan', providerId],
    queryFn: async ({ signal }) => (await planProviderRecommendations({ path, signal, throwOnError: true })).data,
    enabled: mayPlan,
  });
  const apply = useAction({
    run: () => applyPlans(plan.data === undefined ? [] : [plan.data]),
    done: ({ applied, skipped }) => appliedText(applied.length, skipped),
    onDone: (result) => {
      setAsking(false);
      setReceipt(result.applied.length === 0 ? null : result);
      if (result.failure !== null) showToast({ text: result.failure, isProblem: true });
    },
  });
  const name = provider.data?.displayName ?? provider.data?.name ?? 'provider';
  const changes = plan.data?.applied ?? [];
  return (
    <Screen
      title={`Plan for ${name}`}
      scrolls
      above={
        <Link to="/providers/$providerId" params={{ providerId }}>
          {name}
        </Link>
      }
      summary="What would change if everything that was decided were applied now."
      request={{
        method: 'POST',
        path: apiPath`/v1/providers/${providerId}/recommendations/plan`,
        body: {},
      }}
      actions={
        <ActionButton
          scope="recommendations:apply"
          {...(provider.data !== undefined && { place: provider.data })}
          disabledReason={changes.length === 0 ? 'There is nothing to apply.' : null}
          loading={apply.isPending}
          onClick={() => setAsking(true)}
        >
          {changes.length === 0 ? 'Apply' : `Apply ${plural(changes.length, 'change')}`}
        </ActionButton>
      }
    >
      {receipt !== null && <Receipt receipt={receipt} close={() => setReceipt(null)} />}
      {!mayPlan && <MissingScope scope="recommendations:read" />}
      {mayPlan && plan.error !== null && <Failed problem={problemOf(plan.error)} retry={() => void plan.refetch()} />}
      {plan.isLoading && <Loading />}
      {plan.data !== undefined && <PlanBody plan={plan.data} />}
      {isAsking && changes.length > 0 && (
        <ConfirmDialog
          title={`Apply ${plural(changes.length, 'change')} at ${name}?`}
          consequence={consequenceOf(changes, plan.data?.revokedSessions.length ?? 0)}
          confirm={`Apply all ${changes.length}`}
          isPending={apply.isPending}
          onConfirm={() => apply.mutate()}
          close={() => setAsking(false)}
        />
      )}
    </Screen>
  );
}

function PlanBody({ plan }: { plan: AppliedRecommendations }): ReactNode {
  const { applied, skipped, revokedSessions } = plan;
  return (
    <>
      <section className={classes.section}>
        <h2>{totalsOf(applied)}</h2>
        {revokedSessions.length > 0 && (
          <p>
            {plural(revokedSessions.length, 'running session')} would end:{' '}
            {revokedSessions.map(({ subject }) => subject).join(', ')}.
          </p>
        )}
        {applied.length > 0 && revokedSessions.length === 0 && <p className="dim">No running session would end.</p>}
        {applied.length === 0 && (
          <Empty title="Nothing to apply">
            {skipped.length === 0
              ? 'What agents use of this provider is what is declared.'
              : 'Everything that is recommended waits for a decision.'}
          </Empty>
        )}
        <ChangeList recommendations={applied} areApplicable />
      </section>
      {skipped.length > 0 && <SkippedList providerId={plan.providerId} skipped={skipped} />}
    </>
  );
}
